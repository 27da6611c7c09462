"""The cache of answers: what is kept, what is asked again, and the number of requests per call."""

import pickle
from contextlib import closing
from math import nan
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from filelock import FileLock
from lm_eval.api.instance import Instance
from lm_eval.api.model import CachingLM

from lm_eval_cora.answers.records import Response
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.answer_cache import AnswerCache, cache_file, key_for, open_cache
from lm_eval_cora.harness.served import NoAnswer
from tests.support.messages import tells
from tests.support.served import hostile
from tests.support.simulated import Simulated

PLACE = {"task_name": "", "doc_id": 0, "idx": 0}


def requests(count, **settings):
    given = {"until": [], "max_gen_toks": 8, **settings}
    return [Instance("generate_until", {"number": n}, (f"prompt {n}", given), **PLACE) for n in range(count)]


class Counting(Simulated):
    """Counts the requests of each call."""

    data_parallel_size = 1

    def __init__(self):
        super().__init__(lambda doc: f"answer {doc['number']}")

    @property
    def sizes(self):
        return [*map(len, self.calls)]


VLLM = type("VLLM", (Counting,), {})


@pytest.mark.parametrize(
    ("back_end", "replicas", "sizes"),
    [(Counting, 1, [5000]), (VLLM, 1, [2048, 2048, 904]), (VLLM, 2, [5000])],
    ids=["answers one by one", "answers at the end", "loads the model for each call"],
)
def test_a_back_end_that_answers_at_the_end_is_asked_in_parts(tmp_path, back_end, replicas, sizes):
    model = back_end()
    model.data_parallel_size = replicas
    asked = requests(5000)
    with closing(AnswerCache(model, str(tmp_path / "a.db"))) as cache:
        answers = cache.generate_until(asked)
    assert model.sizes == sizes
    assert answers == [f"answer {n}" for n in range(5000)]


@pytest.mark.parametrize("name", ["my/file", "my/file_rank0.db"])
def test_a_cache_may_be_named_as_its_file(name):
    assert [cache_file(name, rank) for rank in (0, 3)] == ["my/file_rank0.db", "my/file_rank3.db"]


def test_a_second_run_asks_for_nothing_and_the_harness_reads_the_same_file(tmp_path):
    path = str(tmp_path / "a.db")
    first = AnswerCache(Counting(), path)
    answers = first.generate_until(requests(30))
    assert first.kept == 30
    first.close()
    again = Counting()
    second = AnswerCache(again, path)
    assert second.generate_until(requests(40)) == [*answers, *(f"answer {n}" for n in range(30, 40))]
    assert again.sizes == [10]
    second.close()
    theirs = Counting()
    assert CachingLM(theirs, path).generate_until(requests(40))[:30] == answers
    assert theirs.sizes == []


@pytest.mark.parametrize("settings", [{"do_sample": True, "temperature": 0.7}, {"temperature": 0.7}], ids=str)
def test_samples_are_neither_kept_nor_read(tmp_path, settings):
    model = Counting()
    cache = AnswerCache(model, str(tmp_path / "a.db"))
    for _ in range(2):
        cache.generate_until(requests(3, **settings))
    model.cache_hook.add_partial("generate_until", requests(1, **settings)[0].args, "one")
    assert (model.sizes, cache.kept) == ([3, 3], 0)


def test_an_answer_is_kept_as_soon_as_the_back_end_has_it_unless_there_is_none(tmp_path):
    model = Counting()
    cache = AnswerCache(model, str(tmp_path / "a.db"))
    one, other, third = requests(3)
    model.cache_hook.add_partial("generate_until", one.args, "one")
    model.cache_hook.add_partial("generate_until", other.args, NoAnswer(""))
    model.cache_hook.add_partial("generate_until", third.args, "")  # an empty response, which the model would repeat
    assert cache.kept == 2
    assert cache.generate_until([one, other, third]) == ["one", "answer 1", ""]
    assert model.sizes == [1]


