"""The identity of the data in metadata and signature, and its name in reports."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from lm_eval_cora.answers.records import Record
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.options import Options
from lm_eval_cora.runs.signature import (
    data_labels,
    digest_of,
    in_signature,
    merged_signature,
    signature_of,
    signature_parts,
)
from lm_eval_cora.variants.template import Template

HOSTILE = ["a|b", "a:b", "|form:generate|", "data:1|n:5", "two\nlines\r", "", "%7C"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_breaks_neither_metadata_nor_signature(name):
    data = Data(name, "1a2b3c4d")
    assert Data.of(data.in_metadata()) == data
    records = [Record("q", kind="k", ordinal=0, variants=1, printed=(0, 1), answer=0, picked=0, original=True)]
    table = ResponseTable.from_records(records)
    about = {"task": "cora_local@3", **data.in_signature("cora_local"), "probe": "p", "form": "generate"}
    options = Options(data_files=(f"/x/{name}.csv",))
    signature = signature_of(about, options, {}, records, questions=table.question_ids)
    parts = signature_parts(signature)
    names = ("task", *["benchmark"] * bool(name), "data", "probe", "form", "seed", "data_files", "n", "invalid")
    assert tuple(parts) == names
    assert (parts["data"], parts["form"], parts["n"]) == ("1a2b3c4d", "generate", "1x1")
    assert len(signature.splitlines()) == 1
    again = merged_signature([signature, signature], table, "flexible", "flexible")
    assert signature_parts(again) == parts


def test_an_entry_that_is_not_ours_is_unknown_data():
    for entry in (None, "mine", 5, ["a"], {"name": 5, "questions": ["x"]}, {"other": "x"}):
        assert Data.of({"benchmark": entry}) == Data.of({}) == Data()


def test_the_name_of_a_task_that_names_its_benchmark_is_not_repeated():
    mmlu = Data("mmlu", "1a2b3c4d")
    assert mmlu.in_signature("cora_mmlu_order_mc") == {"data": "1a2b3c4d"}
    assert mmlu.in_signature("mine") == {"benchmark": "mmlu", "data": "1a2b3c4d"}
    assert Data("mmlu").in_signature("cora_mmlu") == {}
    assert data_labels([("cora_mmlu", "cora_mmlu", mmlu), ("cora_mmlu_order", "cora_mmlu", mmlu)]) == ["", ""]


def test_two_revisions_of_a_benchmark_have_their_digests():
    one, other, unknown = Data("mmlu", "1a2b3c4d"), Data("mmlu", "5e6f7a8b"), Data()
    asked = [("cora_mmlu", "cora_mmlu", data) for data in (one, other, unknown)]
    assert data_labels(asked) == ["1a2b3c4d", "5e6f7a8b", ""]
    # Two probes on different revisions have different labels, because SCORE's row must not mix them.
    probes = [("cora_mmlu_order", "cora_mmlu", one), ("cora_mmlu_prompts", "cora_mmlu", other)]
    assert data_labels(probes) == ["1a2b3c4d", "5e6f7a8b"]
    assert data_labels([*asked[:1], ("mine", "mine", other)]) == ["", "mmlu"]


def test_only_known_digests_differ():
    one, other = Data("my", "1a2b3c4d"), Data("my", "5e6f7a8b")
    assert one.differs_from(other)
    assert not any(one.differs_from(data) for data in (Data("copy", "1a2b3c4d"), Data("my"), Data()))


def test_a_table_in_memory_is_named_by_its_type():
    assert in_signature("data_files", (Path("/a/b.csv"), pd.DataFrame())) == "b.csv,DataFrame"


def test_the_digest_of_templates_is_that_of_their_texts():
    brief, other = Template("brief", "{question}"), Template("brief", "{question}!")
    assert digest_of([brief, other]) == digest_of([replace(other, name="long"), brief]) != digest_of([brief])
