"""The harness' `custom_dataset` hook: load a benchmark, from the Hub or from files, as normalised questions."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import datasets

from lm_eval_cora.benchmarks import Benchmark, BenchmarkError, LocatedRow, Row, collect_questions, count_left_out
from lm_eval_cora.benchmarks.demo import DEMO, DEMO_FILE
from lm_eval_cora.benchmarks.files import read_rows
from lm_eval_cora.benchmarks.local import LOCAL
from lm_eval_cora.benchmarks.medqa import MEDQA
from lm_eval_cora.option_references import refers_to_options
from lm_eval_cora.options import OptionError, Options
from lm_eval_cora.question import Question
from lm_eval_cora.randomness import draw

# Below the harness' own logger, so that its handler and its verbosity hold for our lines too.
logger = logging.getLogger("lm_eval.cora")

BENCHMARKS = {benchmark.name: benchmark for benchmark in (DEMO, LOCAL, MEDQA)}

SPLIT = "test"
"""Name of the split that a loaded benchmark has, whatever its source calls it."""


def load_benchmark(
    *,
    options: Options,
    benchmark: str,
    hub_path: str | None = None,
    hub_config: str | None = None,
    hub_split: str | None = None,
    hub_revision: str | None = None,
) -> datasets.DatasetDict:
    """Load the questions of a benchmark.

    Args:
        options: `data_files` replaces the source; `categories`, `skip_option_references` and `questions` choose
            among its questions, in this order.
        benchmark: A name in BENCHMARKS.
        hub_path: Id of the dataset on the Hub, for a benchmark that lies there.
        hub_config: Its configuration.
        hub_split: The split that is scored.
        hub_revision: A commit or branch of it; None is the newest.

    Returns:
        One split, `test`, with a row per question: id, question, choices, answer (index), category.

    Raises:
        BenchmarkError: If the source cannot be loaded or its rows cannot be asked.
        OptionError: If a category does not exist, or no question is left.
    """
    adapter = BENCHMARKS[benchmark]
    if options.data_files and adapter is DEMO:
        raise OptionError("demo: option 'data_files': the demo has its own questions; for yours there is cora_local")
    if options.data_files:
        source = ", ".join(options.data_files)
        rows = [row for path in options.data_files for row in read_rows(path)]
    elif adapter is DEMO:
        source = "the package"
        rows = list(read_rows(DEMO_FILE))
    elif hub_path is not None and hub_split is not None:
        source = f"{hub_path} ({hub_config}, {hub_split})" if hub_config else f"{hub_path} ({hub_split})"
        rows = list(_hub_rows(adapter, hub_path, hub_config, hub_split, hub_revision))
    else:
        raise BenchmarkError(f"{benchmark}: no questions were given. {_data_files_help(adapter)}")
    # A local copy has the ids of the source: they seed the reorderings.
    questions, left_out = collect_questions(adapter, rows, id_prefix=hub_split or "row")
    if adapter.published_rows not in (None, len(rows)) and not options.data_files:
        logger.warning(
            "%s: got %d rows from %s, the published split has %d", benchmark, len(rows), source, adapter.published_rows
        )
    if left_out:
        logger.warning(
            "%s: left out %d of %d questions: %s", benchmark, len(left_out), len(rows), count_left_out(left_out)
        )
    chosen = choose_questions(questions, options, benchmark)
    logger.info("%s: %d of %d questions from %s", benchmark, len(chosen), len(rows), source)
    return datasets.DatasetDict({SPLIT: datasets.Dataset.from_list([_to_row(question) for question in chosen])})


def choose_questions(questions: list[Question], options: Options, benchmark: str) -> list[Question]:
    """Keep the questions that the options ask for, in their order.

    A sample is drawn by a hash of seed and id: it does not depend on the order of the questions, and a sample of 200
    holds the sample of 100.
    """
    if options.categories:
        known = sorted({question.category for question in questions})
        unknown = [category for category in options.categories if category not in known]
        if unknown:
            raise OptionError(
                f"{benchmark}: option 'categories': no question has the category {', '.join(map(repr, unknown))}. "
                f"The categories are: {', '.join(known) if any(known) else 'none, the source has none'}"
            )
        questions = [question for question in questions if question.category in options.categories]
    if options.skip_option_references:
        kept = [question for question in questions if not refers_to_options(question.choices)]
        logger.info("%s: skipped %d questions with option references", benchmark, len(questions) - len(kept))
        questions = kept
    if not questions:
        raise OptionError(f"{benchmark}: no question is left by the options {options.changed()}")
    if options.questions is None:
        return questions
    if options.questions > len(questions):
        logger.warning(
            "%s: option 'questions': asked for %d, there are %d: all are used",
            benchmark,
            options.questions,
            len(questions),
        )
    ranked = sorted(questions, key=lambda question: draw(2**64, options.seed, "questions", question.id))
    sample = {question.id for question in ranked[: options.questions]}
    return [question for question in questions if question.id in sample]


def to_question(row: Row) -> Question:
    """Turn a row of a loaded benchmark back into a Question."""
    return Question(row["id"], row["question"], tuple(row["choices"]), row["answer"], row["category"])


def _to_row(question: Question) -> dict[str, object]:
    return {
        "id": question.id,
        "question": question.stem,
        "choices": list(question.choices),
        "answer": question.answer,
        "category": question.category,
    }


def _hub_rows(
    benchmark: Benchmark, path: str, config: str | None, split: str, revision: str | None
) -> Iterator[LocatedRow]:
    try:
        dataset = datasets.load_dataset(path, config, split=split, revision=revision)
    except Exception as error:  # the Hub, the network and the disk fail in too many ways to name them
        asked = ", ".join(
            f"{name} {value!r}"
            for name, value in (("config", config), ("split", split), ("revision", revision))
            if value
        )
        raise BenchmarkError(
            f"{benchmark.name}: cannot load {path!r} ({asked}) from the Hugging Face Hub.\n"
            f"  {type(error).__name__}: {str(error).strip()}\n{_data_files_help(benchmark)}"
        ) from None
    for number, row in enumerate(dataset):
        yield f"row {number}", row


def _data_files_help(benchmark: Benchmark) -> str:
    example = json.dumps({"cora": {"data_files": f"{benchmark.name}.jsonl"}})
    return (
        f"Give a file of your own (jsonl, csv or parquet) with the columns {', '.join(benchmark.columns)}: "
        f"--metadata '{example}'"
    )
