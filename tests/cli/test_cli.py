"""The command line: help, wrong arguments and their suggestions, and errors of every command; `score`."""

import re
from unittest.mock import patch

import pytest

from lm_eval_cora import __version__
from lm_eval_cora.cli import make_parser
from lm_eval_cora.harness.compat import harness_arguments
from tests.support.messages import tells
from tests.support.pairs import pairs
from tests.support.written import put, strict

COMMANDS = ("run", "report", "compare", "plan", "gate", "score", "export", "methods", "leaderboard", "read", "tasks")


def test_help_names_all_commands_and_theirs_has_examples(cli):
    for command in COMMANDS:
        assert command in cli.printed("--help")
        assert f"\nexamples:\n  lm-eval-cora {command} " in cli.printed(f"{command} --help")
    assert cli.printed("--version") == f"lm-eval-cora {__version__}\n"


BAD_USAGE = [
    *(
        "",
        "sing",
        "report",
        "report out --format pdf",
        "report one --width 3.4",
        "report one --only bmca",
        "report one --width x",
        "score",
    ),
    *("report one --width 0.1 --figures x", "export out", "export out --format xml", "compare one one -o x.html"),
    *("tasks --num_fewshot x", "tasks --num_fewshot 5000", "tasks --limit nan", "tasks --check", "tasks --metadata {"),
    *("run --max_gen_toks 64,8", "run --max_gen_toks a", "report out --reader lazy", "run --tasks x --stop bmca@0.8"),
    *("run --tasks x --stop mv", "run --tasks x --sing", "run --budget 0", "run --until", "run --baseline"),
    *("tasks --stop exact", "read --sing"),
    *(
        "report out --limit 3",
        "compare a b --sing",
        "score a --budget 3",
        "tasks --metadata [1]",
        "tasks --num_fewshot -1",
        "tasks --limit 0",
        "tasks --path cora_demo",
    ),
]
FOR_CI = ["plan", "plan --difference 0", "plan --difference 0.1 --power 1", "gate", "gate x --z", "leaderboard"]
"""Wrong usage has the status of an error, because 2 is a result of `gate`."""


@pytest.mark.parametrize("line", [*BAD_USAGE, *FOR_CI])
def test_bad_usage(line, cli):
    assert cli(line) == (3 if line in FOR_CI else 2)
    assert cli.out == ""
    assert tells(cli.err, "usage: lm-eval-cora", "error: ")


