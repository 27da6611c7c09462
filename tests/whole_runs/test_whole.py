"""The whole public benchmarks; skipped without their folder. `nox -s whole` runs every task."""

import json
import logging
from dataclasses import replace
from functools import cache

import datasets
import pytest
import yaml

from lm_eval_cora.discovery.location import tasks_folder
from lm_eval_cora.harness.docs import process_docs
from lm_eval_cora.questions import adapters
from lm_eval_cora.questions.columns import Columns
from lm_eval_cora.questions.loading import load_exemplars, load_questions
from lm_eval_cora.questions.options import KEYS, Options
from lm_eval_cora.runs import task_files
from lm_eval_cora.variants.probes import PROBES
from tests.support.hub import rows_in
from tests.support.simulated import run, scores
from tests.support.whole import WHOLE, Lines, mostly_knows

pytestmark = pytest.mark.skipif(not WHOLE.is_dir(), reason=f"no benchmarks in {WHOLE}")

QUESTIONS = {
    "medqa": 1273,
    "mmlu": 14038,
    "arc_challenge": 1172,
    "truthfulqa": 817,
    "medmcqa": 4179,
    "mmlu_pro": 12031,
    "agieval": 1691,  # of logiqa-en there is a sample of six
    "math": 5000,
}

LEFT_OUT = {
    # 8.75 is C and A; 6 kmph is E and B; 59:91 is B and D; "L(x,y) < R(x,y)" is D and C.
    "agieval": [f"aqua-rat row {row}" for row in (117, 124, 126, 193)],
    # 687 is A and B; "Increase, Increase" is D and A; "... are appointed by the parties" is A and B; "debt repayments
    # ..." is C and D.
    "mmlu": ["row 2178", "row 4021", "row 6494", "row 13601"],
    # "It mostly affects the matrix protein" is D and C; all four are the same; "Petechial rash" is B and D; "Goitres
    # are classified ..." is D and C.
    "medmcqa": ["row 988", "row 1341", "row 1406", "row 2733"],
    # The letter of the right answer is C, its index 1, which is B.
    "mmlu_pro": ["row 3859"],
}
"""Rows that are left out, checked by hand."""

REPAIRED = {
    "medqa": (70, 71),
    "mmlu": (323, 81),
    "arc_challenge": (0, 1),
    "truthfulqa": (2, 0),
    "medmcqa": (45, 167),
    "mmlu_pro": (1019, 48),
    "agieval": (18, 90),
}
"""Number of options and stems that are not printed as published, apart from white space around stems."""


@pytest.fixture(autouse=True)
def _in_the_folder(tmp_path_factory, monkeypatch):
    # load_dataset("owner/name") finds a local folder of that name.
    monkeypatch.chdir(WHOLE)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.getbasetemp() / "whole")
    monkeypatch.setattr(datasets, "load_dataset", rows_in(WHOLE))


@cache
def loaded(benchmark):
    """The questions of a benchmark, and the messages about rows that were left out."""
    lines = Lines()
    logger = logging.getLogger("lm_eval.cora")
    logger.addHandler(lines)
    try:
        questions, *_ = load_questions(task_files.benchmark(benchmark), Options())
    finally:
        logger.removeHandler(lines)
    return questions, lines.left_out


def questions_of(benchmark):
    return loaded(benchmark)[0]


@pytest.mark.parametrize("benchmark", QUESTIONS)
def test_every_row_is_read_but_the_known_ones(benchmark):
    questions, left_out = loaded(benchmark)
    rows = LEFT_OUT.get(benchmark, [])
    reason = "two answers that contradict each other" if benchmark == "mmlu_pro" else "an option equal to the right one"
    assert left_out == ([f"{len(rows)} with {reason} ({', '.join(rows)})"] if rows else [])
    assert len(questions) == len({question.id for question in questions}) == QUESTIONS[benchmark]
    for question in questions:
        assert question.stem == question.stem.strip() != ""
        assert all(option == " ".join(option.split()) for option in question.choices)


