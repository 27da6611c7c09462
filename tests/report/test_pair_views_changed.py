"""Answers that changed between two models: by hand, from files, from samples with both responses, and documents."""

import csv
from shutil import copytree
from statistics import stdev

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.report.comparison import compare_models
from lm_eval_cora.report.pair_views import as_jsonl
from lm_eval_cora.report.sections import make_report
from lm_eval_cora.runs.grouping import read_runs
from lm_eval_cora.tables.table_formats import as_csv
from tests.support.documents import samples_of
from tests.support.messages import user_error
from tests.support.simulated import knows
from tests.support.stopping import Moody
from tests.support.written import lines_of, put, strict, the_run, write

PRINTED = ["Ice", "Fog", "Dew", "=1"]
PICKS = {
    "q1": (["Ice", "Ice", "Fog", "Dew"], ["Fog", None, "Ice", "=1"]),  # lost, lost, won, other
    "q2": (["Ice", "Fog", None, "Dew"], ["Ice", "Ice", None, "Dew"]),  # won
    "q3": (["Ice", "Fog", "Dew", None], ["Ice", "Fog", "Dew", None]),
    "q4": (["Ice", "Fog", "Dew", "Ice"], ["Dew", "Fog", None, "Ice"]),  # lost, other
}


def changed(*paths):
    return compare_models(paths, changed=True).changed


@pytest.fixture
def files(tmp_path):
    def rows(place):
        return [
            {"question": q, "variant": n, "kind": f"k{n % 2}", "picked": pick, "answer": "Ice", "printed": PRINTED}
            | {"category": "x" if q < "q3" else "y"}
            for q, both in PICKS.items()
            for n, pick in enumerate(both[place])
        ]

    return [put(tmp_path / f"{name}.jsonl", rows(place)) for place, name in enumerate(("old", "new"))]


def test_by_hand(files):
    (found,) = changed(*files)
    assert found.asked == 16
    shares = {name: estimate.value * 16 for name, estimate in found.shares.items()}
    assert shares == {"changed": 7, "lost": 3, "won": 2, "other": 2}
    told = [(each.question, each.variant, each.change, each.before, each.after) for each in found.answers]
    assert told == [
        *(("q1", 0, "lost", "A", "B"), ("q1", 1, "lost", "A", ""), ("q1", 2, "won", "B", "A")),
        *(("q1", 3, "other", "C", "D"), ("q4", 0, "lost", "A", "C"), ("q4", 2, "other", "C", "")),
        ("q2", 1, "won", "B", "A"),
    ]
    facts = [(each.category, each.kind, each.right) for each in found.answers[:2]]
    assert facts == [("x", "k0", "A. Ice"), ("x", "k1", "A. Ice")]
    # By question: 4 / 4, 1 / 4, 0 and 2 / 4 changed.
    assert found.shares["changed"].stderr == pytest.approx(stdev((4, 1, 0, 2)) / 2 / 4)
    assert (found.tables[0].rows[0][:2], len(found.tables[1].rows)) == (["changed: all", 7], 7)


def test_the_files_of_the_command(files, tmp_path, capsys):
    paths = [str(path) for path in files]
    for name in ("changed.csv", "changed.jsonl"):
        assert main(["compare", *paths, "--changed", "-o", str(tmp_path / name)]) == 0
    assert "answers that changed from old to new, of 16" in capsys.readouterr().out
    rows = list(csv.DictReader((tmp_path / "changed.csv").read_text().splitlines()))
    lines = lines_of(tmp_path / "changed.jsonl")
    assert len(rows) == len(lines) == 7
    assert (rows[3]["response_after"], lines[3]["response_after"]) == ("'=1", "=1")  # a formula for a spreadsheet
    assert main(["compare", *paths, "--changed", "--json"]) == 0
    (value,) = strict(capsys.readouterr().out)
    assert (value["shares"]["lost"]["value"], value["answers"][0]["change"]) == (3 / 16, "lost")
    for arguments in ([*paths, "-o", "x.txt"], [*paths, paths[0]]):
        assert main(["compare", *arguments, "--changed"]) == 1
    told = capsys.readouterr().err
    assert "x.txt: expected a name that ends in .csv or .jsonl" in told
    assert "--changed: expected two models, got 3" in told


