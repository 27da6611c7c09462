"""Whether two runs can be compared question by question: a list of checks that they were asked the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.messages import first_few
from lm_eval_cora.questions.question import shorten
from lm_eval_cora.runs.collected import Collected
from lm_eval_cora.runs.files import part_of, sent_with
from lm_eval_cora.runs.model_run import ADDRESS, Documents, Run, Runs
from lm_eval_cora.runs.samples import Samples
from lm_eval_cora.runs.signature import how_asked, signature_parts

T = TypeVar("T")
Check = Callable[[Run, Run], str]
"""The reason why two runs cannot be compared; empty if the check finds none. The checks before it have found none."""

_FORMS = {"generate": "written", "loglikelihood": "scored"}


def not_comparable(before: Run, after: Run) -> str:
    """Reason why two runs of a task cannot be compared; empty if they can."""
    kind = type(before.scores or before.source)
    if kind is not type(after.scores or after.source):
        which = "first" if before.collected else "second"
        return f"the {which} is a file of answers, the other is a run of the harness. Compare two of a kind"
    return _first_reason(CHECKS[kind], before, after)


def _first_reason(checks: Iterable[Callable[[T, T], str]], one: T, other: T) -> str:
    return next(filter(None, (check(one, other) for check in checks)), "")


# ---- runs of our tasks
def _data(before: Run, after: Run) -> str:
    if not before.data.differs_from(after.data):
        return ""
    return (
        f"they ran on different questions: {before.data} in the first, {after.data} in the second. Run "
        "both on the same file or data set"
    )


def _stopped(before: Run, after: Run) -> str:
    stopped = [which for which, run in (("first", before), ("second", after)) if run.is_stopped]
    if not stopped:
        return ""
    return (
        f"--until ended the {' and the '.join(stopped)} because of its answers. Run both without it, or compare it "
        "with a whole run: lm-eval-cora gate RUN --baseline WHOLE --no-worse METRIC:MARGIN"
    )


def _settings(before: Run, after: Run) -> str:
    if not (before.signature and after.signature):
        return ""
    same_data = bool(before.data.digest and after.data.digest)
    asked, also = (how_asked(run.signature, known_data=same_data) for run in (before, after))
    differing = differences_between(asked, also, show=str)
    return f"their settings differ: {'; '.join(differing)}" if differing else ""


def _reader(before: Run, after: Run) -> str:
    if not (before.reader and after.reader) or before.reader == after.reader:
        return ""
    return (
        f"the {before.reader} reader read the responses of the first, the {after.reader} reader those of "
        f"the second. Use one reader for both: --reader {before.reader}, or --reader {after.reader}"
    )


def _form(before: Run, after: Run) -> str:
    if not (before.form and after.form) or before.form == after.form:
        return ""
    return f"the first has {_FORMS[before.form]} answers, the second has {_FORMS[after.form]} answers"


def _questions(before: Run, after: Run) -> str:
    only = only_in_one(before.ids, after.ids, "questions")
    parts = signature_parts(before.signature).keys() | signature_parts(after.signature).keys()
    ended = " A budget ends each run at another question." if "budget" in parts else ""
    return only and f"{only}.{ended} Run both on the same questions (option 'questions' or 'categories')"


def _passages(before: Run, after: Run) -> str:
    if before.table.clusters == after.table.clusters:
        return ""
    return (
        "their questions share different passages. Run both with the same option 'cluster' and the same "
        "version of the task"
    )


def _repeats(before: Run, after: Run) -> str:
    """The majority and the share right in all depend on the number of answers."""
    if not (before.table.repeats and after.table.repeats):
        return ""
    first, second = before.table.repeats.sizes, after.table.repeats.sizes
    if np.array_equal(first, second):
        return ""
    return (
        f"the first has {first.sum():,} answers to originals and their repeats, the second {second.sum():,}. "
        "Run both with the same option 'repeats'"
    )


def _variants(before: Run, after: Run) -> str:
    remedy = "The runs have different seeds, different options or different versions of the task"
    return _unlike(before, after, 0, f"variants differ ({{}}). {remedy}")


def _prompts(before: Run, after: Run) -> str:
    if before.signature and after.signature:  # they tell whether the prompts differ by more than a chat template
        return ""
    remedy = (
        "Only the results files of both runs can show whether the chat template or the exemplars differ. Put each "
        "results_<date>.json beside its samples"
    )
    return _unlike(before, after, 1, f"prompts differ ({{}}). {remedy}")


def _unlike(before: Run, after: Run, place: int, reason: str) -> str:
    """The reason if variants have different digests: those of the variants, or those of their prompts."""
    both = [(run, cast("Samples", run.source).digests_of(run.rows)[place]) for run in (before, after)]
    (_, one), (_, other) = both
    if np.array_equal(before.table.sizes, after.table.sizes) and np.array_equal(one, other):
        return ""
    found: set[tuple[str, int, bytes]] = set()
    for run, digests in both:
        sizes = zip(run.table.question_ids, run.table.sizes.tolist(), strict=True)
        variants = ((question, ordinal) for question, size in sizes for ordinal in range(size))
        found ^= {(*variant, digest) for variant, digest in zip(variants, digests, strict=True)}
    unlike = sorted({(question, ordinal) for question, ordinal, _ in found})
    most = int(np.maximum(before.table.sizes, after.table.sizes).sum())
    named = first_few([f"{question} variant {ordinal}" for question, ordinal in unlike])
    return f"{len(unlike):,} of {most:,} {reason.format(named)}" if unlike else ""


# ---- files of answers, and logs of other programs
def _same_ids(one: Collected, other: Collected) -> str:
    only = only_in_one([*one.questions], [*other.questions], "questions")
    return only and f"{only}. Give both the same questions"


def _same_columns(one: Collected, other: Collected) -> str:
    only = only_in_one(one.described, other.described, "columns that every row has")
    return only and f"{only}, so it is unknown whether both were asked the same. Give both the same columns"


def _same_variants(one: Collected, other: Collected) -> str:
    asked, also = one.asked(), other.asked()
    unlike = [repr(question) for question in asked if asked[question] != also[question]]
    columns = ", ".join(map(repr, ("variant", *one.described)))
    told = f"questions were asked differently ({first_few(unlike)}): the columns {columns} must be equal in both"
    return f"{len(unlike):,} of {len(asked):,} {told}" if unlike else ""


def _same_skipped(one: Collected, other: Collected) -> str:
    skipped = sorted({*one.table.question_ids} ^ {*other.table.question_ids})
    told = f"questions were skipped ({first_few(map(repr, skipped))}). Give answers to the same questions"
    return f"in one of the two all variants of {len(skipped):,} of {len(one.questions):,} {told}" if skipped else ""


def answers_differ(one: Collected, other: Collected) -> str:
    """Reason why the answers of two files cannot be compared; empty if they can."""
    return _first_reason((_same_ids, _same_columns, _same_variants, _same_skipped), one, other)


def _of_files(before: Run, after: Run) -> str:
    return answers_differ(cast("Collected", before.source), cast("Collected", after.source))


# ---- runs of other tasks of the harness, document by document
_ASKED = (
    *("output_type", "doc_to_text", "doc_to_target", "doc_to_choice", "description", "target_delimiter"),
    *("fewshot_delimiter", "gen_prefix", "filter_list", "process_results", "repeats"),
)
"""Keys of a task's configuration that change what a document asks or how its answer is scored."""


