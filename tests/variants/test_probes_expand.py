"""Variants for users who query a model themselves: the same as in the task `cora_local`, from any kind of table."""

import json
from hashlib import sha256
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

import lm_eval_cora as cora
from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.docs import doc_to_text, load_benchmark, process_docs
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import Question
from lm_eval_cora.runs.task_files import benchmark
from lm_eval_cora.variants.probes import PROBES
from lm_eval_cora.variants.template import prompt_of
from tests.support.responses import STYLES
from tests.support.written import put

ROWS = [
    {"id": "ice", "question": "What is frozen water?", "choices": ["Ice", "Fog", "Steam"], "answer": "A"},
    {"id": "dew", "question": "What lies on grass in the morning?", "choices": ["Sand", "Dew"], "answer": "B"},
    {"id": "sea", "question": "What is salty?", "choices": ["Sea", "Rain", "Dew", "Snow"], "answer": "A"},
]


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("options", [{}, {"seed": 3, "questions": 2}])
def test_the_variants_are_those_of_the_task(probe, options, tmp_path):
    path = put(tmp_path / "questions.jsonl", ROWS)
    chosen = Options(data_files=(str(path),), **options)
    questions, *_ = load_benchmark(options=chosen, benchmark=benchmark("local", {}, chosen.data_files))
    docs = process_docs(questions, PROBES[probe], chosen)
    for source in (path, str(path), ROWS, pd.DataFrame(ROWS)):
        variants = cora.expand(source, probe=probe, **options)
        assert [vars(variant) for variant in variants] == list(docs)
        assert [variant.prompt for variant in variants] == [doc_to_text(doc) for doc in docs]


def test_user_templates(tmp_path):
    path = tmp_path / "templates.json"
    path.write_text(json.dumps([{"name": "brief", "prompt": "{question}{options}\nThe best answer is:"}]))
    with pytest.raises(UserError, match="'templates': expected at least two"):
        cora.expand(ROWS, probe="prompts", templates=str(path))
    assert cora.expand(ROWS, probe="sampling", templates=str(path))[0].prompt.endswith("The best answer is:")


OWN = """{% if ask == "yes_no" %}Vrai ?{% elif ask == "select_all" %}Toutes :{% else %}Une seule :{% endif %}
{{ question }}
{% for letter, text in options -%}
{{ letter }}) {{ text }}
{% endfor %}Réponse :
"""


@pytest.mark.parametrize("probe", [name for name, probe in PROBES.items() if not probe.own_prompts])
def test_a_prompt_of_ones_own(probe):
    begins = {"yes_no": "Vrai ?", "select_all": "Toutes :"}
    for variant in cora.expand(ROWS, probe=probe, prompt=OWN):
        options = "".join(f"{letter}) {text}\n" for letter, text in zip("ABCDEFGHIJ", variant.choices, strict=False))
        begin = begins.get(variant.ask, "Une seule :")
        assert variant.prompt == f"{begin}\n{variant.question}\n{options}Réponse :"
        assert prompt_of(vars(variant), instruct=False) == variant.prompt, "also if letters are scored"
        exemplar = FORMATS[variant.ask].exemplar(Question("q", "Dry?", ("Sand", "Sea"), 0), vars(variant))
        assert exemplar["text"].startswith(f"{begin}\nDry?\nA) Sand\n")


@pytest.mark.parametrize(
    ("probe", "prompt", "told"),
    [
        ("divergent", "{{ question", "unexpected end of template"),
        ("divergent", "{{ stem }}", "'stem' is undefined. The variables are question, options"),
        *(("divergent", "{{ question.__class__ }}", "unsafe"), ("divergent", "{{ 1 / 0 }}", "division by zero")),
        ("divergent", "{{ letters }}", "'What is frozen water?' is missing"),
        ("order", "{{ question }}", "'Ice' is missing"),
        ("plus", "{{ question }} {{ options }}", "expected other words if the variable `ask` is 'letter'"),
        *((probe, OWN, f"the probe '{probe}' compares several prompts") for probe in ("prompts", "labels")),
        ("order", "", "expected a Jinja template"),
    ],
)
def test_a_prompt_is_checked(probe, prompt, told):
    with pytest.raises(UserError) as caught:
        cora.expand(ROWS, probe=probe, prompt=prompt)
    assert told in str(caught.value)


