"""Models with a planted prior for letters: tables of answers in cyclic orders, and a model for runs in the harness."""

import random
from math import exp, log

import numpy as np

from lm_eval_cora.answers.records import read_likelihoods
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import LETTERS, Question
from lm_eval_cora.variants.order import answer_at, order
from tests.support.simulated import Simulated

PRIOR = (0.55, 0.2, 0.15, 0.1)


def scored(name, chances, answer=0, choices=()):
    """A question in cyclic orders, with the probability of each letter in each of them; None was not scored."""
    texts = tuple(choices) or tuple(f"choice {number}" for number in range(len(chances)))
    variants = order(Question(name, "?", texts, answer), orders="cyclic")
    return [_read(variant, row) for variant, row in zip(variants, chances, strict=True)]


def _read(variant, chances):
    logs = [None if one is None else log(one) if one else -float("inf") for one in chances]
    return read_likelihoods(vars(variant), [(one, False) for one in logs])


def planted(
    rng,
    questions,
    prior=PRIOR,
    *,
    noise=0.7,
    at_first=0.0,
    varied=0.4,
):
    """Answers of a model that multiplies the probabilities of the options with its prior; its accuracy without one.

    The noise is the standard deviation of that of each log-probability, `varied` that of the logarithm of the prior
    over questions. The share `at_first` of the questions has its answer at A; the others have it anywhere.
    """
    size = len(prior)
    places = np.arange(size)
    right = np.where(rng.random(questions) < at_first, 0, rng.integers(0, size, questions))
    of_options = rng.normal(0, 1, (questions, size))
    of_options[np.arange(questions), right] += 1.2 * rng.exponential(1, questions)
    printed = (places[None, :] + places[:, None]) % size
    fair = of_options[:, printed] + rng.normal(0, noise, (questions, size, size))
    biased = fair + (np.log(prior) + rng.normal(0, varied, (questions, size)))[:, None, :]
    position = biased.argmax(axis=2)
    picked = printed[places[None, :], position]
    shape = questions * size
    table = ResponseTable.from_columns(
        [f"{number:06d}" for number in range(questions)],
        np.full(questions, size),
        (picked == right[:, None]).ravel(),
        kinds=tuple(map(answer_at, places.tolist())),
        kind=((right[:, None] - places) % size).ravel(),
        picked=picked.ravel(),
        position=position.ravel(),
        answer=np.repeat(right, size),
        options=np.full(shape, size),
        original=np.tile(places == 0, questions),
        printed=np.full(shape, 2**size - 1, dtype=np.uint64),
        likelihoods=biased.reshape(shape, size).astype(np.float32),
    )
    return table, float((fair[:, 0].argmax(axis=1) == right).mean())


class Biased(Simulated):
    """Knows some answers, and multiplies the probabilities of the letters with its prior."""

    def __init__(self, prior=(*PRIOR, 0.05)):
        super().__init__(lambda doc: "")
        self.prior = prior

    def loglikelihood(self, requests, disable_tqdm=False):
        return [(self._log(request.doc, LETTERS.index(request.args[1].strip())), False) for request in requests]

    def _log(self, doc, place):
        name, ordinal = doc["question_id"], doc["ordinal"]
        chances = [
            exp(
                random.Random(f"{name} {option}").gauss(0, 1)
                + random.Random(f"{name} {ordinal} {option}").gauss(0, 0.3)
                + 2 * (option == doc["answer"]) * (random.Random(name).random() < 0.6)
            )
            * self.prior[letter]
            for letter, option in enumerate(doc["printed"])
        ]
        return log(0.99 * chances[place] / sum(chances))
