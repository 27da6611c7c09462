"""The files of runs that ended early: what `gate`, reports, comparisons, leaderboards and exports say of them."""

import json
import re

import pytest

import lm_eval_cora as cora
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.report.comparison import compare_models
from tests.support.messages import tells
from tests.support.programs import Cli
from tests.support.stopping import Moody, two_options
from tests.support.written import copied, edit_results, everything, lines_of, put, strict, the_run, write

TWO = ["cora>=0.3", "mcqa<=0.83"]
"""The first one is certain at an earlier look than the second one."""


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    return two_options(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def full(options, tmp_path_factory):
    return write(tmp_path_factory.mktemp("full"), stop_early(Moody(8)), "cora_local", options, "a/full")


def ended(folder, until, options, name="a/ended", **how):
    """A run, and what its log says at the end: (requirement, outcome, low, high)."""
    model = stop_early(Moody(8), until=until, **how)
    written = write(folder, model, "cora_local", options, name)
    pattern = r"(.*): (pass|fail|undecided); .* (-?\d\.\d+) to (-?\d\.\d+)"
    return written, [re.fullmatch(pattern, text).groups() for text in model.until.verdicts("cora_local")]


@pytest.fixture(scope="module")
def stopped(options, tmp_path_factory):
    return ended(tmp_path_factory.mktemp("stopped"), TWO, options)


def gated(cli, *line):
    status = cli("gate", *line, "--json", "-")
    told = strict(cli.out)
    assert told["exit_status"] == status
    return [
        (each["requirement"], each["outcome"], f"{each['low']:.3f}", f"{each['high']:.3f}")
        for each in told["requirements"]
    ]


def required(texts):
    return [part for text in texts for part in ("--require", text)]


# ---- verdicts
def test_the_gate_gives_the_verdicts_and_intervals_of_the_run(stopped, full, cli):
    written, told = stopped
    assert [outcome for _, outcome, *_ in told] == ["pass", "pass"]
    assert gated(cli, written.folder, *required(TWO)) == told
    (undecided,) = gated(cli, written.folder, "--require", "cora>=0.5")
    assert undecided[1] == "undecided"
    cli(f"gate {written.folder} --require cora>=0.5")
    assert tells(cli.out, "undecided", "--until")  # no number of questions
    assert TWO[1] in cli.err  # as it was typed, without escapes for Markdown
    assert cli(f"gate {written.folder} --require invalid<=0.5") == 3
    assert tells(cli.err, "has no metric 'invalid'", "stopped early")
    # Half the width of an interval, of this run and of others.
    low, high = (float(end) for end in told[0][2:])
    half = (high - low) / 2
    for folder, texts in ((written.folder, (half + 0.001, half - 0.001)), (full.folder, (0.5, 0.001))):
        found = gated(cli, folder, *required(f"cora±{text:.4f}" for text in texts))
        assert [outcome for _, outcome, *_ in found] == ["pass", "undecided"]
    # The whole run has the same verdict.
    assert [each[1] for each in gated(cli, full.folder, *required(TWO))] == ["pass", "pass"]


@pytest.mark.parametrize("text", ["no-worse cora:0.05", "same mcqa:0.04"])
def test_the_same_with_a_baseline(text, full, options, tmp_path, cli):
    written, told = ended(tmp_path, [text], options, baseline=full.folder)
    assert [outcome for _, outcome, *_ in told] == ["pass"]
    option, _, margin = text.partition(" ")
    assert gated(cli, written.folder, "--baseline", full.folder, f"--{option}", margin) == told
    # The baseline must be the whole run.
    assert cli(f"gate {full.folder} --baseline {written.folder} --{option} {margin}") == 3
    assert "--until ended the first because of its answers" in cli.err
    assert cli(f"gate {written.folder} --baseline {written.folder} --{option} {margin}") == 3
    assert tells(cli.err, "the baseline answered", "of 120 questions")


def test_passages_of_different_sizes_and_a_budget(tmp_path, cli):
    options = two_options(tmp_path, lambda n: {"cluster": f"{n % 40 % 17 * (n % 3)}"})
    for text, outcome, how in (("mcqa>=0.3", "pass", {}), ("mcqa±0.1", "undecided", {"budget": 250})):
        written, ((_, found, low, high),) = ended(tmp_path / outcome, [text], options, **how)
        assert found == outcome
        ((_, _, *ends),) = gated(cli, written.folder, "--require", "mcqa>=0.3")
        assert 0 <= float(low) <= float(high) <= 1
        assert (float(ends[0]) <= float(low), float(high) <= float(ends[1])) == (True, True)
        estimate = the_run(written.folder).estimates["mcqa"]
        assert estimate.interval[0] <= estimate.value <= estimate.interval[1]


# ---- everything else
def test_reports_and_exports_show_the_numbers_of_the_run(stopped, tmp_path, cli):
    written, _ = stopped
    run = the_run(written.folder)
    assert run.differences == []
    for name, found in run.estimates.items():
        assert (found.value, found.stderr) == (written.printed[f"{name},none"], written.printed[f"{name}_stderr,none"])
    (note,) = [note for note in run.warnings if "until" in note]
    questions = len(run.table.sizes)
    assert tells(note, f"--until '{'; '.join(TWO)}': the run asked {questions} questions of 120.", "at every look")
    assert not [note for note in run.warnings if "--budget" in note or "stopped early" in note]
    low, high = run.estimates["cora"].interval
    text = everything(written.folder)
    assert tells(text, f"{questions} questions of 120.", f"{low:.3f} to {high:.3f}")
    (scores,) = cora.read_runs(written.folder)
    assert scores["cora"].interval == (low, high)
    for form in ("every-eval-ever", "csv", "markdown"):
        assert cli(f"export {written.folder} --format {form} -o {tmp_path / form}") == 0, cli.err
    record = next((tmp_path / "every-eval-ever").rglob("*.json")).read_text()
    assert tells(record, "until:cora>=0.3; mcqa<=0.83")
    assert json.dumps(low) in record
    assert cli(f"score {written.folder}") in (0, 1)


def test_comparisons_and_plans_are_refused_with_a_reason(stopped, full, cli):
    written, _ = stopped
    for pair in ((written, full), (full, written)):
        (refused,) = compare_models([each.folder for each in pair]).refused
        assert tells(refused, "--until ended the", "because of its answers", "gate RUN --baseline WHOLE")
    with pytest.raises(UserError, match="cannot be compared: --until"):
        cora.compare(*(cora.read_runs(each.folder)[0] for each in (written, full)))
    assert cli(f"plan --difference 0.05 --from {written.folder}") == 3
    assert "a run with --until stopped because of its answers" in cli.err


def test_a_leaderboard_has_them_in_a_table_of_their_own(stopped, full, tmp_path, cli):
    written, _ = stopped
    page = tmp_path / "index.html"
    assert cli("leaderboard", written.folder, full.folder, "-o", page) == 0, cli.err
    text = page.read_text()
    assert tells(text, "(until cora", "are in another table of cora_local", "(until not given")


def test_later_runs_are_not_merged_with_them(options, tmp_path):
    for seed in (9, 7):
        written, _ = ended(tmp_path, ["cora±0.15"], {**options, "seed": seed})
    run = the_run(tmp_path)
    assert (run.files, run.seed) == ((written.samples,), 7)


# ---- damaged files
def test_lost_answers_leave_no_interval(stopped, tmp_path, cli):
    written = copied(stopped[0], tmp_path / "copy")
    lines = lines_of(written.samples)
    asked = next(number for number, line in enumerate(lines) if "skipped" not in line["resps"][0][0])
    put(written.samples, lines[:asked] + lines[asked + 1 :])
    run = the_run(written.folder)
    assert any("left out 1 question" in note for note in run.warnings)
    assert "Answers to others are missing, so nothing is known about all" in everything(written.folder)
    assert cli(f"gate {written.folder} --require cora>=0.3 --json -") == 2
    assert "cora is undefined in this run" in cli.out


@pytest.mark.parametrize("seed", ["x", "--1", "9" * 5_000, "1"])
def test_a_seed_that_did_not_draw_the_questions_leaves_no_interval(seed, stopped, tmp_path):
    written = copied(stopped[0], tmp_path / "copy")

    def change(results):
        metadata = results["configs"]["cora_local"]["metadata"]
        metadata["signature"] = metadata["signature"].replace("|seed:0|", f"|seed:{seed}|")

    edit_results(written, change)
    assert everything(written.folder)
    found = the_run(written.folder).estimates["cora"]
    assert (str(found.value) == "nan") == (seed == "1")