ERRORS = [
    (1, "report missing", "missing: there is no such file or folder"),
    (1, "report one --label elsewhere=Small", "--label elsewhere=Small: expected PATH=NAME with one of the paths one"),
    (1, "report one --label one=", "expected PATH=NAME"),
    (1, "report one --label oneside=x", "expected PATH=NAME"),
    (1, "report one two --label one=Same --label two=Same", "expected a different name for each path, got 'Same'"),
    (1, "report one -o new/x.pdf", "-o new/x.pdf: expected a name that ends in .html, .htm, .md, .json, .csv"),
    (1, "report one --format csv -o new/x.pdf", "-o new/x.pdf: there is no such format"),
    (1, "report one --format md -o empty", "expected a file, got a folder"),
    (1, "report one --format csv -o /dev/full", "/dev/full: No space left on device"),
    (1, "report one -o new/x.html --figures mine.csv", "--figures mine.csv: expected a folder, but "),
    (1, "compare one two --baseline nobody", "--baseline nobody: expected"),
    (3, "compare --history one two -o new/x.docx", "-o new/x.docx: expected the name of a file that ends in .html"),
    (3, "compare --history one two -o -", "-o -: expected the name of a file"),
    (3, "compare --history one two --baseline x -o new/x.html", "--baseline: expected no --history"),
    (3, "plan --difference 0.1 --from nowhere", "nowhere"),
    (3, "gate good.jsonl", "expected a requirement: --require"),
    (3, "gate good.jsonl --no-worse mcqa:0.1", "--no-worse: expected --baseline OUT"),
    (3, "gate good.jsonl --same mcqa:0.1", "--same: expected --baseline OUT"),
    (3, "gate good.jsonl --baseline worse.jsonl --require mcqa>=0.1", "expected --no-worse or --same METRIC:MARGIN"),
    (3, "gate good.jsonl --require mqca>=0.1", "has no metric 'mqca'. Did you mean 'mcqa'"),
    (3, "gate good.jsonl --policy none.yaml", "none.yaml: No such file"),
    (3, "gate good.jsonl --require mcqa>=0.1 --junit .", "--junit .: expected a file, got a folder"),
    (3, "gate good.jsonl --require mcqa>=0.1 --json gate.yaml/x", "expected a folder, but "),
    (3, "gate good.jsonl --require mcqa>=0.1 --junit -", "--junit -: expected a file"),
    (1, "score missing.jsonl", "missing.jsonl"),
    (1, "score mine.csv", "Name yours: --question id, --variant COLUMN, --correct ok. Without 'original'"),
    (1, "score mine.csv --correct okay", "--correct 'okay': there is no such column"),
    (1, "export one --format csv -o new/x.pdf", "there is no such format"),
    (1, "export one --format every-eval-ever -o -", "expected a folder"),
    (1, "export one --format csv --dataset a/b", "--dataset: --format csv does not accept it"),
    (3, "export good.jsonl --format eval-results", "expected --dataset and --task-id"),
    (3, "export good.jsonl --format eval-results --dataset ab --task-id x -o new/x.yaml", "--dataset 'ab'"),
    (3, "leaderboard empty", "there are no samples of lm-eval-cora tasks and no records"),
    (3, "leaderboard missing", "missing: there is no such file or folder"),
    (3, "leaderboard one -o new/x.pdf", "-o new/x.pdf: expected a name that ends in .html or .htm"),
    (3, "leaderboard one -o new/x.html --csv x.html", "--csv x.html: expected a name that ends in .csv"),
    (3, "leaderboard one -o new/x.html --reports mine.csv", "--reports mine.csv: expected a folder"),
    (3, "leaderboard one -o /dev/full", "/dev/full: No space left on device"),
    (3, "leaderboard one --label x=y", "--label x=y: expected PATH=NAME"),
    (1, "tasks nothere", "'nothere' matches no task and no group"),
    (1, "tasks medqa medqua", "Did you mean 'cora_medqa'"),
    (1, "tasks cora_scorre", "Did you mean 'cora_score'"),
    (1, "tasks --check cora_nothing", "there is no task 'cora_nothing'"),
    (1, "tasks --check cora_demo --include_path nowhere", "there is no such folder"),
    (1, """tasks --check cora_demo --metadata '{"cora": {"question": 1}}'""", "demo: option 'question'"),
]


@pytest.mark.parametrize(("status", "line", "told"), ERRORS, ids=[line for _, line, _ in ERRORS])
def test_an_error_is_one_line_and_writes_nothing(status, line, told, cli, made):
    before = sorted(made.iterdir())
    assert cli(line) == status
    assert cli.out == ""
    assert "Traceback" not in cli.err
    (message,) = [each for each in cli.err.splitlines() if each.startswith(f"lm-eval-cora {line.split()[0]}: ")]
    assert told in message
    assert sorted(made.iterdir()) == before


SUGGESTED = [
    ("raport out", "'raport'", "'report'"),
    ("report out --formt=md", "--formt", "'--format'"),
    ("report out --format jsn", "'jsn'", "'json'"),
    ("report out --format MD", "'MD'", "'md'"),
    ("export out --format every_eval_ever", "'every_eval_ever'", "'every-eval-ever'"),
    ("tasks --chekc cora_demo", "--chekc", "'--check'"),
    ("run --tasks cora_demo --untl cora>=0.1", "--untl", "'--until'"),
    ("run --tasks cora_demo --num-fewshot 3", "--num-fewshot", "'--num_fewshot'"),
    ("run --tasks cora_demo --stop exat", "'exat'", "'exact'"),
    *((line, "zzzz", None) for line in ("zzzz", "report out --zzzz", "report out --format zzzz", "run --zzzz 1")),
]


