"""The option `reader` in the harness: results of chat models that know the answers."""

import re

import pytest

from lm_eval_cora.cli import main
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.questions.question import LETTERS
from tests.support.messages import tells
from tests.support.responses import STYLES
from tests.support.simulated import TASKS, run, scored, scores
from tests.support.stopping import Moody, chance
from tests.support.written import the_run, write

QUESTIONS = {"questions": 8}
SEED = 3

YES_NO = (
    "{}",
    "The answer is {}.",
    "**Final answer:** {}",
    "{}, the proposed answer is {}.",
    "I looked at it closely. Therefore, the proposed answer is {}.",
    "<think>yes? no?</think>The proposed answer is {}.",
)
SEVERAL = (
    "{}",
    "The right answers are {}.",
    "Sure! Based on the text, the correct options are: {}",
    "**Answer:** {}",
    "<think>all of them?</think> I would choose {}.",
)


def wrapped(doc):
    """A response in a style of chat models, a different one for each doc."""
    said = Moody(SEED).say(doc)
    if said == "?":
        return "It depends."
    place = int(1_000 * chance("style", doc["question_id"], doc["ordinal"]))
    if doc["ask"] == "yes_no":
        verdict = {"yes": ("yes", "correct"), "no": ("no", "incorrect")}[said]
        text = YES_NO[place % len(YES_NO)]
        if "{}, the" in text:
            return text.format(*verdict)
        return text.format(verdict["proposed" in text])
    if doc["ask"] == "select_all":
        return SEVERAL[place % len(SEVERAL)].format(said)
    letter = re.findall(r"\b[A-Z]\b", said)[-1]
    styles = list(STYLES.values())
    return styles[place % len(styles)](letter, doc["choices"][LETTERS.index(letter)])


@pytest.mark.parametrize("probe", ["", "_plus", "_revas", "_order", "_prompts"])
def test_a_model_that_chats_has_the_scores_of_one_that_does_not(probe):
    task = f"cora_demo{probe}"
    values, plain = (scored(rule, task, QUESTIONS) for rule in (wrapped, Moody(SEED)))
    assert 0.3 < values["acc"] < 0.95
    assert values["followed"] < 0.9
    same = {name for name in values if not name.startswith("followed")}
    assert {name: values[name] for name in same} == {name: plain[name] for name in same}


def test_followed_is_the_share_that_the_strict_reader_reads():
    flexible = run(wrapped, "cora_demo", QUESTIONS)
    strict = run(wrapped, "cora_demo", {**QUESTIONS, "reader": "strict"})
    values = scores(flexible)
    assert values["followed"] == scores(strict)["followed"] == 1 - scores(strict)["invalid"]
    assert values["acc"] > scores(strict)["acc"]
    metadata = flexible["configs"]["cora_demo"]["metadata"]
    assert "|form:generate|reader:flexible|" in metadata["signature"]
    assert "|form:generate|reader:strict|" in strict["configs"]["cora_demo"]["metadata"]["signature"]
    kinds = metadata["followed_by_kind"]
    assert set(kinds) == set(metadata["invalid_by_kind"])
    assert 0 <= min(kinds.values()) < values["followed"] < max(kinds.values()) < 1


def test_scored_answers_have_no_reader():
    results = run(Moody(SEED), "cora_demo_mc", {**QUESTIONS, "reader": "strict"})
    metadata = results["configs"]["cora_demo_mc"]["metadata"]
    assert "followed" not in scores(results, "cora_demo_mc")
    assert "followed_by_kind" not in metadata
    assert "reader" not in metadata["signature"]


def test_a_task_file_may_name_the_reader_and_the_user_another(tmp_path):
    (tmp_path / "mine.yaml").write_text(f"task: mine\ninclude: {TASKS}/demo/cora_demo.yaml\nreader: strict\n")
    for options, invalid in ((QUESTIONS, 1), ({**QUESTIONS, "reader": "flexible"}, 0)):
        results = run(lambda doc: STYLES["sentence"]("A", doc["choices"][0]), "mine", options, tmp_path)
        assert scores(results, "mine")["invalid"] == invalid


def test_samples_are_read_again(tmp_path, capsys):
    flexible = write(tmp_path / "flexible", wrapped, "cora_demo", QUESTIONS, "a/one")
    strict = {**QUESTIONS, "reader": "strict"}
    other = write(tmp_path / "strict", wrapped, "cora_demo", strict, "a/other")
    folders = [str(flexible.folder), str(other.folder)]
    for reader in ("flexible", "strict"):
        assert main(["report", *folders, "--reader", reader, "-o", str(tmp_path / "report.json")]) == 0
        told = capsys.readouterr().err
        assert told.count(f"read again by the {reader} reader") == 1
        assert tells(told, "of the responses follow the format", f" {reader}")
        assert main(["compare", *folders, "--reader", reader, "--json"]) == 0
        assert '"value": 0.0' in capsys.readouterr().out
    assert main(["compare", *folders]) == 1
    assert "--reader flexible, or --reader strict" in capsys.readouterr().err
    assert [the_run(each.folder).reader for each in (flexible, other)] == ["flexible", "strict"]
    assert main(["export", str(other.folder), "--format", "csv", "--reader", "flexible"]) == 0
    assert "reader:flexible" in capsys.readouterr().out


def test_a_run_that_stopped_early_is_not_read_again(tmp_path, capsys):
    written = write(tmp_path, stop_early(Moody(SEED)), "cora_demo", QUESTIONS)
    assert main(["report", str(written.folder), "--format", "md"]) == 0
    assert main(["report", str(written.folder), "--format", "md", "--reader", "strict"]) == 1
    assert "the run stopped early" in capsys.readouterr().err
