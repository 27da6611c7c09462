"""The functions of the Python API: scores of answers, prompts, responses and runs; reports and records of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from os import PathLike, sep
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from lm_eval_cora.answers import Reader
from lm_eval_cora.answers.records import read_response, skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.packed import PackedRecords
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.loading import load_questions
from lm_eval_cora.questions.messages import did_you_mean, first_few
from lm_eval_cora.questions.options import Options
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs import collected, grouping
from lm_eval_cora.runs.answer_columns import COLUMNS
from lm_eval_cora.runs.model_run import Run
from lm_eval_cora.runs.samples import ResultsFolder, Samples, probe_of
from lm_eval_cora.runs.task_files import applicable_metrics, benchmark
from lm_eval_cora.scores import Scores
from lm_eval_cora.variants.probes import PROBES, variants_of_all
from lm_eval_cora.variants.variant import Variant
from lm_eval_cora.writing import check_file, write_file

if TYPE_CHECKING:
    from lm_eval_cora.export.every_eval_ever import Relationship


def score(data: Any, **columns: str | Sequence[str] | None) -> Scores:
    """Compute the metrics of answers or responses that you collected yourself.

    The data have one row for each variant of a question. A column needs no argument if it has one of the names below,
    in any case (or the name `question_id`, `ordinal` or `choices`). Needed are `question`, `variant` unless each
    question has one row, its original, and one of three: `correct`; `picked` and `answer`; or `response` and `answer`
    with the options. Responses are read as those of the tasks are, see `read_answer`.

    Args:
        data: A pandas DataFrame, a `datasets.Dataset`, a list of dicts, or the path of a json, jsonl, csv, tsv or
            parquet file.
        **columns: The names of your columns, each under one of the names below.

    Columns:
        question: The id of the question.
        variant: The number or name of the variant, different for each variant of a question. Without a column `kind`,
            names that the questions share, such as `original` and `shuffled`, are also the kinds: at most 60 names, not
            all of them numbers, each in two rows on average.
        correct: Whether the answer is right: True or False, yes or no, 1 or 0. A missing value is a skipped variant,
            one that was not asked.
        original: Whether the variant is the question as in its benchmark. `cora`, `ci` and `mcqa` need it. Without this
            column, the kind or else the variant with the name `original` is the original.
        picked: The option that the answer picks: its text or id, not its letter. A missing or empty value is an invalid
            answer. The agreement metrics, such as `consistency_rate`, and `invalid` need it.
        answer: The right option: its text or id, as in `picked`.
        printed: The list of all options that the variant prints. If an answered variant of a question lacks it, all
            variants of the question count as printing the same options.
        kind: The kind of variant, such as `shuffled`. `acc_min` and `acc_max` need kinds.
        category: The category of the question. `macro_acc` needs it.
        cluster: What the question shares with others, such as a passage or a patient. All errors, intervals and tests
            then count clusters instead of questions. Values do not change. A missing value is a cluster of its own.
        followed: Whether the response is in the requested format. The metric `followed` needs it.
        reader: The name of the reader that read the response. It is shown as a note. With responses `flexible` (the
            default) or `strict` instead of a column.
        response: What the model wrote. It is read if there is neither `correct` nor `picked`. `answer` may then also be
            the letter or the index of the right option. An empty text is an invalid answer, a missing value a skipped
            variant.
        prompt: The prompt, if the options stand only there, such as "A. Ice".
        labels: The list of the printed labels of the options if they are not A, B, C, such as 1, 2, 3. Without this
            column they are read from `prompt`.
        cut_off: Whether the token limit ended the response. It then counts only with a complete answer.
        came: What came instead of a response, such as a timeout: why the answer is invalid.
        own: The score from 0 to 1 that another program gave the answer. `own_score`, `unrecognised` and `only_own`
            compare it with ours.
        confidence: The confidence of the answer, from 0 to 1, for `auroc`, `rms_ece` and the like.
        model: The name of the model. Pass the rows of one model; `read_runs` reads a file of several.
        options: The same as `printed`. With responses it may be a list of columns, one per option; `A`, `B`, ... and
            `option_a`, `option_b`, ... are found without it.

    Returns:
        The metrics. Those that the columns do not define are nan, and `undefined` gives the reasons.

    Raises:
        UserError: If the data cannot be read, a column is missing, or a value is wrong. The message names the row.

    Example:
        >>> rows = [
        ...     {"id": "q1", "variant": "original", "ok": True, "is_original": True},
        ...     {"id": "q1", "variant": "shuffled", "ok": True, "is_original": False},
        ...     {"id": "q2", "variant": "original", "ok": True, "is_original": True},
        ...     {"id": "q2", "variant": "shuffled", "ok": False, "is_original": False},
        ... ]
        >>> scores = score(rows, question="id", correct="ok", original="is_original")
        >>> scores["mcqa"].value, scores["ci"].value, scores["cora"].value
        (1.0, 0.5, 0.5)
    """
    options = columns.pop("options", None)
    for name in columns:
        if name not in COLUMNS:
            meant = did_you_mean(name, COLUMNS) or f" The columns are {', '.join(COLUMNS)}"
            raise UserError(f"score: unknown column {name!r}.{meant}")
    columns["printed"] = columns.get("printed") or options
    models = collected.read_answers(data, columns)
    if len(models) > 1:
        raise UserError(f"score: expected the rows of one model, got {len(models)}: {first_few(models)}")
    return scores_of(*models.values())


def scores_of(rows: collected.Collected) -> Scores:
    """The scores of answers in a table or file; see `score`."""
    entries, reasons = collected.entries_of(rows.table), collected.undefined_metrics(rows.table, rows.known)
    return Scores(rows.table, entries, reasons, notes=collected.notes_of(rows), rows=rows)


def expand(questions: Any = None, /, probe: str = "divergent", **options: Any) -> list[Variant]:
    r"""Make the variants of questions, with prompts that you send to a model yourself.

    The variants are the same as in the task `cora_local` with the same data, options and seed. Equal arguments give
    equal variants, so you can call this function again instead of storing them. Pass the variants and the model's
    responses to `read`.

    Args:
        questions: A path (json, jsonl, csv, tsv or parquet), a pandas DataFrame, a `datasets.Dataset` or a list of
            dicts. The columns `question`, `choices` and `answer` are found under these and other common names. None if
            the option `hub` names a dataset.
        probe: `divergent`, `plus`, `revas`, `prompts`, `order`, `sampling`, `labels`, `choices_only` or
            `abstain`.
        **options: The options of `--metadata '{"cora": {...}}'`. For example: `seed`, `nota_text` and `orders`; the
            names of your columns, as `question`, `choices`, `answer`, `id`, `category` and `cluster`; `questions`, the
            size of a random sample; `hub` and `split` for a dataset on the Hub.

    Returns:
        The variants; those of one question are consecutive. `variant.prompt` is the text to send.

    Raises:
        UserError: If the probe or an option is unknown or wrong, or a question (the message names its row).

    Example:
        >>> rows = [{"question": "What is frozen water?", "choices": ["Ice", "Fog", "Steam"], "answer": "Ice"}]
        >>> variants = expand(rows)
        >>> len(variants), variants[0].kind, variants[2].choices
        (14, 'original', ('Ice', 'None of the above', 'Steam'))
        >>> print(variants[0].prompt.partition("\n\n")[2])
        Question: What is frozen water?
        Choices:
        A. Ice
        B. Fog
        C. Steam
        Answer:
    """
    if not isinstance(probe, str) or probe not in PROBES:
        meant = did_you_mean(str(probe), PROBES)
        raise UserError(f"expand: probe: expected one of {', '.join(PROBES)}, got {probe!r}.{meant}")
    chosen = Options.from_metadata("expand", options)
    if questions is not None:
        if "data_files" in options:
            raise UserError("expand: expected one source, got questions and data_files. Remove one of them")
        chosen = replace(chosen, data_files=(questions,))
    elif not options.keys() & {"hub", "data_files"}:
        raise UserError("expand: expected questions, or a dataset on the Hub: expand(hub='ORG/NAME', split='test')")
    try:
        source = benchmark("local", chosen.declared, chosen.data_files)
        found, *_ = load_questions(source, chosen, PROBES[probe].leaves_out)
    except UserError as error:
        raise UserError(str(error).removeprefix("data_files: ")) from None
    return variants_of_all(found, PROBES[probe], chosen)


def read(variants: Sequence[Variant], responses: Iterable[str | None], *, reader: Reader = "flexible") -> Scores:
    """Read a model's responses to variants, and compute the metrics.

    Args:
        variants: The variants whose prompts you sent, as returned by `expand`.
        responses: The response to each variant, in the same order. None is a skipped variant.
        reader: `flexible` finds the answer anywhere in the response. `strict` follows the rules of the papers.

    Returns:
        The metrics of the probe. A note says how many questions are left out because variants are missing or skipped.

    Raises:
        UserError: If the numbers of variants and responses differ, a variant comes twice, or a type is wrong.

    Example:
        >>> from lm_eval_cora import expand
        >>> variants = expand([{"question": "What is frozen water?", "choices": ["Ice", "Fog"], "answer": "Ice"}])
        >>> scores = read(variants, ["A"] * len(variants))
        >>> scores["mcqa"].value, scores["acc"].value
        (1.0, 0.5)
    """
    _check("read", "reader", reader, Reader)
    if isinstance(responses, str) or not isinstance(responses, Iterable):
        raise UserError(f"read: responses: expected a list of texts, got {type(responses).__name__}")
    for place, got in enumerate(type(variant) for variant in variants):
        if not issubclass(got, Variant):
            raise UserError(f"read: variant {place}: expected a Variant as `expand` returns it, got {got.__name__}")
    docs, texts = [vars(variant) for variant in variants], list(responses)
    if len(docs) != len(texts):
        raise UserError(
            f"read: expected one response per variant, got {len(texts):,} for {len(docs):,} variants. Pass "
            "None for a variant that you skipped"
        )
    for place, text in enumerate(texts):
        if text is not None and not isinstance(text, str):
            raise UserError(f"read: response {place}: expected text, or None if skipped, got {type(text).__name__}")
    pairs = zip(docs, texts, strict=True)
    records = [skipped(doc) if text is None else read_response(doc, [text], reader=reader) for doc, text in pairs]
    packed = PackedRecords(records)
    table, _ = ResponseTable.from_packed(packed)
    if table.duplicates:
        raise UserError(
            f"read: expected each variant once, got {table.duplicates:,} a second time. Read different probes, "
            "or several responses to a prompt, separately"
        )
    entries = applicable_metrics(probe_of({}, packed), table, "generate")
    asked = sorted((one.question_id, one.ordinal, one.kind, one.prompt, one.answer) for one in variants)
    return Scores(table, entries, notes=collected.left_out(table), asked=sha256(repr(asked).encode()).hexdigest())


Source = str | PathLike[str] | Mapping[str, Any]
"""A path, or what `lm_eval.simple_evaluate` returns."""


def read_runs(*runs: Source | Sequence[Source], reader: Reader | None = None) -> list[Scores]:
    """Read runs of the harness: the files of `--output_path` with `--log_samples`, or the results of `simple_evaluate`.

    Files of answers that were collected without the harness are read, too, with the usual names of columns (see
    `score`).

    Args:
        *runs: Folders, searched with all their subfolders, samples files, files of answers, dicts that
            `lm_eval.simple_evaluate` returns, or lists of these. The model of a dict is named in its `model_args`. Set
            `results["model_name"]` to change the name.
        reader: How written answers are read: `flexible` or `strict`. None keeps the reader of each run.

    Returns:
        The scores of each model and task. The name consists of both. The notes list what was left out or merged.

    Raises:
        UserError: If a path does not exist, has no samples of these tasks, or cannot be read.

    Example:
        >>> read_runs("no/such/folder")
        Traceback (most recent call last):
        ...
        lm_eval_cora.errors.UserError: no/such/folder: there is no such file or folder
    """
    if reader is not None:
        _check("read_runs", "reader", reader, Reader)
    given: list[Any] = [source for run in runs for source in (run if isinstance(run, list | tuple) else [run])]
    if not given or not all(isinstance(source, (str, PathLike, Mapping)) for source in given):
        raise UserError(f"read_runs: expected folders, files or results of simple_evaluate, got {shorten(repr(runs))}")
    folder = ResultsFolder() if any(isinstance(source, Mapping) for source in given) else None
    paths: list[Path] = [folder.add(one) if folder and isinstance(one, Mapping) else Path(one) for one in given]
    scores = []
    for run in grouping.read_runs(paths, reader=reader):
        if folder and isinstance(run.source, Samples):
            run.source.folder = (folder, run.source.folder)
            run = replace(run, model=run.model.replace(f"{folder.path}{sep}", ""))
        scores.append(Scores(run.table, run.entries, notes=run.warnings, run=run))
    return scores


def write_report(
    scores: Scores | Iterable[Scores], output: str | PathLike[str], *, title: str = "Consistency of the answers"
) -> Path:
    """Write the report of runs, as `lm-eval-cora report` does.

    Args:
        scores: The scores of one or more runs, from one call of `read_runs`. The report shows the models of a task side
            by side.
        output: The file: a page with charts (`.html`) or its tables as text (`.md`). The page needs matplotlib:
            `pip install 'lm-eval-cora[report]'`.
        title: Title of the report.

    Returns:
        The file.

    Raises:
        UserError: If the scores are not from `read_runs`, the file cannot be written, or matplotlib is not installed.
    """
    from lm_eval_cora.renderers.markdown import as_markdown  # the report is slow to import
    from lm_eval_cora.renderers.page import render
    from lm_eval_cora.report.sections import make_report

    path, runs = Path(output), _runs_of("write_report", scores)
    check_file(path, "write_report: output", (".html", ".htm", ".md"))
    report = make_report(runs, title)
    write_file(path, as_markdown(report) if path.suffix.lower() == ".md" else render(report))
    return path


def write_records(
    scores: Scores | Iterable[Scores],
    folder: str | PathLike[str],
    *,
    organization: str = "",
    relationship: Relationship = "other",
) -> list[Path]:
    """Write records of Every Eval Ever, as `lm-eval-cora export --format every-eval-ever` does.

    Args:
        scores: The scores of one or more runs, from one call of `read_runs`.
        folder: The folder in which to create `data`.
        organization: Name of who evaluated the models; empty if unknown.
        relationship: Relationship of the organization to the makers of the models: `first_party`, `third_party`,
            `collaborative` or `other`.

    Returns:
        The files: for each model the record, then a file with a row per variant.

    Raises:
        UserError: If the scores are not from `read_runs`, `relationship` has another value, or writing a file fails.
    """
    from lm_eval_cora.export.every_eval_ever import Relationship, write_every_eval_ever

    _check("write_records", "relationship", relationship, Relationship)
    return write_every_eval_ever(_runs_of("write_records", scores), Path(folder), organization, relationship)


def _runs_of(function: str, scores: Scores | Iterable[Scores]) -> list[Run]:
    """The runs of scores, each model and task once."""
    several = [scores] if isinstance(scores, Scores) else list(scores)
    runs = [one._run for one in several if isinstance(one, Scores) and one._run is not None]
    if not runs or len(runs) < len(several):
        raise UserError(
            f"{function}: expected scores that read_runs returns, got {len(several) - len(runs)} others of "
            f"{len(several)}. Pass results of simple_evaluate to read_runs. Save other answers to a file with the "
            "columns of `score`, and pass the file to read_runs"
        )
    (run, count), *_ = Counter((run.model, run.task) for run in runs).most_common(1)
    if count > 1:
        raise UserError(
            f"{function}: expected each model and task once, got {', '.join(run)} {count} times. Read all runs "
            "in one call of read_runs, which gives them different names"
        )
    return runs


def _check(function: str, argument: str, value: object, allowed: Any) -> None:
    if value not in get_args(allowed):
        expected = " or ".join(map(repr, get_args(allowed)))
        raise UserError(f"{function}: {argument}: expected {expected}, got {value!r}")
