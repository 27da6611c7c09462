"""The source of the questions of a run."""

from dataclasses import replace

import pytest

from lm_eval_cora.export.provenance import Dataset, dataset_of, evaluation_name
from lm_eval_cora.questions.benchmark import Data

MMLU = {"name": "mmlu", "hub": "cais/mmlu", "config": "all", "split": "test"}
ON_THE_HUB = Dataset("mmlu", hub=("cais/mmlu",), configs=("all",), split="test")
RIDDLES = {"hub": "org/riddles", "split": "validation", "question": "riddle"}
FROM_THE_USER = Dataset("riddles", hub=("org/riddles",), split="validation")
FILE = Dataset("my", files=("my.csv",))

SOURCES = {
    "declared": ({"benchmark": MMLU}, {}, "mmlu", ON_THE_HUB),
    "revision of the user": ({"benchmark": MMLU}, {"revision": "abc"}, "mmlu", replace(ON_THE_HUB, revision="abc")),
    "declared by the user": ({"benchmark": {"open": True}}, RIDDLES, "riddles", FROM_THE_USER),
    "file": ({"benchmark": {"open": True}}, {"data_files": "/home/me/my.csv"}, "my", FILE),
    "file of the task": ({"benchmark": {"data_files": ["/home/me/my.csv"]}}, {}, "my", FILE),
    "package": ({"benchmark": {"name": "demo", "package_file": "x"}}, {}, "demo", Dataset("demo", packaged=True)),
    "nothing": ({}, {}, "", Dataset("cora_demo")),
    "altered": ({"benchmark": ["x"]}, {}, "", Dataset("cora_demo")),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_source_of_the_questions(name, runs):
    config, options, benchmark, expected = SOURCES[name]
    results = {"configs": {runs[0].name: {**config, "metadata": {"cora": options}}}}
    assert dataset_of(replace(runs[0], results=results, data=Data(benchmark, "1a2b3c4d"))) == expected


def test_names_of_evaluations(runs):
    one = runs[0]
    assert evaluation_name(one) == "cora_demo"
    assert evaluation_name(replace(one, part="strict")) == "cora_demo/strict"
    assert evaluation_name(replace(one, label="my 1a2b3c4d", part="strict")) == "cora_demo/my 1a2b3c4d/strict"