def test_the_passages_of_agieval():
    clusters = {}
    for question in questions_of("agieval"):
        clusters.setdefault(question.category, set()).add(question.cluster)
    assert {subset: len(names) for subset, names in clusters.items()} == {
        **dict.fromkeys(("lsat-ar", "lsat-rc"), 40),
        "sat-en": 44,
        "lsat-lr": 507,
        "logiqa-en": 6,
        "aqua-rat": 1,
        "sat-math": 8,  # no passage is one of them
    }


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in ("agieval", "math")])
def test_the_same_questions_come_through_cora_hub(name):
    text = (tasks_folder() / "_benchmarks" / f"{name}.yaml").read_text()
    fragment = yaml.safe_load(text)["benchmark"]
    given = json.loads(json.dumps({key: value for key, value in fragment.items() if key in KEYS}))  # as --metadata
    options = Options.from_metadata("cora_hub", given)
    found, *_ = load_questions(task_files.benchmark("hub", options.declared), options)
    # All docs are made of the question alone. Here options keep their lines.
    assert [replace(question, keeps_lines=False) for question in found] == questions_of(name)


@pytest.mark.parametrize("benchmark", REPAIRED)
def test_answers_and_identities_are_those_of_the_published_texts(benchmark, monkeypatch):
    mended = questions_of(benchmark)
    plain = str.strip if benchmark == "agieval" else str  # of AGIEval some options differ only in white space
    monkeypatch.setattr("lm_eval_cora.questions.question.one_line", plain)
    unmended = task_files.benchmark(benchmark)
    if isinstance(unmended.reader, Columns):
        unmended = replace(unmended, reader=replace(unmended.reader, repairs=()))
    else:
        for name in ("repaired", "without_own_letters"):
            monkeypatch.setattr(adapters, name, lambda texts, *_: texts)
    published, *_ = load_questions(unmended, Options())
    assert [(q.id, q.answer, q.category) for q in published] == [(q.id, q.answer, q.category) for q in mended]
    options = stems = 0
    for before, after in zip(published, mended, strict=True):
        texts = [text.strip() for text in before.choices]
        assert after.identities == tuple(map(texts.index, texts))
        options += sum(map(str.__ne__, before.choices, after.choices))
        stems += before.stem != after.stem
    assert (options, stems) == REPAIRED[benchmark]


def test_the_five_shots_of_mmlu_are_the_published_rows():
    pool = load_exemplars(options=Options(), benchmark=task_files.benchmark("mmlu"))
    by_subject = {}
    for number, row in enumerate(datasets.load_dataset("cais/mmlu", "all", split="dev")):
        by_subject.setdefault(row["subject"], []).append(number)
    for question in questions_of("mmlu"):
        drawn = [one.id for one in pool.draw(question, 5, 0, 1234)]
        assert drawn == [f"dev-{number}" for number in by_subject[question.category]]
    assert pool.fewer(questions_of("mmlu"), 5) == {}
    assert len(pool.fewer(questions_of("mmlu"), 6)) == QUESTIONS["mmlu"]


def test_the_shots_of_arc_do_not_repeat():
    pool = load_exemplars(options=Options(), benchmark=task_files.benchmark("arc_challenge"))
    for question in questions_of("arc_challenge")[::50]:
        drawn = pool.draw(question, 25, 0, 1234)
        assert len({(one.stem, one.choices) for one in drawn}) == 25
        assert question.stem not in {one.stem for one in drawn}


VARIANTS = {"": 21_416, "_plus": 11_885, "_revas": 37_673, "_prompts": 8_170, "_order": 4_114, "_sampling": 4_085}


@pytest.mark.parametrize("probe", VARIANTS)
def test_a_task_of_each_probe_on_the_smallest_whole_benchmark(probe):
    """All variants are made, and those of 120 questions with 2 to 11 options are asked."""
    assert len(process_docs(questions_of("truthfulqa"), PROBES[probe[1:] or "divergent"])) == VARIANTS[probe]
    task = f"cora_truthfulqa{probe}"
    results = run(mostly_knows, task, {"questions": 120}, log_samples=False)
    values = scores(results, task)
    assert [name for name, value in values.items() if value == "nan"] == []
    # Seven in ten of 596 or more, chosen by a hash: the standard deviation is 0.019 at most.
    if "revas" not in task:  # there a wrong answer can be right for a true-or-false question
        assert values["acc"] == pytest.approx(0.7, abs=0.03)
    assert "|n:120x" in results["configs"][task]["metadata"]["signature"]