def configuration(run: Run) -> dict[str, Any]:
    """What a task of the harness asked and how it scored the answers; empty without a results file."""
    if not run.results:
        return {}
    shots = part_of(run.results, "n-shot").get(run.name, run.config.get("num_fewshot"))
    asked = {name: run.config.get(name) for name in _ASKED}
    # An empty text means the same as a missing one.
    texts = {name: ADDRESS.sub("", value) or None for name, value in asked.items() if isinstance(value, str)}
    return {"version": part_of(run.results, "versions").get(run.name), "num_fewshot": shots, **asked, **texts}


def _same_task(before: Run, after: Run) -> str:
    if (before.name, before.filter) == (after.name, after.filter):
        return ""
    first, second = (f"{run.name} with the filter {run.filter!r}" for run in (before, after))
    return f"the first is {first}, the second is {second}"


def _same_configuration(before: Run, after: Run) -> str:
    if not (before.results and after.results):
        return ""
    differing = differences_between(configuration(before), configuration(after))
    return f"their settings differ: {'; '.join(differing)}" if differing else ""


def _same_documents(before: Run, after: Run) -> str:
    only = only_in_one(before.ids, after.ids, "documents")
    limit, other_limit = (part_of(run.results, "config").get("limit") for run in (before, after))
    limited = f" --limit is {limit} in the first, {other_limit} in the second." if limit != other_limit else ""
    return only and f"{only}.{limited} Run both on the same documents"


def _same_content(before: Run, after: Run) -> str:
    if unlike := _unlike_documents(before, after, 0):
        return f"{unlike.format('documents')}. Run both on the same version of the task and its data"
    unlike = _unlike_documents(before, after, 1)
    return unlike and f"the targets of {unlike.format('documents')}"


def _same_prompts(before: Run, after: Run) -> str:
    unlike = _unlike_documents(before, after, 2).format("prompts")
    if not unlike:
        return ""
    if not (before.results and after.results):
        return (
            f"{unlike}. Only the results files of both runs can show why. Put each results_<date>.json beside its "
            "samples"
        )
    seeds = [part_of(run.results, "config").get("fewshot_seed") for run in (before, after)]
    if configuration(before)["num_fewshot"] and seeds[0] != seeds[1]:
        drawn = f"fewshot_seed, which draws the exemplars, is {seeds[0]} in the first, {seeds[1]} in the second"
        return f"{unlike}: {drawn}"
    # Some chat templates contain the date, and options of the model can change what a template writes.
    sent, also_sent = (sent_with(run.results, run.name) for run in (before, after))
    has_template = sent["chat_template_sha"] or also_sent["chat_template_sha"]
    is_same = sent["system_instruction"] == also_sent["system_instruction"]
    return f"{unlike}, although the settings are the same" if is_same and not has_template else ""