def test_a_prompt_without_the_words_before_the_answer_is_warned_of(caplog):
    cora.expand(ROWS, probe="order", prompt=OWN)
    assert "option 'prompt': best_answer: expected 'best answer is' in the template" in caplog.text


@pytest.mark.parametrize(
    ("source", "arguments", "message"),
    [
        (ROWS, {"probe": ["plus"]}, "expected one of divergent"),
        (ROWS, {"probe": "divergnt"}, "Did you mean 'divergent'"),
        (ROWS, {"sed": 1}, "unknown option 'sed'.* Did you mean 'seed'"),
        *((ROWS, {"seed": "one"}, "'seed'"), (ROWS, {"answer": "key"}, "'key'")),
        (ROWS, {"orders": "cyclic"}, "'orders'.* 'divergent' ignores it"),
        (ROWS, {"hub": "ORG/NAME", "split": "test"}, "expected one source"),
        (ROWS, {"data_files": "other.csv"}, "got questions and data_files"),
        (ROWS, {"probe": "order", "prompt": OWN, "templates": "mine.json"}, "'templates' is set, too"),
        *(([], {}, "there are no rows"), ([{"question": "?"}], {}, "no column for the choices")),
        ([{"question": "?", "choices": ["a"], "answer": "a"}], {}, "1 of 1 rows are not valid questions"),
        *(("missing.csv", {}, r"^there is no file missing\.csv"), (None, {}, "expected questions, or a dataset")),
    ],
)
def test_wrong_sources_and_arguments(source, arguments, message):
    with pytest.raises(UserError, match=message):
        cora.expand(source, **arguments)


def test_shuffled_options_do_not_depend_on_the_name_of_the_data(tmp_path):
    files = [put(tmp_path / f"{name}.jsonl", ROWS) for name in ("one", "other")]
    sources = [*files, ROWS, pd.DataFrame(ROWS)]
    first, *others = ([vars(one) for one in cora.expand(source, shuffle=True)] for source in sources)
    assert all(other == first for other in others)


VERSION = Path(__file__).parents[1] / "prompts" / "version_1.json"
"""Digests of what the tasks of version 1 ask, draw and read. A change on purpose raises the versions of its tasks."""


def digest(value):
    return sha256(repr(value).encode()).hexdigest()[:16]


@pytest.mark.parametrize("probe", json.loads(VERSION.read_text())["probes"])
def test_a_version_has_the_same_prompts_and_draws(probe):
    rows = [*ROWS, {**ROWS[2], "id": "air", "choices": [*"abcdefghi", "All of the above"], "answer": "C"}]
    asked = [
        (one.kind, one.printed, one.answer, one.ask, one.prompt, prompt_of(vars(one), instruct=False))
        for one in cora.expand(rows, probe=probe)
    ]
    assert digest(asked) == json.loads(VERSION.read_text())["probes"][probe]


@pytest.mark.parametrize("reader", ["flexible", "strict"])
def test_a_version_has_the_same_readings(reader):
    options = ROWS[2]["choices"]
    said = [style(letter, text) for style in STYLES.values() for letter, text in zip("ABCD", options, strict=True)]
    read = [
        cora.read_answer(f"{one}\n{other}", options, format=ask, reader=reader)
        for ask in ("letter", "best_answer", "select_all")
        for one, other in product(said[::3], said)
    ]
    found = digest([(one.position, one.selected, str(one.reason)) for one in read])
    assert found == json.loads(VERSION.read_text())["readers"][reader]
