"""Answers collected without the harness: a table or file -> ResponseTable, its metrics, and the texts of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lm_eval_cora.answers.formats import BOXED, FORMATS
from lm_eval_cora.answers.plain import opens_reasoning
from lm_eval_cora.answers.records import Record, around
from lm_eval_cora.errors import UserError
from lm_eval_cora.metrics.accuracy import acc, only_own, own_score, unrecognised
from lm_eval_cora.metrics.entries import Entry, is_one_value, needs_of, place_of
from lm_eval_cora.metrics.facts import NEEDS_SEVERAL, facts_of, facts_of_entry
from lm_eval_cora.metrics.kinds import note_on_few_clusters, note_on_small_categories
from lm_eval_cora.metrics.packed import PackedRecords, QuestionKey
from lm_eval_cora.metrics.responses import IDENTITIES, INVALID, Ints, ResponseTable
from lm_eval_cora.questions.messages import counted, first_few
from lm_eval_cora.questions.question import MAX_OPTIONS, Reader, shorten
from lm_eval_cora.questions.right_option import INDEX, AnswerKey, plain_form
from lm_eval_cora.runs.answer_columns import COLUMNS, AnswerColumns, read_raw
from lm_eval_cora.runs.files import grouped_by, listed
from lm_eval_cora.runs.program_rows import Logged
from lm_eval_cora.runs.task_files import every_metric
from lm_eval_cora.variants.alterations import ORIGINAL, with_options
from lm_eval_cora.variants.variant import REPEAT

_EXAMPLES, _AROUND = 3, 50  # answers that a note quotes, and their characters around the deciding ones
_MOST_KINDS = 60  # largest number of names of variants that are taken as kinds
EQUAL_PROMPTS = "equal_prompts"  # known of a file if its variants, or the repeats of an original, have the same prompt
BALANCED = "balanced"  # see `Facts`: known of a file if each option is equally often at each letter


@dataclass(frozen=True, eq=False)
class Collected:
    """Answers in a table or file, sorted by question and variant."""

    table: ResponseTable
    records: PackedRecords  # of all rows, without texts
    rows: Ints  # (R,) place of each record of the table
    given: frozenset[str]  # the columns of `answer_columns.COLUMNS` that the data have
    known: frozenset[str]  # these, those whose values follow from others, BALANCED and EQUAL_PROMPTS
    values: Mapping[str, Sequence[Any]]  # of each column; None where there is none, and `correct` of a skipped variant
    questions: Mapping[str, range]  # the rows of each question
    own: str = ""  # the name of the score that another program gave the answers
    metrics = references = frozenset[str]()  # only a run knows what it computed, and which options refer to others

    @property
    def readers(self) -> list[str]:
        """The different names in the column `reader`."""
        return sorted(set(self.values["reader"]) - {None})

    def record(self, row: int) -> Record:
        """The record of a row, with its texts."""
        record = self.records[row]
        if FORMATS[record.ask].is_open:
            record.written, record.answer = self.values["picked"][row], self.values["answer"][row] or ""
        return record

    def line(self, row: int) -> dict[str, Any]:
        """The answer in a row as a line of a samples file. The question is its id, and the response is the pick."""
        names = ("printed", "picked", "response", "prompt", "cut_off")
        printed, picked, response, prompt, cut_off = (self.values[name][row] for name in names)
        record = self.record(row)
        choices = (printed or ()) if record.printed else ()
        if response is None:
            response = "(the file has no pick)" if picked is None else picked
        doc = {**vars(record), "question": record.question_id, "choices": choices}
        return {"doc": doc, "filtered_resps": [response], "cut_off": cut_off, "opened": opens_reasoning(prompt or "")}

    def lines(self) -> Iterator[tuple[Record, dict[str, Any]]]:
        """Yield the answers, each with the values of its row."""
        for row in range(len(self.records)):
            yield self.record(row), {name: column[row] for name, column in self.values.items()}

    @property
    def described(self) -> tuple[str, ...]:
        """The columns that describe what was asked, beside question and variant, as far as every row has them."""
        names = [name for name in ("original", "answer", "kind", "category", "cluster") if name in self.given]
        has_every_list = "printed" in self.given and None not in self.values["printed"]
        return (*names, "printed") if has_every_list else tuple(names)

    def asked(self) -> dict[str, str]:
        """For each question a digest of its variants, their options and the right answers."""
        rows = list(zip(self.values["variant"], *(self.values[name] for name in self.described), strict=True))
        return {
            question: sha256(repr(rows[places.start : places.stop]).encode()).hexdigest()[:16]
            for question, places in self.questions.items()
        }


def read_answers(
    data: Any, names: Mapping[str, Any] | None = None, option: str = "{}=", reader: Reader | None = None
) -> dict[str, Collected]:
    """Read answers, one per row: those of each model by name, which may be empty. No reader is the flexible one."""
    columns = AnswerColumns(data, names, option)
    if columns.is_raw:
        read_raw(columns, reader or (names or {}).get("reader") or "flexible")
    return {model: _collected(part) for model, part in columns.by_model().items()}


def of_log(log: Logged, path: Path, reader: Reader) -> Collected:
    """The answers in a log of another program."""
    columns = AnswerColumns(log.rows, None)
    columns.source, columns.key = str(path), AnswerKey(0, INDEX)
    columns.names["own"], columns.equal_prompts = log.own, log.equal_prompts
    if columns.is_raw:
        read_raw(columns, reader)
    return _collected(columns)


def _collected(columns: AnswerColumns) -> Collected:
    ids, sizes = _sort(columns)
    given, values = frozenset(columns.names), columns.values
    questions = {question: range(*ends) for question, ends in zip(ids, pairwise([0, *np.cumsum(sizes)]), strict=True)}
    _check_right(columns)
    _check_questions(columns)
    known = set(given)
    kinds = values["kind"] if "kind" in given else values["variant"]
    names = set(kinds)
    # Names of variants are kinds if they are few, not all of them numbers, and shared by questions.
    are_kinds = len(names) <= min(_MOST_KINDS, len(kinds) // 2) and not all(map(_is_whole, names))
    known |= {"kind"} if are_kinds else set()
    named = next((names for names in (kinds, values["variant"]) if ORIGINAL in names), None)
    if named and "original" not in given:  # without the column, the kind or else the variant of that name
        values["original"] = [name == ORIGINAL for name in named]
        known.add("original")
    if "picked" in given and _are_balanced(values["printed"], questions.values()):
        known.add(BALANCED)
    records = _packed(columns, kinds, questions)
    table, rows = ResponseTable.from_packed(records)
    table = replace(table, confidence=np.array(values["confidence"], float)[rows])
    if columns.equal_prompts or table.repeats:
        known.add(EQUAL_PROMPTS)
    if "kind" not in known:
        table = replace(table, kinds=("variant",), kind=np.zeros_like(table.kind))
    return Collected(table, records, rows, given, frozenset(known), values, questions, columns.names.get("own", ""))


def _are_balanced(lists: Sequence[tuple[str, ...] | None], questions: Iterable[range]) -> bool:
    """Whether each option of each question is printed equally often at each letter."""
    for rows in questions:
        found = Counter(pair for printed in lists[rows.start : rows.stop] for pair in enumerate(printed or ()))
        letters = len({place for place, _ in found})
        if len(set(found.values())) != 1 or not len(found) == letters**2 <= MAX_OPTIONS**2:
            return False
    return True


def _sort(columns: AnswerColumns) -> tuple[list[str], Ints]:
    """Sort the rows by question and variant; return the ids of the questions and their numbers of variants, (N,)."""
    questions, variants = columns.values["question"], columns.values["variant"]
    sizes = Counter(questions)
    ids = {question: code for code, question in enumerate(sorted(sizes))}
    labels = {label: code for code, label in enumerate(sorted(set(variants), key=_in_order))}
    keys = np.array([*map(ids.__getitem__, questions)], dtype=np.int64) * len(labels)
    keys += np.array([*map(labels.__getitem__, variants)], dtype=np.int64)
    rows = np.argsort(keys, kind="stable")
    if len(twice := np.flatnonzero(np.diff(keys[rows]) == 0)):
        first, second = rows[twice[0] :][:2].tolist()
        raise UserError(
            f"{columns.where(second)}: question {questions[second]!r} has a second row with the variant "
            f"{shorten(variants[second])!r}, after {columns.where(first)}. Expected one row per variant: number "
            "the variants of each question. If the column names kinds of variants, call it 'kind'. If the rows are "
            "of several models, name them in a column 'model'"
        )
    if (np.diff(rows) != 1).any():
        columns.sort(rows.tolist())
    return list(ids), np.array([sizes[question] for question in ids], dtype=np.int64)


def _in_order(label: str) -> tuple[bool, bool, int, str]:
    """Sort key: the original, whole numbers by value, other labels by their text."""
    is_whole = _is_whole(label)
    return (label != ORIGINAL, not is_whole, int(label) if is_whole else 0, label)


def _is_whole(label: str) -> bool:
    digits = label.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19


def _check_right(columns: AnswerColumns) -> None:
    """Check which answers are right; find out by picks and right options without the column `correct`."""
    values = columns.values
    by_pick: list[bool] | None = None
    if {"picked", "answer"} <= columns.names.keys():
        if None in values["answer"]:
            raise columns.error(values["answer"].index(None), "answer", "a text or a number")
        by_pick = [pick == right for pick, right in zip(values["picked"], values["answer"], strict=True)]
    if "correct" not in columns.names:
        values["correct"] = by_pick or []
    elif "picked" in columns.names:
        for row, (correct, pick) in enumerate(zip(values["correct"], values["picked"], strict=True)):
            if by_pick and correct not in (None, by_pick[row]):
                raise columns.error(row, "correct", f"{by_pick[row]}, because of the columns 'picked' and 'answer'")
            if pick is None and correct:
                raise columns.error(row, "picked", "a pick, because the answer is correct")
            if pick is not None and correct is None:
                raise columns.error(row, "correct", "True or False, because there is a pick")


def _check_questions(columns: AnswerColumns) -> None:
    """Check that each question has one category, one cluster and at most one original. The rows are sorted."""
    questions = columns.values["question"]
    for name in {"category", "cluster"} & columns.names.keys():
        for row, (before, value) in enumerate(pairwise(columns.values[name]), start=1):
            if questions[row] == questions[row - 1] and value != before:
                raise columns.error(row, name, f"{before!r}, the {name} of question {questions[row]!r} before")
    for first, second in pairwise(row for row, mark in enumerate(columns.values["original"]) if mark):
        if questions[first] == questions[second]:
            place = f"False, because question {questions[first]!r} already has an original, {columns.where(first)}"
            raise columns.error(second, "original", place)


def _packed(columns: AnswerColumns, kinds: Sequence[str], questions: Mapping[str, range]) -> PackedRecords:
    """The records of all rows."""
    found, values, asked = PackedRecords(), columns.values, _asked(columns, kinds)
    for question, rows in questions.items():
        place = slice(rows.start, rows.stop)
        own = {name: column[place] for name, column in asked.items()}
        variants = len(rows) - own["kind"].count(REPEAT)
        counts = iter(range(variants)), iter(range(variants, len(rows)))
        own |= {"variants": [variants] * len(rows), "ordinal": [next(counts[kind == REPEAT]) for kind in own["kind"]]}
        key = QuestionKey(question, values["category"][rows.start] or "", values["cluster"][rows.start] or "")
        found.add(key, len(rows), {**own, **_answered(columns, rows)})
    return found


def _asked(columns: AnswerColumns, kinds: Sequence[str]) -> dict[str, Sequence[Any]]:
    """What the records say about the variants, and what is in their columns; not those without any value."""
    values = columns.values
    found: dict[str, Sequence[Any]] = {
        "kind": kinds,
        "original": list(map(bool, values["original"])),
        "skipped": [correct is None for correct in values["correct"]],
    }
    has_some = {name for name, column in values.items() if column.count(None) < len(column)}
    found |= {name: values[name] for name in ("followed", "reason", "own") if name in has_some}
    if "reason" in has_some:
        answers = zip(values["came"], values["reason"], strict=True)
        found["came"] = [(came or "") if reason else "" for came, reason in answers]
    if "rule" in has_some:
        found["rule"] = [rule or "" for rule in values["rule"]]
    return found


def _answered(columns: AnswerColumns, rows: range) -> dict[str, Iterable[Any]]:
    """What the records of a question say about its answers.

    Picks without printed options are texts, and all pairs of them are comparable. A text is a number here, so that
    equal parts of records are stored once.
    """
    names = ("printed", "picked", "correct", "answer")
    lists, picks, rights, answers = (columns.values[name][rows.start : rows.stop] for name in names)
    has_picks = "picked" in columns.names
    if has_picks and all(shown is not None or right is None for shown, right in zip(lists, rights, strict=True)):
        numbers = _numbers(columns, rows)
        texts = [pick if right else answer for pick, right, answer in zip(picks, rights, answers, strict=True)]
        return {
            "printed": [tuple(map(numbers.__getitem__, shown or ())) for shown in lists],
            "answer": [numbers.get(text, INVALID) for text in texts],
            "picked": map(numbers.get, picks),
            "position": [None if pick is None else shown.index(pick) for pick, shown in zip(picks, lists, strict=True)],
        }
    written: dict[str, str] = {}
    return {
        "printed": [()] * len(rows),
        "answer": [""] * len(rows),
        "ask": [BOXED.name] * len(rows),
        "written": [pick and written.setdefault(pick, str(len(written))) for pick in picks],
        "matches": [None if has_picks and pick is None else right for pick, right in zip(picks, rights, strict=True)],
    }


def _numbers(columns: AnswerColumns, rows: range) -> dict[str, int]:
    """The number of each option of a question, and of right options that no variant prints."""
    picks, lists, answers = (columns.values[name] for name in ("picked", "printed", "answer"))
    for row in rows:
        pick, shown = picks[row], lists[row] or ()
        if pick is not None and pick not in shown:
            options = shorten(repr(list(shown)), 200)
            raise columns.error(row, "picked", f"one of the printed options {options}, or a missing value if invalid")
    texts = dict.fromkeys(chain.from_iterable(filter(None, lists[rows.start : rows.stop])))
    if len(texts) > IDENTITIES:
        raise UserError(
            f"{columns.where(rows.start)}: the question has {len(texts)} different options, expected at "
            f"most {IDENTITIES}. Leave out the column {columns.names['printed']!r} if all variants print "
            "the same options"
        )
    texts |= dict.fromkeys(answers[rows.start : rows.stop])
    texts.pop(None, None)
    return {text: number for number, text in enumerate(texts)}


# ---- metrics
@cache
def _all_entries() -> tuple[Entry, ...]:
    """The metrics of all probes that columns of a file can define, for variants of any kind."""
    found: dict[str, Entry] = {}
    for entry in every_metric():
        is_for_our_variants = "without" in entry or "positions" in entry or facts_of_entry(entry).sampled == "only"
        has_columns = needs_of(entry) <= {*COLUMNS, BALANCED, EQUAL_PROMPTS}
        if is_for_our_variants or not has_columns or not is_one_value(entry):
            continue
        name = entry["metric"].removesuffix("@original")
        of_original = {"options": "printed"} if entry.get("options") == ORIGINAL else {}
        found.setdefault(name, {**entry, **of_original, "metric": name, "table": True})
    return tuple(sorted(found.values(), key=place_of))


def entries_of(table: ResponseTable) -> list[Entry]:
    """The metrics of answers in a file, as far as the table has their kinds of variants; see `undefined_metrics`."""
    entries = []
    for entry in _all_entries():
        options = entry.get("options")
        kinds = [with_options(options)] if isinstance(options, int) else facts_of_entry(entry).kinds
        has_kinds = not kinds or set(kinds) & set(table.kinds)
        scores = {"own", "confidence"} & needs_of(entry)
        if has_kinds and not any(np.isnan(getattr(table, name)).all() for name in scores):
            entries.append(entry)
    return entries


def undefined_metrics(table: ResponseTable, known: Collection[str]) -> dict[str, str]:
    """The metrics that the columns do not define, and the reason for each."""
    # A metric names the first one that is missing.
    columns = (EQUAL_PROMPTS, "original", "picked", "kind", "category", "followed", "printed", BALANCED)
    reasons = {column: f"needs the column {column!r}" for column in columns if column not in known}
    if EQUAL_PROMPTS in reasons:
        reasons[EQUAL_PROMPTS] = f"needs several answers to the same prompt, such as variants of the kind {REPEAT!r}"
    if BALANCED in reasons:
        reasons[BALANCED] = "needs the column 'printed', with each option equally often at each letter"
    if "original" in reasons:
        reasons["original"] += f", which marks the original of each question, or a variant or kind named {ORIGINAL!r}"
    elif table.original_correct is None and len(table.sizes):
        counts = table.sum_by_question(table.original)
        place = int((counts != 1).argmax())
        reasons["original"] = (
            f"needs one original of each question; question {table.question_ids[place]!r} has {counts[place]:.0f}"
        )
    if "followed" in known and np.isnan(table.followed[~table.skipped]).any():
        reasons["followed"] = "the column 'followed' has missing values"
    lacking = [(column, reasons[column]) for column in columns if column in reasons]
    found = {}
    for entry in entries_of(table):
        needed, is_unvaried = needs_of(entry), facts_of(entry["aggregation"]).is_unvaried(table)
        why = next((why for column, why in lacking if column in needed), "")
        found[entry["metric"]] = NEEDS_SEVERAL if is_unvaried else why
    return {name: why for name, why in found.items() if why}


def notes_of(answers: Collected) -> list[str]:
    """Notes for the user: the readers, skipped variants, questions that are left out, and small categories."""
    table = answers.table
    both = zip(answers.values["reason"], answers.values["came"], strict=True)
    reasons = Counter(str(came or reason) for reason, came in both if reason)
    skipped = f"{table.skipped.sum():,} of {len(table.skipped):,} variants were skipped"
    if "response" in answers.given:
        skipped += ": their response is missing (null). A model that wrote nothing has an empty text"
    printed = zip(*(answers.values[name] for name in ("question", "answer", "printed")), strict=True)
    twice = first_few(dict.fromkeys(question for question, right, shown in printed if shown and shown.count(right) > 1))
    notes = [
        *_differing_in_form(answers),
        f"responses read by: {', '.join(answers.readers)}" if answers.readers else "",
        f"invalid responses: {listed(reasons)}" if reasons else "",
        _beside_own(answers),
        "" if table.is_whole else skipped,
        *left_out(table),
        _lacking_variants(answers),
        twice and f"the right option is printed twice, and a pick of either copy is right: {twice}",
        note_on_small_categories(table) if "category" in answers.known else "",
        note_on_few_clusters(table),
    ]
    return list(filter(None, notes))


def _beside_own(answers: Collected) -> str:
    """A note on the score that another program gave the answers, beside ours; empty without one."""
    table = answers.table
    if np.isnan(table.own).all():
        return ""
    theirs, ours, lost, only = (one(table).value for one in (own_score, acc, unrecognised, only_own))
    text = f"{answers.own} says {theirs:.4g}, the answers say {ours:.4g}"
    if not lost and not only:
        return text
    examples = [
        f"{record.question_id!r}, scored {record.own:g}: {''.join(around(said, span, _AROUND))!r}"
        for place in answers.rows[table.correct & (table.own < 1)][:_EXAMPLES].tolist()
        for record, span in [(answers.record(place), answers.values["span"][place])]
        for said in answers.line(place)["filtered_resps"]
    ]
    also = f"; {only:.1%} are right only there" if only else ""
    shown = f"; for example {', '.join(examples)}" if examples else ""
    return f"{text}: {lost:.1%} of the answers are right but were not recognised{also}{shown}"


def _differing_in_form(answers: Collected) -> Iterator[str]:
    """Notes on texts that differ in form only, such as "Ice " and "ice", and on picks that equal no right option."""
    remedy = "If they mean the same, write them alike"
    for column in ("question", "variant", "kind", "category", "cluster"):
        same_form = grouped_by(dict.fromkeys(filter(None, answers.values[column])), plain_form).values()
        if several := [group for group in same_form if len(group) > 1]:
            yield f"{column}: {first_few(several)} differ in form only, and count as different. {remedy}"
    if not {"picked", "answer"} <= answers.given or "response" in answers.given:
        return
    picks, rights, lists = (answers.values[name] for name in ("picked", "answer", "printed"))
    pairs = Counter(
        (pick, right)
        for pick, right, shown in zip(picks, rights, lists, strict=True)
        if pick not in (None, right) and right not in (shown or ())  # not two of the options
    )
    if wrong := [pair for pair in pairs if len({*map(plain_form, pair)}) == 1]:
        shown = first_few(f"picked {pick!r}, answer {right!r}" for pick, right in wrong)
        total = counted(sum(pairs[pair] for pair in wrong), "pick")
        yield f"{total} counted as wrong although only the form differs from the answer ({shown}). {remedy}"
    elif (found := set(picks) - {None}) and found.isdisjoint(rights):
        shown = f"picked {shorten(picks[0] or min(found))!r}, answer {shorten(rights[0])!r}"
        yield f"no pick equals any right option ({shown}), so every answer is wrong. Write both columns in the same way"


def _lacking_variants(answers: Collected) -> str:
    """A note on the questions with only some of the variants that at least half of the questions have."""
    names, places = answers.values["variant"], answers.questions
    usual = {name for name, count in Counter(names).items() if 2 * count >= len(places)}
    lacking = [name for name, rows in places.items() if {*names[rows.start : rows.stop]} < usual]
    if not lacking:
        return ""
    return (
        f"{len(lacking):,} of {counted(len(places), 'question')} ({first_few(map(repr, lacking))}) lack "
        "variants that most have. Fewer are easier: give the answers to all that were asked"
    )


def left_out(table: ResponseTable) -> list[str]:
    """Notes on the questions that a table leaves out."""
    total = len(table.sizes) + table.incomplete + table.not_begun
    reasons = {"variants are missing": table.incomplete, "all their variants were skipped": table.not_begun}
    return [f"left out {count:,} of {total:,} questions because {reason}" for reason, count in reasons.items() if count]