def _unlike_documents(before: Run, after: Run, part: int) -> str:
    """Say how many documents have different hashes of the document, of its target or of its prompt."""
    one, other = (cast("Documents", run.scores).hashes for run in (before, after))
    unlike = [key for key in one if one[key][part] != other[key][part]]
    return f"{len(unlike):,} of {len(one):,} {{}} differ ({first_few(unlike)})" if unlike else ""


CHECKS: Mapping[type, Sequence[Check]] = {
    Samples: (_data, _stopped, _settings, _reader, _form, _questions, _passages, _repeats, _variants, _prompts),
    Collected: (_of_files,),
    Documents: (_same_task, _same_configuration, _same_documents, _same_content, _same_prompts),
}
"""The checks of two runs that have the same kind of source, in this order."""


def differences_between(
    one: Mapping[str, Any], other: Mapping[str, Any], show: Callable[[Any], str] = repr
) -> list[str]:
    """The settings that differ between two runs, as text."""
    reasons = []
    for name in dict.fromkeys((*one, *other)):
        if one.get(name) != other.get(name):
            first, second = (shorten(show(run[name]), 90) if name in run else "not given" for run in (one, other))
            differ = f"{name} is {first} in the first, {second} in the second"
            reasons.append(differ if first != second else f"{name} differs")
    return reasons


def only_in_one(before: Sequence[Any], after: Sequence[Any], what: str) -> str:
    """Say how many ids only one of two runs has; empty if both have the same."""
    reasons = []
    for which, ids, others in (("first", before, after), ("second", after, before)):
        if only := sorted(set(ids) - set(others)):
            reasons.append(f"{len(only):,} of {len(ids):,} {what} are only in the {which} ({first_few(only)})")
    return "; ".join(reasons)


def setting_differences(before: Run, after: Run) -> list[str]:
    """Differences in generation and prompt settings; such runs can still be compared."""
    if not before.results or not after.results:
        return []
    one, other = (sent_with(run.results, run.name) for run in (before, after))
    if one["chat_template_sha"] and other["chat_template_sha"]:  # two models usually have different chat templates
        other["chat_template_sha"] = one["chat_template_sha"]
    return differences_between(one, other)


# What may differ on a board. A digest identifies files.
_MAY_DIFFER = ("asked", "invalid", "math-verify", "data_files")


def unlike_board(run: Run, board: Runs) -> str:
    """How a run was asked otherwise than the most similar run of a board; empty if it was asked as that."""
    if not board:
        return f"no other run of {run.name} is on the board"
    own = _told(run)
    fewest = min((differences_between(_whole(_told(other), own), own, show=str) for other in board), key=len)
    return f"unlike the most similar run of the board, the first: {'; '.join(fewest)}" if fewest else ""


def _whole(told: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What a shard of a board would say as a part of its whole run, whose number of answers is not known here."""
    is_part = "shard" in told
    return {name: own.get("n") if is_part and name == "n" else told[name] for name in told if name != "shard"}


def _told(run: Run) -> dict[str, Any]:
    """What the results file says about the questions and how they were asked, and the version of the package."""
    known = {
        "configured probe": run.config.get("probe"),
        "configured shots": run.config.get("num_fewshot"),
        "digest": run.data.digest,
        "lm-eval-cora": run.signature.rpartition("|")[2],
    }
    every = {**configuration(run), **known, **signature_parts(run.signature)}
    return {name: value for name, value in every.items() if name not in _MAY_DIFFER}


# Ways in which the data of two runs of a task can match, the strictest first.
_MATCHES: tuple[Callable[[Data, Data], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: bool(one.digest) and one.digest == other.digest,  # the same questions in a renamed file
    lambda one, other: not (one.digest and other.digest),
)


def pairs_of(before: Runs, after: Runs) -> list[tuple[Run, Run]]:
    """Pairs of runs of the same task and filter, those with the same data first.

    Two single runs of a task on different questions are a pair, too: `not_comparable` then names both data sets.
    """

    def of_task(run: Run, runs: Runs) -> list[Run]:
        same = [other for other in runs if _called(other) == _called(run)]
        return same or [other for other in runs if run.collected and other.data == run.data]  # logs of any name

    pairs: dict[Run, Run] = {}
    for matches in _MATCHES:
        for run in before:
            free = [o for o in of_task(run, after) if o not in pairs.values() and matches(run.data, o.data)]
            if run not in pairs and free:
                pairs[run] = free[0]
    for run in before:
        if run not in pairs and len(of_task(run, before)) == len(others := of_task(run, after)) == 1:
            pairs[run] = others[0]
    return [(run, pairs[run]) for run in before if run in pairs]


def _called(run: Run) -> tuple[str, str, str]:
    """What the runs of a task have in common; other tasks of the harness may have any filters."""
    return run.units, run.name, run.filter if run.scores else run.part
