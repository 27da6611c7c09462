"""Consistency-aware multiple choice evaluation, as tasks for EleutherAI's lm-evaluation-harness.

The data flows in one direction, a package or module for each step::

    dataset row -> Question -> Variants -> prompt -> [model] -> response -> Answer -> Record -> ResponseTable -> metrics

`benchmarks` makes Questions, `probes` make Variants, `formats` word and read them, `responses` regroups Records by
question, `metrics` are functions of the table, and only `harness` imports `lm_eval`. The start-up module imports this
package wherever the harness is imported, so it imports nothing.
"""

__version__ = "0.2.0.dev0"
