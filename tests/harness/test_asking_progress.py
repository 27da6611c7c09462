"""The progress of a run, with a clock of the test."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_cora.harness.asking import Progress, counting, stop_early
from tests.support.simulated import Simulated, knows
from tests.support.simulated import run as run_simulated


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_is_told_once_when_enough_of_it_has_passed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "lm_eval.cora")
    clock = Clock()
    progress = Progress(1000, bar=False, clock=clock)
    for second in range(1, 31):
        clock.now = float(second)
        progress.count()
    # 20 answers in 20 seconds: the other 980 take 980 s, 16 min.
    assert caplog.messages == ["1 requests a second, about 16 min for the other 980"]
    assert (progress.answered, progress.left) == (30, 970)


def test_nothing_is_told_of_a_run_that_is_over_before(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "lm_eval.cora")
    clock = Clock()
    progress = Progress(1, bar=False, clock=clock)
    clock.now = 100.0
    progress.count()
    assert caplog.messages == []


class Hooked(Simulated):
    """Passes each answer to a cache, as the harness' back ends do."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        self.hidden = disable_tqdm
        answers = super().generate_until(requests)
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial("generate_until", request.args, answer)
        return answers


def test_a_back_end_tells_of_each_answer_and_its_own_hook_is_put_back() -> None:
    model = Hooked(knows)
    hook, progress = model.cache_hook, Progress(5, bar=False)
    with counting(model, progress):
        model.cache_hook.add_partial("generate_until", ("A", {}), "B")
    assert progress.left == 4
    assert model.cache_hook is hook


def test_one_bar_covers_all_waves(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def after(self: Progress, answered: int, left: int, settled: int, questions: int) -> None:
        shown.append((answered, left, settled, questions))

    monkeypatch.setattr(Progress, "after_a_wave", after)
    model = Hooked(lambda doc: "Z" if doc["kind"] == "original" and doc["question_id"] < "demo-0060" else knows(doc))
    run_simulated(stop_early(model, "exact"), options={"questions": 6})
    assert model.hidden, "the back end showed a bar of its own beside ours"
    answered, left, settled, questions = zip(*shown, strict=True)
    assert set(questions) == {6}
    assert answered[0] == 6
    wrong = settled[0]  # settled by their original
    assert left[0] == (6 - wrong) * 25
    assert (answered[-1], left[-1], settled[-1]) == (6 * 26 - wrong * 25, 0, 6)
    assert list(answered) == sorted(answered)
    assert list(left) == sorted(left, reverse=True)
