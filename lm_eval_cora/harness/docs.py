"""From a benchmark to the harness' docs, one per variant: hooks of the task files, the docs of a run."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import ceil, inf
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import Benchmark
from lm_eval_cora.questions.loading import load_questions, questions_digest, to_row
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import AnyQuestion, Form
from lm_eval_cora.questions.randomness import draw
from lm_eval_cora.runs.files import grouped_by
from lm_eval_cora.variants.probes import Probe, variants_of_all
from lm_eval_cora.variants.prompts import PROMPTS
from lm_eval_cora.variants.template import prompt_of

SPLIT = "test"
"""Name of the only split of a loaded benchmark, independent of its name in the source."""

Doc = dict[str, Any]


# ---- questions
def load_benchmark(
    *, options: Options, benchmark: Benchmark, probe: Probe = PROMPTS
) -> tuple[list[AnyQuestion], int, str]:
    """Load the questions of a probe, the number it leaves out, and a digest of all: the harness' `custom_dataset`."""
    chosen, referring, questions = load_questions(benchmark, options, probe.leaves_out)
    return chosen, referring, questions_digest(map(to_row, questions))


# ---- docs
class Docs(list[Doc]):
    """The docs of a task. The harness reads `features`; a Dataset has it too, but copies docs in each iteration."""

    @property
    def features(self) -> Mapping[str, None]:
        """The keys of a doc."""
        return dict.fromkeys(self[0]) if self else {}


def process_docs(
    questions: Iterable[AnyQuestion],
    probe: Probe,
    options: Options | None = None,
    *,
    form: Form = "generate",
    benchmark: Benchmark | None = None,
) -> Docs:
    """Expand questions into docs, one per variant. The variants of a question are adjacent."""
    options = options or Options()
    return Docs(map(vars, variants_of_all(questions, probe, options, form=form, benchmark=benchmark)))


def doc_to_text(doc: Doc) -> str:
    """The prompt of a doc if the answer is written."""
    return prompt_of(doc)


def doc_to_scored_text(doc: Doc) -> str:
    """The prompt of a doc if answers are scored."""
    return prompt_of(doc, instruct=False)


def exemplar_to_text(doc: Doc) -> str:
    """The text of an exemplar, up to its answer."""
    text: str = doc["text"]
    return text


def doc_to_choice(doc: Doc) -> list[str]:
    """The answers to score."""
    return format_of(doc).scored(doc)


def doc_to_target(doc: Doc) -> str:
    """The right answer in the form that the prompt asks for."""
    return format_of(doc).target(doc)


# ---- the docs of a run
def chosen_docs(
    task: str,
    docs: Sequence[Doc],
    limit: float | None = None,
    samples: Sequence[int] | None = None,
) -> list[int]:
    """Select the questions that --limit and --samples ask for, over all ranks, with all their variants."""
    questions = list(dict.fromkeys(doc["question_id"] for doc in docs))
    if limit is not None and not (isinstance(limit, int | float) and 0 < limit < inf):
        shown = f"{limit:g}" if isinstance(limit, int | float) else repr(limit)
        raise UserError(
            f"{task}: --limit {shown}: expected a number of questions from 1, or a share of them between 0 and 1"
        )
    if outside := [number for number in samples or () if type(number) is not int or not 0 <= number < len(questions)]:
        raise UserError(
            f"{task}: --samples {outside[0]!r}: expected the number of a question, from 0 to {len(questions) - 1}"
        )
    count = ceil(limit * len(questions)) if limit is not None and limit < 1 else limit
    numbers = samples or range(len(questions))[: None if count is None else int(count)]
    chosen = {questions[number] for number in numbers}
    return [number for number, doc in enumerate(docs) if doc["question_id"] in chosen]


def check_processes(task: str, variants: int, processes: int) -> None:
    """Check that each process has a variant: one without would raise in the harness, while the others wait forever."""
    if processes > variants:
        raise UserError(
            f"{task}: expected at least one variant per process, got {variants} variants for {processes} processes. "
            f"Ask more questions, or start at most {variants} processes"
        )


def in_shards(costs: Mapping[str, int], count: int) -> list[set[str]]:
    """Split questions or passages into shards of about equal cost, in the same way whatever their order.

    Example:
        >>> [sorted(shard) for shard in in_shards({"a": 1, "b": 1, "c": 2}, 2)]
        [['c'], ['a', 'b']]
    """
    shards: list[set[str]] = [set() for _ in range(count)]
    filled = [(0, number) for number in range(count)]
    for unit in sorted(costs, key=lambda unit: (-costs[unit], draw(2**64, "shard", unit))):
        cost, number = heappop(filled)
        shards[number].add(unit)
        heappush(filled, (cost + costs[unit], number))
    return shards


def deal(docs: Sequence[tuple[int, Doc]], ranks: int) -> list[list[tuple[int, Doc]]]:
    """Distribute whole questions over ranks. Each question goes to the rank with the fewest docs.

    Example:
        >>> docs = [(number, {"question_id": question}) for number, question in enumerate("aabbb")]
        >>> [[number for number, _ in part] for part in deal(docs, 2)]
        [[0, 1], [2, 3, 4]]
    """
    questions = grouped_by(docs, lambda numbered: numbered[1]["question_id"])
    if len(questions) < ranks:
        return [list(docs[rank::ranks]) for rank in range(ranks)]
    parts: list[list[tuple[int, Doc]]] = [[] for _ in range(ranks)]
    for members in questions.values():
        smallest = min(parts, key=len)
        smallest += members
    return parts
