"""Sources of templates: SCORE's in the installed harness, a user's file, or those of this package."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import lm_eval.tasks

from lm_eval_cora.benchmarks import Benchmark
from lm_eval_cora.errors import UserError
from lm_eval_cora.expansion import read_templates
from lm_eval_cora.messages import described
from lm_eval_cora.options import Options
from lm_eval_cora.probes.prompts import SINGLE_LETTER
from lm_eval_cora.prompting.template import Templates, make_templates, own_templates

_SCORE = Path(lm_eval.tasks.__file__).parent / "score"

_FIXED = ("option_order_robustness", "non_greedy_robustness")
"""Keys of the fixed template in SCORE's file. MATH has only the second, because its problems have no options."""


def templates_of(benchmark: Benchmark | None, options: Options) -> Templates:
    """The templates of a benchmark."""
    if options.templates is not None:
        return read_templates(Path(options.templates), has_options=benchmark is None or benchmark.has_options)
    if benchmark is None or benchmark.score_templates is None:
        return own_templates()
    return score_templates(benchmark)


def score_templates(benchmark: Benchmark) -> Templates:
    """SCORE's ten templates, read from the installed harness."""
    path = _SCORE / str(benchmark.score_templates) / "prompt_templates.json"
    where = f"SCORE's templates for {benchmark.name}, in the installed harness (lm-eval {version('lm-eval')}), {path}"
    try:
        file = json.loads(path.read_text(encoding="utf-8"))
        fixed = {file[key]["prompt"] for key in _FIXED if key in file}
        entries = [
            {
                **{key: entry[key] for key in ("prompt", "options_format") if key in entry},
                **({"name": SINGLE_LETTER} if "only a single letter" in entry["prompt"] else {}),
                "fixed": entry["prompt"] in fixed,
            }
            for entry in file["prompt_robustness"]
        ]
        if len(fixed) != 1 or sum(entry["fixed"] for entry in entries) != 1:
            raise UserError("expected one of the ten templates to be the fixed one")
        return make_templates(entries, has_options=benchmark.has_options)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{where}: cannot be read: {described(error)}. lm-eval 0.4.12 and 0.4.13 contain them: "
            "install one of these versions, or pass your own file with the option 'templates'"
        ) from None