def test_a_full_disk_ends_no_run(tmp_path, caplog):
    cache = AnswerCache(Counting(), str(tmp_path / "a.db"))
    cache.generate_until(requests(5))
    cache._file.execute("PRAGMA max_page_count = 5")
    for _ in range(2):
        assert cache.generate_until(requests(2_000)) == [f"answer {n}" for n in range(2_000)]
    (line,) = caplog.messages
    assert line.endswith("no more answers are kept: database or disk is full. The run continues")
    kept = cache.kept
    cache.close()
    with closing(AnswerCache(Counting(), str(tmp_path / "a.db"))) as again:
        assert 5 <= again.kept == kept < 2_000


def test_a_file_that_is_damaged_or_in_use_is_left_as_it_is(tmp_path, caplog):
    cache = str(tmp_path / "a")
    (tmp_path / "a_rank0.db").write_text("a text of some length, which is not a database" * 40)
    with closing(open_cache(Counting(), cache)) as first:
        first.generate_until(requests(3))
        with closing(open_cache(Counting(), cache)) as other:
            assert [Path(each.cache_db).name for each in (first, other)] == ["a_2_rank0.db", "a_3_rank0.db"]
    with closing(open_cache(Counting(), cache)) as again:
        assert again.kept == 3
    told = "a_rank0.db: ", "not a database. This run uses", "a_2_rank0.db", "a_2_rank0.db: another run", "a_3_rank0.db"
    assert tells(caplog.text, *told)


def test_a_file_system_without_locks_is_one_error(tmp_path, caplog):
    with (
        patch.object(FileLock, "acquire", side_effect=NotImplementedError("no locks here")),
        pytest.raises(UserError, match=r"a_rank0\.db: cannot lock .*no locks here\. Use another file.*--no_cache"),
    ):
        open_cache(Counting(), str(tmp_path / "a"))
    assert caplog.messages == []


# Changes the class of the answers of servers, as pickles can.
CHANGES = pickle.dumps(Response)[:-1] + pickle.dumps((None, {"saying": "x"}))[2:-1] + b"b."


def test_only_texts_and_numbers_are_read_from_a_file_and_all_else_is_asked_again(tmp_path, caplog):
    runs, path = hostile(tmp_path / "made"), str(tmp_path / "a.db")
    others = [{"a": 1}, b"B", ["B"], 3, None, (-1.0, True), Response("B", came=("x",)), NoAnswer("")]
    rows = [runs, b"(" + runs[:-1] + b"l.", *map(pickle.dumps, others), "x", b"", CHANGES]
    every, known = requests(len(rows) + 2), Response("answer 0", cut_off=False, came="a refusal")
    with closing(AnswerCache(Counting(), path)) as cache:
        cache.lm.rule = lambda doc: known if doc["number"] == 0 else f"answer {doc['number']}"
        answers = cache.generate_until(every)
        for number, row in enumerate(rows, 2):  # the first two stay
            cache._file.execute(
                "UPDATE unnamed SET value = ? WHERE key = ?", (row, key_for("generate_until", every[number]))
            )
        assert cache.generate_until(every) == answers
        assert cache.generate_until(every[:1])[0].came == "a refusal"
        assert cache.lm.sizes == [len(every), len(rows)]
    assert (len(caplog.messages), Response("x").saying("y")) == (1, "y")
    assert not (tmp_path / "made").exists()


def test_likelihoods_are_kept_as_plain_numbers_and_the_requests_of_perplexity_tasks_are_not_kept(tmp_path):
    asked = [Instance("loglikelihood", {"number": 0}, ("Q", " A"), **PLACE)]
    with closing(AnswerCache(Counting(), str(tmp_path / "a.db"))) as cache:
        cache.lm.loglikelihood = lambda requests: [(np.float64(-1.5), np.bool_(True))]
        assert [*map(cache.loglikelihood, (asked, asked))] == [[(-1.5, True)]] * 2
        assert type(cache.loglikelihood(asked)[0][0]) is float
        cache.lm.loglikelihood_rolling = lambda requests: [-3.5]
        assert (cache.loglikelihood_rolling(asked), cache.kept) == ([-3.5], 1)
        cache.lm.loglikelihood = lambda requests: [(nan, False)]  # a server gave no score, so a later run asks again
        cache.loglikelihood([Instance("loglikelihood", {"number": 1}, ("Q", " B"), **PLACE)])
        assert cache.kept == 1
