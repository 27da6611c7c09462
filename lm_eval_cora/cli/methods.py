"""Write what the methods section of a paper needs, from the runs' own facts, with the papers to cite in BibTeX.

lm-eval-cora methods out/
lm-eval-cora methods out/small out/large --metrics cora,mcqa --latex -o methods.tex

Name the metrics that the paper prints. Default: those of the tables of export and compare.
"""

from lm_eval_cora.cli import console
from lm_eval_cora.export.methods import methods
from lm_eval_cora.export.output_formats import NAMES
from lm_eval_cora.writing import STDOUT


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.shared("label", "out", "select", "reader")
    parser.argument("--metrics", "NAMES", "metrics that the paper prints: a,b,c", **NAMES)
    parser.argument("--latex", None, "write LaTeX in place of Markdown")
    parser.argument("-o --output", "FILE", "output file (default: stdout)", default=STDOUT)


def run(given: console.Given) -> None:
    """Write the methods of runs."""
    console.check_output(given.output)
    console.write(methods(console.read_runs_of(given), given.metrics, latex=given.latex), given.output)
