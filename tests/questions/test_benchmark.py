import pytest

from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.adapters import AGIEVAL
from lm_eval_cora.questions.benchmark import Data, Source, declared
from lm_eval_cora.questions.options import KEYS, Options
from lm_eval_cora.runs.task_files import benchmark
from tests.support.messages import tells

ON_THE_HUB = {"hub": "somebody/riddles", "config": "short", "split": "test"}


@pytest.mark.parametrize(
    ("given", "changes", "files", "name"),
    [
        (ON_THE_HUB, {}, (), "riddles_short"),
        ({**ON_THE_HUB, "name": "mine"}, {}, (), "mine"),
        ({"name": "hub", "open": True}, {"hub": ("somebody/riddles",), "split": "test"}, (), "riddles"),
        ({"name": "hub", "open": True}, {"hub": ("a/b",), "split": "test", "name": "mine"}, (), "mine"),
        ({"name": "local", "open": True}, {}, ("~/exams/anatomy.csv",), "anatomy"),
        ({"name": "local", "open": True}, {}, ("a.csv", "b.csv", "c.csv"), "a and 2 more"),
        ({"name": "riddles", **ON_THE_HUB}, {}, ("my.jsonl",), "riddles"),
        ({"data_files": "my.jsonl"}, {}, (), "my"),
    ],
)
def test_names(given, changes, files, name):
    assert declared(given, changes, files).name == name


def test_what_is_declared():
    source = declared(
        {**ON_THE_HUB, "fewshot_split": "train", "revision": "abc", "question": "riddle", "options": [2, 4]}
        | {"published_rows": 6, "exemplars_within_category": True, "macro_average": True}
    )
    assert source.source == Source(("somebody/riddles",), ("short",), "test", "train", "abc")
    assert (source.options, source.published_rows, source.macro_average) == ((2, 4), 6, True)
    assert (source.exemplars_within_category, source.columns) == (True, ("riddle",))
    assert {"support", "question", "correct_answer", "distractor1"} < set(benchmark("sciq").columns)  # of a template
    assert (source.strict, declared({"data_files": "my.jsonl"}).strict) == (False, True)
    adapter = declared({"adapter": AGIEVAL, "hub": ["a/sat-en", "a/sat-math"], "split": "test"})
    assert (adapter.name, adapter.source.hub) == ("agieval", ("a/sat-en", "a/sat-math"))
    assert adapter.reader is AGIEVAL.reader


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        ({"qestion": "x"}, ("'qestion'", "'question'")),
        ({"question": 5}, ("'question' is 5", "a column", "Jinja")),
        ({"choices": ["a"]}, ("'choices' is ['a']", "a list of at least two")),
        ({"answer_from": "1"}, ("'answer_from' is '1'", "whole number")),
        ({"answer_is": "number"}, ("'answer_is' is 'number'", "'label' or 'letter'")),
        ({"repairs": ["everything"]}, ("'repairs'", "'ligatures'")),
        ({"keep": "ok"}, ("'keep' is 'ok'", "column")),
        ({"shuffle": "yes"}, ("'shuffle' is 'yes'", "true or false")),
        *(({"options": [4]}, ("'options' is [4]",)), ({"adapter": "agieval"}, ("'adapter' is 'agieval'",))),
        ({"data_files": "my.jsonl"}, ("'hub'", "'data_files'")),
        ({"answer": "key", "answer_is": "first"}, ("'first'", "'answer'")),
        ({"answer_from": 1, "answer_is": "letter"}, ("'answer_from'", "'letter'")),
        ({"question": "{{ riddle"}, ("riddles", "template", "{{ riddle")),
    ],
)
def test_a_wrong_key_says_what_was_expected(keys, parts):
    with pytest.raises(UserError) as error:
        declared({**ON_THE_HUB, **keys})
    assert tells(str(error.value), *parts)


@pytest.mark.parametrize("given", ["somebody/riddles", None, {"hub": "somebody/riddles"}])
def test_a_declaration_needs_keys_and_one_source(given):
    with pytest.raises(UserError, match=r"'hub' (and 'question', got|is set, but 'split' is missing)"):
        declared(given)
    with pytest.raises(UserError, match="'hub' and 'data_files'"):
        benchmark("local", {"hub": ("a/b",), "split": "test"}, ("my.jsonl",))


def test_a_user_gives_the_same_keys():
    options = Options.from_metadata("cora_hub", {**ON_THE_HUB, "seed": 3, "choices": ["a", "b"]})
    assert (options.declared["hub"], options.declared["choices"]) == (("somebody/riddles",), ("a", "b"))
    assert options.changed() == {"seed": 3}
    assert Options.names() >= set(KEYS)
    with pytest.raises(UserError, match="cora_hub: option 'choices' is 5, expected a column"):
        Options.from_metadata("cora_hub", {"choices": 5})


def test_what_can_be_changed_of_a_benchmark_of_the_package():
    for key in ("question", "hub", "split", "config"):
        with pytest.raises(UserError, match=f"'{key}'.* medqa .*cora_local.*cora_hub"):
            benchmark("medqa", {key: "x"})
    assert benchmark("medqa", {"revision": "abc"}).source.revision == "abc"
    assert benchmark("medqa", None, ("my.jsonl",)).name == "medqa"  # a copy of a published benchmark
    assert benchmark("mmlu_redux", {"config": ("anatomy",)}).source.config == ("anatomy",)
    assert len(benchmark("mmlu_redux").source.config) == 57
    with pytest.raises(UserError, match=r"mmlu_redux has no configuration 'anatomi'\. Did you mean 'anatomy'"):
        benchmark("mmlu_redux", {"config": ("anatomi",)})


def test_a_language_is_chosen_and_brings_its_text():
    german = benchmark("global_mmlu", {"config": ("de",)})
    assert (german.name, german.source.config) == ("global_mmlu_de", ("de",))
    assert german.nota_text == "Keine der oben genannten Antworten"
    for several in ({}, {"config": ("de", "fr")}):
        with pytest.raises(UserError) as error:
            benchmark("global_mmlu", several)
        assert tells(str(error.value), "global_mmlu", "am, ar, bn", """--metadata '{"cora": {"config": "am"}}'""")
    with pytest.raises(UserError, match="no configuration 'xx'"):
        benchmark("global_mmlu", {"config": ("xx",)})


def test_a_file_named_like_a_task_is_named_in_the_signature():
    assert Data("order").in_signature("cora_local_order") == {"benchmark": "order"}