@pytest.mark.parametrize(("line", "wrong", "meant"), SUGGESTED)
def test_suggestions_if_something_is_close(line, wrong, meant, cli):
    assert cli(line) == 2
    assert tells(cli.err, "usage: lm-eval-cora", "error: ", wrong, *(["Did you mean ", meant] if meant else []))
    assert bool(meant) == ("Did you mean" in cli.err)


def test_choices_as_each_python_prints_them(capsys):
    parser = make_parser()
    for choices in ("'html', 'md', 'every-eval-ever'", "html, md, every-eval-ever"):  # since 3.12 without quotes
        with pytest.raises(SystemExit):
            parser.error(f"argument --format: invalid choice: 'every_eval' (choose from {choices})")
        assert "Did you mean 'every-eval-ever'?" in capsys.readouterr().err


# ---- tasks --check --metadata, as the harness parses it
def checked(cli, *arguments):
    """The tasks and the metadata that `tasks --check` passes to the dry run."""
    with patch("lm_eval_cora.harness.dry_run.dry_run", return_value={}) as dry_run:
        assert cli("tasks --check", *arguments) == 0
    return dry_run.call_args.args


# Several values of --metadata are merged.
PAIRS = (["a=1,b=true,c=x,d=0.5"], ["a=1", "cora={'seed':1}"], ['{"cora": {"seed": 1}}', "--metadata", "a=1", "b=2"])
METADATA = [['{"cora": {"seed": 1}, "a": [1]}'], *(pytest.param(words, marks=pairs) for words in PAIRS)]


@pytest.mark.parametrize("words", METADATA, ids=str)
def test_metadata_is_read_as_the_harness_reads_it(words, cli):
    expected = harness_arguments(["--tasks", "x", "--metadata", *words]).metadata
    assert expected
    assert checked(cli, "one", "--metadata", *words) == (["one"], expected)
    assert checked(cli, "--metadata", *words, "--limit", "2", "one") == (["one"], expected)
    names = ["one", "two", "three", "four"]  # some are named after the metadata
    assert checked(cli, "one", "--metadata", *words, "two,three", "four") == (names, expected)


@pytest.mark.parametrize("command", ["tasks --check cora_demo", "run --model dummy --tasks cora_demo"])
@pytest.mark.parametrize("metadata", ["{", "[1]", "5", "a", 'cora={"seed": 1}', "[" * 100_000], ids=lambda x: x[:20])
def test_metadata_that_the_harness_refuses(command, metadata, cli):
    assert cli(command, "--metadata", metadata) == 2
    assert cli.out == ""
    assert tells(cli.err, f"usage: lm-eval-cora {command.split()[0]}", """--metadata '{"cora": {"seed": 1}}'""")


@pairs
def test_metadata_of_several_values_with_json_is_refused(cli):
    for more in ("seed=1", '{"cora": {"seed": 1}}'):
        cli("run --model dummy --tasks cora_demo --metadata", '{"cora": {"questions": 5}}', more)
        assert "--metadata: expected one JSON object, got 2 values" in cli.err


# ---- score
def test_scores(cli, tmp_path):
    common = {"question_id": "q", "answer": "a"}
    rows = [{**common, "kind": kind, "ordinal": n, "picked": "a" if n == 0 else None} for n, kind in enumerate("xy")]
    path = put(tmp_path / "answers.jsonl", [{**rows[0], "kind": "original"}, rows[1]])
    found = strict(cli.printed("score --json", path))
    assert (found["questions"], found["answers"], found["metrics"]["cora"]["value"]) == (1, 2, 0.0)
    assert found["metrics"]["mcqa_plus"] == {"value": 0.5, "stderr": None, "low": None, "high": None}
    assert ["followed" in found["undefined"], "cora" in found["undefined"]] == [True, False]
    assert re.search(r"\| *mcqa_plus *\| *0\.5000 *\| *± *\| *N/A *\| *\|\n", cli.printed("score", path))
    assert "followed" not in cli.out
    assert "1 question with 2 variants" in cli.err
    assert cli("score", put(tmp_path / "answers.jsonl", rows)) == 0
    assert re.search(r"undefined: cora, mcqa, .*: .*the column 'original'", cli.err)
