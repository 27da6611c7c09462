r"""Export results in the formats of leaderboards and model cards.

lm-eval-cora export out/ --format every-eval-ever -o records/
lm-eval-cora export out/ --format model-index -o card.yml     # paste it between the --- of a model card
lm-eval-cora export out/ --format latex -o table.tex           # needs \usepackage{booktabs}
lm-eval-cora export out/ --format csv -o scores.csv
lm-eval-cora export out/ --format eval-results --dataset ORG/BENCHMARK --task-id cora_medqa -o cora.yaml

eval-results is a file for .eval_results/ of a model repository on the Hub. Nothing is uploaded. Exit status 3: it
cannot be made, nothing is written.
"""

from itertools import chain
from pathlib import Path

from lm_eval_cora.cli import console
from lm_eval_cora.errors import UserError
from lm_eval_cora.export.output_formats import FORMATS, OPTIONS
from lm_eval_cora.writing import STDOUT


def add_arguments(parser: console.Parser) -> None:
    """Add the arguments."""
    parser.shared("label", "out")
    parser.add_argument("--format", choices=list(FORMATS), required=True)
    folders = ", ".join(f"a folder for {name} (default: {one.folder})" for name, one in FORMATS.items() if one.folder)
    parser.argument("-o --output", "PATH", f"{folders}, else a file (default: stdout)")
    parser.shared("select", "reader")
    for title, options in OPTIONS.items():
        group = parser.add_argument_group(title)
        for name, option in options.items():
            parser.argument(_typed(name), option.metavar, option.about, group, **option.settings)


def _typed(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def run(given: console.Given) -> None:
    """Write runs in a format of leaderboards, model cards or papers."""
    chosen = FORMATS[given.format]
    if chosen.required:
        given.error_status = console.ERROR_STATUS
    for name in chain(*OPTIONS.values()):
        if getattr(given, name) and name not in chosen.options:
            raise UserError(f"{_typed(name)}: --format {given.format} does not accept it. Leave it out")
    options = {name: getattr(given, name) for name in chosen.options}
    if missing := [_typed(name) for name in chosen.required if not options[name]]:
        raise UserError(f"--format {given.format}: expected {' and '.join(missing)}, the ids on the Hub")
    output = given.output or Path(chosen.folder or STDOUT)
    if not chosen.folder:
        console.check_output(output)
        made = chosen.write(console.read_runs_of(given), **options)
        text, note = made if isinstance(made, tuple) else (made, "")
        console.say(*filter(None, [note]))
        console.write(text, output)
        return
    if output == STDOUT or output.is_file():
        raise UserError(f"-o {output}: expected a folder, because {given.format} writes several files")
    for path in chosen.write(console.read_runs_of(given), output, **options):
        print(path)
