"""Multiple-choice tasks of the harness as a benchmark: their questions, in their own words."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from types import SimpleNamespace
from typing import Any

from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.back_ends import explaining, in_a_line
from lm_eval_cora.harness.compat import manager_of_the_run
from lm_eval_cora.harness.docs import SPLIT, Doc, Docs
from lm_eval_cora.harness.rounds import in_turn
from lm_eval_cora.harness.scoring import name_callables
from lm_eval_cora.harness.task import CoraTask
from lm_eval_cora.harness.versions import prefix_of, target_of
from lm_eval_cora.log import logger
from lm_eval_cora.questions.benchmark import Benchmark, OneByOne, Source
from lm_eval_cora.questions.columns import Field, Getter
from lm_eval_cora.questions.languages import language_of, language_of_template, name_of_language
from lm_eval_cora.questions.messages import did_you_mean
from lm_eval_cora.questions.options import TEXTS, Options
from lm_eval_cora.questions.question import ABSTAIN, ALIKE, LETTERS, NOTA, Question, has_alike, shorten
from lm_eval_cora.runs.printed import PrintedPrompt
from lm_eval_cora.runs.rendered import Rendered, cell_text, passage_in, rendered, settle
from lm_eval_cora.runs.task_files import declaration as benchmark_declaration
from lm_eval_cora.variants.probes import PROBES
from lm_eval_cora.variants.template import LETTER


@dataclass
class TaskQuestion(Rendered):
    """A question of a task of the harness."""

    task: Any = None
    doc: Mapping[str, Any] = field(default_factory=dict)  # the task's own


def questions_of(task: Any) -> list[TaskQuestion]:
    """Read the questions of a task of the harness."""
    if task.OUTPUT_TYPE not in ("multiple_choice", "generate_until"):
        raise UserError(f"{task.task_name}: expected a multiple-choice task, its output_type is {task.OUTPUT_TYPE}")
    asked = []
    for doc in task.eval_docs:
        try:
            one = read_question(task, doc)
        except Exception as error:  # a template or function of the task may raise any error
            reason = str(error) if isinstance(error, UserError) else f"cannot be rendered: {in_a_line(error)}"
            one = Rendered.unusable(reason)
        asked.append(TaskQuestion(**vars(one), task=task, doc=doc))
    if not asked:
        raise UserError(f"{task.task_name}: the task has no docs")
    settle(asked, task.task_name)
    return asked


def read_question(task: Any, doc: Mapping[str, Any]) -> Rendered:
    """Read the question of a doc."""
    is_written = task.OUTPUT_TYPE == "generate_until"
    scored = None if is_written else [str(choice) for choice in task.doc_to_choice(doc)]
    return rendered(task.doc_to_text(doc), target_of(task, doc), scored)


@lru_cache
def _getter(text: str, columns: tuple[str, ...]) -> Getter:
    """Find a field once for all docs: a template is compiled."""
    return Field(text).getter(columns)


class CoraOfTask(CoraTask):
    """CoRA of tasks of the harness, which the option `task` names: their data, prompts, exemplars and labels.

    A task that scores texts which its prompt does not print is asked in our prompt.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        options = Options.from_metadata(config["task"], (config.get("metadata") or {}).get("cora"))
        names = _names_in(config["task"], options)
        tasks = _loaded(config["task"], names)
        of_each = ([(f"{name}-{n}", one) for n, one in enumerate(questions_of(task))] for name, task in tasks.items())
        self._tasks, self._every = tasks, dict(in_turn([*of_each]))  # `--limit` leaves out no task
        self._asked = {key: one for key, one in self._every.items() if not one.error}
        prints = {one.printed is not None for one in self._asked.values()}
        if len(prints) > 1:
            raise UserError(
                f"{config['task']}: some of the tasks print their options, others do not. Run them separately"
            )
        probe = PROBES.get(config["probe"])
        ours = (probe is not None and probe.own_prompts) or options.prompt or options.templates
        self._in_own_words = prints == {True} and not ours
        self._separates = not self._in_own_words  # their own prompt joins the two
        self._contexts: dict[str, Any] = {}
        self._warn_of_options(config["task"])
        super().__init__({**config, **self._settings(config), "benchmark": self._questions("+".join(names))})

    def _warn_of_options(self, name: str) -> None:
        every = [*self._asked.values()]
        hiding = sum(all(option.strip() in one.stem for option in one.choices) for one in every)
        with_equal = sum(has_alike(one.choices) for one in every)
        where = f"of {len(every)} questions of {', '.join(self._tasks)} have"
        if 2 * hiding > len(every):
            logger.warning("%s: %d %s all their options in the text before, which variants keep", name, hiding, where)
        if with_equal:
            logger.warning("%s: %d %s %s. Equal ones count as one option", name, with_equal, where, ALIKE)

    def _questions(self, name: str) -> Benchmark:
        """The questions as a benchmark."""
        return Benchmark(
            name,
            lambda _: OneByOne((), self._question),
            source=Source(hub=(name,)),
            files=([{"id": key} for key in self._every],),
            **{name: benchmark_declaration("global_mmlu")[name].get(self._language, "") for name in TEXTS},
        )

    def _question(self, row: Mapping[str, Any], _: str) -> Question:
        """A question; its task is the category if there are several."""
        one, several = self._every[row["id"]], len(self._tasks) > 1
        if one.error:
            raise one.error
        category = one.task.task_name if several else ""
        return Question(row["id"], one.stem, one.choices, one.answer, category, self._cluster_of(one.doc))

    def _cluster_of(self, doc: Mapping[str, Any]) -> str:
        """The passage of a doc, or what the option `cluster` names."""
        named = self._options.declared.get("cluster")
        return passage_in(doc) if named is None else cell_text(_getter(named, tuple(doc))(doc))

    @cached_property
    def _language(self) -> str:
        """The language of all tasks; empty if it is unknown or if there are several."""
        found = set()
        for key, task in self._tasks.items():
            some = [one for one in self._asked.values() if one.task is task][:50]
            texts = [f"{one.stem} {' '.join(one.choices)}" for one in some]
            named = language_of((task.config.dataset_name, key), texts)
            found.add(named or language_of_template([task.doc_to_text(one.doc) for one in some], texts))
        return found.pop() if len(found) == 1 else ""

    @property
    def _language_used(self) -> str:
        """The language of "None of the above" and its origin; empty if it is unknown or the user sets the text."""
        if not self._language or self._options.nota_text not in (self._benchmark.nota_text, Options.nota_text):
            return ""
        key, task = next(iter(self._tasks.items()))
        origin = "name" if language_of((task.config.dataset_name, key), ()) == self._language else "prompts"
        return f"{name_of_language(self._language)}, from the {origin}; `nota_text` changes it"

    def _settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a request, which all tasks share."""
        written = [task.OUTPUT_TYPE == "generate_until" for task in self._tasks.values()]
        if config["output_type"] != "generate_until" and any(written):
            raise UserError(f"{config['task']}: the task asks for a written answer. Use {config['task'][:-3]} instead")
        if not self._in_own_words:
            return {}
        settings: dict[str, Any] = {}
        names = [*_SETTINGS, "generation_kwargs"] if all(written) else _SETTINGS
        for name in names:
            values = [getattr(task.config, name) for task in self._tasks.values()]
            if any(value != values[0] for value in values):
                raise UserError(f"{config['task']}: {name} differs between the tasks. Run them separately")
            settings |= {name: values[0]} if values[0] is not None else {}
        return settings

    def test_docs(self) -> Docs:
        """All variants. Those that print options have the prompt of their task."""
        begun = self._docs is not None
        every = super().test_docs()
        for name, identity in zip(TEXTS, (NOTA, ABSTAIN), strict=True):
            text, known = getattr(Options, name), (getattr(self._benchmark, name), getattr(self._options, name))
            if known != ("", text) or not any(identity in doc["printed"] for doc in every):
                continue
            example = json.dumps({"cora": {"task": next(iter(self._tasks)), name: "..."}})
            remedy = f"""and translate "{text}": --metadata '{example}'"""
            raise UserError(
                f"{self.config.task}: the language of the task is unknown, or there are several. Run tasks of "
                f"different languages separately, {remedy}"
            )
        if self._in_own_words and not begun:
            prompts = {key: _prompt_of(one) for key, one in self._asked.items()}
            for doc in every:
                if format_of(doc).picks_one:
                    key = doc["question_id"]
                    if doc["question"] != self._asked[key].stem.strip():
                        raise UserError(
                            f"{self.config.task}: question {key}: the probe {self.probe.name!r} changes its text, but "
                            "the prompt of its task would keep it. Ask in a prompt of your own: option 'prompt'"
                        )
                    prompt = prompts[key]
                    labels = prompt.labels_of(len(doc["choices"]))
                    doc |= {"template": prompt, "ask": LETTER}
                    if not LETTERS.startswith("".join(labels)):
                        doc["labels"] = labels
        return every

    def prepare(self, model: Any, **arguments: Any) -> None:
        """Check that the task can run with these options, and prepare it."""
        super().prepare(model, **arguments)
        self._contexts = {}
        self._warn_of_lists()
        if language := self._language_used:
            logger.info(f"{self.task_name}: language: {language}")
        self._selection["of"] = ",".join(f"{task}@{self._tasks[task].VERSION}" for task in self._tasks)

    def _warn_of_lists(self) -> None:
        """Warn of labels in a description: they stay when a variant has more or fewer options."""
        asked = ((self._asked[doc["question_id"]], doc) for doc in self._selected.values())
        changed = {one.task: one for one, doc in asked if len(doc["choices"]) != len(one.choices)}
        for task, one in changed.items():
            if one.printed and one.printed.joins_in(text := str(task.config.description)):
                names = "names the labels, also before variants with more or fewer options"
                about = (self.task_name, task.task_name, names, shorten(text, 200))
                logger.warning("%s: the description of %s %s: %r", *about)

    def cost(self, limit: float | None = None) -> str:
        """The cost, the first question, and how it is asked."""
        cost, one = super().cost(limit), self._asked[self.dataset[SPLIT][0].id]
        words = "its own words" if self._in_own_words else "our prompt"
        end = f"\n  end: {one.printed.end!r}" if one.printed else ""
        language = f"\n  language: {self._language_used}" if self._language_used else ""
        return f"{cost}{end}\n  asked: {', '.join(self._tasks)}, in {words}{language}"

    def _load_sampler(self) -> Any:
        if not self._in_own_words:
            return super()._load_sampler()
        return SimpleNamespace(signature="task", fewest=self.config.num_fewshot)

    def fewshot_context(self, doc: Doc, num_fewshot: int, **arguments: Any) -> Any:
        """The prompt of a variant: that of the original, from the task itself, with another text for the question."""
        if not self._in_own_words:
            return super().fewshot_context(doc, num_fewshot, **arguments)
        if not self._contexts:
            self._build_originals(num_fewshot, arguments)
        context, question = self._contexts[doc["question_id"]], str(self._asked[doc["question_id"]].printed)
        # Turns for a server are a tuple with their JSON. Some chat templates remove the white space around a turn.
        text, forms = getattr(context, "prompt", None), (partial(_in_json, True), partial(_in_json, False))
        for form in (str, str.strip) if text is None else forms:
            before, found, after = (text or context).rpartition(form(question))
            if found:
                return type(context)(f"{before}{form(self.doc_to_text(doc))}{after}")
        raise UserError(
            f"{self.task_name}: question {doc['question_id']}: "
            "the chat template changes the text of the question, so its options cannot be replaced. "
            "Run without --apply_chat_template"
        )

    def doc_to_prefix(self, doc: Doc) -> Any:
        """The beginning of the answer. That of another task is a part of its prompts, see `_build_originals`."""
        return None if self._in_own_words else super().doc_to_prefix(doc)

    def _build_originals(self, shots: int, arguments: Mapping[str, Any]) -> None:
        """Build the prompts of the originals in the order of the docs, as the harness does for the tasks themselves."""
        # The sampler of a task draws from a random state that advances with every doc, also with those that are left
        # out here, because they have an option equal to the right one.
        for task in self._tasks.values():
            task.set_fewshot_seed(self._fewshot_seed)
        sampled = self._options.questions or self._options.categories
        known = self._every if sampled else {question.id for question in self.dataset[SPLIT]}
        chosen = {doc["question_id"] for doc in self._selected.values()}
        drawn = chosen | (self._every.keys() - known)
        for key, one in self._every.items():
            if key not in drawn:
                continue
            try:
                how = {**arguments, "gen_prefix": prefix_of(one.task, one.doc)}
                self._contexts[key] = one.task.fewshot_context(one.doc, shots, **how)
            except Exception as error:  # as agieval's, whose answers are lists, with exemplars
                if one.error:
                    continue
                raise UserError(
                    f"{self.task_name}: question {key} with {shots} exemplars: "
                    f"its task cannot build the prompt: {in_a_line(error)}"
                ) from error
        if count := sum(_is_twice(str(self._asked[key].printed), self._contexts[key]) for key in chosen):
            logger.warning(
                f"{self.task_name}: {count} of {len(chosen)} questions stand among their own exemplars, with the right "
                "answer, as in the task itself. Use another few-shot split, or --num_fewshot 0"
            )


_SETTINGS = ["num_fewshot", "fewshot_delimiter", "target_delimiter", "gen_prefix"]


def _is_twice(question: str, context: Any) -> bool:
    """Whether all lines of a question are twice in a prompt. Turns for a server are JSON, with more backslashes."""
    text, lines = getattr(context, "prompt", context).replace("\\", ""), question.replace("\\", "").split("\n")
    return all(text.count(line.strip()) > 1 for line in lines)


def _in_json(ascii: bool, text: str) -> str:
    return json.dumps(text, ensure_ascii=ascii)[1:-1]


def _prompt_of(asked: TaskQuestion) -> PrintedPrompt:
    task, printed = asked.task, asked.printed
    assert printed is not None
    keys = ("doc_to_text", "doc_to_choice", "description")
    words = "\0".join(str(name_callables(getattr(task.config, key, ""))) for key in keys)
    scored = task.doc_to_choice(asked.doc) if task.OUTPUT_TYPE == "multiple_choice" else printed.labels
    return PrintedPrompt(task.task_name, words, printed=printed, scored_as=tuple(map(str, scored)))


def _names_in(name: str, options: Options) -> tuple[str, ...]:
    if not options.task:
        example = """--metadata '{"cora": {"task": "mmlu_anatomy"}}'"""
        raise UserError(f"{name}: expected a task of the harness: {example}. `lm_eval ls tasks` lists them")
    if ours := [each for each in options.task if each.startswith("cora_of")]:
        raise UserError(
            f"{name}: option 'task': {ours[0]} asks tasks of the harness and is none itself. Name one of those"
        )
    if of_data := [*(options.declared.keys() - {"cluster"}), *(["data_files"] if options.data_files else [])]:
        raise UserError(
            f"{name}: option {of_data[0]!r}: "
            f"the questions are those of {', '.join(options.task)}. For your own data use cora_local or cora_hub"
        )
    return options.task


def _loaded(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Load tasks and groups of the harness."""
    manager = manager_of_the_run(names)
    for unknown in (task for task in names if task not in manager.all_tasks):
        raise UserError(f"{name}: the harness has no task {unknown!r}.{did_you_mean(unknown, manager.all_tasks)}")
    with explaining(f"{name}: {', '.join(names)}: cannot be loaded"):
        loaded = manager.load(list(names))["tasks"].values()  # by `group::task` in 0.5
    return {task.task_name: task for task in loaded}