def test_equal_runs_have_no_change(files, demo):
    (found,) = changed(files[0], files[0])
    assert (found.answers, as_jsonl([found])) == ([], "")
    assert as_csv([found.data]).count("\n") == 1
    assert found.shares["changed"].interval[1] > 0
    both, *_ = make_report(read_runs([files[0], files[0]])).sections
    assert not any(block.title.startswith("What changed") for block in both.more)


def test_both_responses_and_the_page(tmp_path):
    def forgets(doc):
        return "No idea <b>" if doc["ordinal"] == 4 else knows(doc)

    paths = [
        write(tmp_path / name, rule, "cora_demo", {"questions": 3}, model=f"org/{name}").folder
        for name, rule in (("old", knows), ("new", forgets))
    ]
    (found,) = changed(*paths)
    assert len(found.answers) == 3
    assert {(each.change, each.response_after, each.after) for each in found.answers} == {("lost", "No idea <b>", "")}
    assert {each.response_before for each in found.answers} <= set("ABCDE")
    section, *_ = make_report(read_runs(paths)).sections
    (block,) = (block for block in section.more if block.title.startswith("What changed from"))
    assert [example.summary[:12] for example in block.examples] == ["1 lost of 26"] * 3
    kinds = [(answer.kind.partition(",")[2], answer.verdict) for answer in block.examples[0].answers]
    assert kinds == [(" org/old", "right"), (" org/new", "invalid")]


def test_variants_that_one_run_skipped_do_not_count(tmp_path):
    whole = write(tmp_path / "a", knows, "cora_demo", {"questions": 5})
    early = write(tmp_path / "b", stop_early(Moody(3)), "cora_demo", {"questions": 5}, model="org/new")
    (found,) = changed(whole.folder, early.folder)
    assert found.asked == the_run(early.folder).table.answers < 5 * 26
    assert found.shares["lost"].value * found.asked == len(found.answers) > 0


def test_documents_of_other_tasks(models):
    found = {each.task: each for each in changed(models.one, models.two)}
    assert {*found} == {"tiny_choice, acc", *(f"tiny_written ({name}), exact_match" for name in ("letter", "strict"))}
    choice = found["tiny_choice, acc"]
    for place, path in enumerate((models.one, models.two)):
        values = {line["doc_id"]: line["acc"] for line in lines_of(samples_of(path, "tiny_choice"))}
        told = {int(each.question): each.change == "lost" for each in choice.answers if each.change != "other"}
        assert all(values[document] == lost ^ bool(place) for document, lost in told.items())
    counts = {name: sum(each.change == name for each in choice.answers) for name in ("lost", "won", "other")}
    assert {name: choice.shares[name].value * 24 for name in counts} == pytest.approx(counts)
    assert counts["lost"] + counts["won"] > 0
    by_length = compare_models([models.one, models.two], metrics=["length"], changed=True).changed
    assert [each.task for each in by_length] == ["tiny_written (strict), length", "tiny_written (letter), length"]
    with user_error("--changed needs a value of short for each document; 0 has none"):
        compare_models([models.one, models.two], metrics=["short"], changed=True)


def test_lines_that_the_comparison_leaves_out_are_left_out_here_too(models, tmp_path):
    other = copytree(models.two, tmp_path / "two")
    for path in other.rglob("samples_*.jsonl"):
        put(path, [{"doc_id": [1]}, {"doc_id": 0}, "broken", *lines_of(path)])
    expected = {each.task: each.answers for each in changed(models.one, models.two)}
    assert {each.task: each.answers for each in changed(models.one, other)} == expected
