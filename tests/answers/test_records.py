"""Both readers of every format on 30,000 random responses. CORA_FUZZ sets another number."""

from __future__ import annotations

import os
import random
from itertools import islice
from typing import Any

import pytest

from lm_eval_cora.answers.formats import FORMATS
from lm_eval_cora.answers.records import read_response
from tests.support.responses import made_up

RESPONSES = int(os.environ.get("CORA_FUZZ", "30000"))
CHOICES = (
    ["Ice", "Fog", "Dew", "Steam"],
    ["1", "2", "12", "-2", "1,000"],
    ["True, False", "False, True", "True, True", "None of the above"],
    ["a cat", "A cat and a dog", "A", "I", "yes", "no", "not a cat", "all of the above", "B", "(?P<a>"],
)


def doc_of(ask: str, choices: list[str]) -> dict[str, Any]:
    chosen = {"boxed": [], "yes_no": choices[:1]}.get(ask, choices)
    source = {"question_id": "q", "kind": "x", "ordinal": 0, "original": False, "variants": 1, "category": ""}
    return {**source, "ask": ask, "printed": list(range(len(chosen))), "choices": chosen, "answer": 0}


@pytest.mark.parametrize("ask", FORMATS)
def test_every_response_has_an_answer_or_a_reason(ask: str) -> None:
    for seed, choices in enumerate(CHOICES):
        doc = doc_of(ask, choices)
        responses = made_up(random.Random(f"{ask} {seed}"), choices)
        # A fifth of them are duplicates. `dict.fromkeys` removes them and keeps the same order in every run.
        for response in dict.fromkeys(islice(responses, RESPONSES // len(CHOICES) // len(FORMATS))):
            record = read_response(doc, [response])
            assert record.invalid is (record.reason is not None), response
            assert record.picked is None or record.picked in doc["printed"], response
            assert not record.invalid or response.startswith(record.excerpt), response
            strict = read_response(doc, [response], reader="strict")
            assert record.followed is strict.followed is not strict.invalid, response
