"""The task class: makes docs and requests from a benchmark, checks a run, and writes its results."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.defaults import DEFAULT_OTHER_SEED
from tqdm import tqdm

from lm_eval_cora.answers.equivalence import check_comparison
from lm_eval_cora.answers.exemplars import load_sampler
from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import IN_SAMPLES, skipped
from lm_eval_cora.errors import UserError, naming
from lm_eval_cora.harness import back_ends, compat, constrained, docs
from lm_eval_cora.harness.asking import AskingLM, check_repeats, check_stopping
from lm_eval_cora.harness.docs import SPLIT, Doc, Docs, chosen_docs
from lm_eval_cora.harness.limits import annotated
from lm_eval_cora.harness.next_token import alike_in, settings_of, top_of
from lm_eval_cora.harness.notices import Conditions, describe_cost, describe_samples, describe_stopping
from lm_eval_cora.harness.rounds import Planned
from lm_eval_cora.harness.scoring import Scoring, encodable, name_callables, score_response
from lm_eval_cora.harness.served import attach_finish_reasons
from lm_eval_cora.harness.task_config import OWN_KEYS, declared_in
from lm_eval_cora.harness.versions import BaseTask, warn_if_untried
from lm_eval_cora.log import logger
from lm_eval_cora.metrics import entries
from lm_eval_cora.metrics.packed import unit_name
from lm_eval_cora.metrics.sequences import in_drawn_order
from lm_eval_cora.questions.benchmark import Data
from lm_eval_cora.questions.loading import questions_digest
from lm_eval_cora.questions.messages import left_out_for_references
from lm_eval_cora.questions.question import LETTERS, Form
from lm_eval_cora.runs.signature import about_asking, signature_of
from lm_eval_cora.runs.task_files import asked_metrics

_RATE = 10.0  # assumed requests per second in a dry run; a real run reports its own rate after 20 s
_FORMS: dict[str, Form] = {"generate_until": "generate", "multiple_choice": "loglikelihood"}


class CoraTask(BaseTask):  # type: ignore[misc]  # the harness ships no types
    """A ConfigurableTask whose docs are variants and whose metrics are functions of a ResponseTable.

    In the YAML file, `aggregation` is the function of a metric, such as `lm_eval_cora.metrics.bmca`. Further keys of
    the entry, such as `level`, are parameters of this function. `process_results` returns a Record.
    """

    _separates = True  # a system instruction from the question
    at_once = 0  # the largest number of letters that are scored with one request, by the next token
    _way = ""  # how the engine constrains answers; empty if they are free

    def __init__(self, config: Mapping[str, Any]) -> None:
        task = config["task"]
        self.probe, self._benchmark, self._options = declared_in(config)
        self._declared = config["benchmark"] if isinstance(config["benchmark"], Mapping) else {}
        config = {key: value for key, value in config.items() if key not in OWN_KEYS}
        config |= {"process_docs": docs.process_docs, "custom_dataset": docs.load_benchmark, "test_split": SPLIT}
        entries.check_metrics(task, config.get("metric_list"))
        self._form = _FORMS.get(config.get("output_type", ""), "generate")
        self._writes = not self._benchmark.has_options  # answers are compared with a reference
        if self._writes:
            check_comparison(task)
        with naming(task):
            self._entries = asked_metrics(
                config["metric_list"], self._benchmark, self.probe, self._options, form=self._form
            )
        config["metric_list"] = [entry for entry in self._entries if entries.is_printed(entry)]
        self._docs: Docs | None = None
        self._selected: dict[int, Doc] = {}  # the docs that are asked on all ranks together, by their number
        self._selection: dict[str, Any] = {}
        self._left_out: dict[str, object] = {}  # the options that decide which requests are sent
        self._sends_seeds = self._shots_asked_for = False
        self._has_answers: Callable[[], None] = lambda: None
        self._fewshot_seed = DEFAULT_OTHER_SEED
        hint = ". If the file is your own, compare its settings with the fragments that it includes"
        with back_ends.explaining(f"{task}: the task file cannot be used", hint):
            super().__init__(config=config)
            self.construct_requests(doc := self.test_docs()[0], str.strip(self.doc_to_text(doc)))
        if not config["metric_list"]:
            raise UserError(
                f"{task}: metric_list: expected at least one metric for the table, "
                f"got none for the form {self._form!r} with the options {self._options.changed()}. "
                "Add a metric of this form with `table: true`, and with `sampled: also` if the option 'variants' is set"
            )
        score = self.config.process_results
        self.scoring = Scoring(task, score, self._options.reader, self._filters, writes=self._writes)
        self.scoring.check(doc)
        self.score_early, self.is_final = self.scoring.score_early, self.scoring.is_final
        self.can_stop, self.hardest_first = entries.saves_requests(self._entries), self.probe.hardest_first
        self._print_only(config["metric_list"], [])

    # ---- before the first request
    def download(self, *_: Any, **__: Any) -> None:
        """Load the benchmark with our options only: the metadata also contains all `--model_args`."""
        questions, self._referring, digest = docs.load_benchmark(
            options=self._options, benchmark=self._benchmark, probe=self.probe
        )
        self.dataset = {SPLIT: questions}
        # A file name may contain lone surrogates, which cannot be written to a file.
        self._data = Data(self._benchmark.name.encode("utf-8", "replace").decode(), digest)

    def test_docs(self) -> Docs:
        """All variants. They are made once, because the harness calls this five times in a run."""
        if self._docs is None:
            with naming(self.config.task):
                self._docs = self.config.process_docs(
                    self.dataset[SPLIT], self.probe, self._options, form=self._form, benchmark=self._benchmark
                )
        return self._docs

    def fewshot_docs(self) -> None:
        """Return None: exemplars are loaded with the requests, and only if there are shots."""
        return

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Store the seed. None becomes a fixed seed, so that all variants of a question get the same exemplars."""
        self._fewshot_seed = DEFAULT_OTHER_SEED if seed is None else seed

    def set_num_fewshot(self, number: int) -> None:
        """Set the number of shots, unless the task file has a 0. The harness does so from 0.5 on."""
        if self.config.num_fewshot != 0:
            self.set_config("num_fewshot", number)

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Change the configuration, and record whether the user set the number of shots."""
        self._shots_asked_for |= key == "num_fewshot"
        super().set_config(key, value, update=update)

    def build_all_requests(self, **arguments: Any) -> None:
        """Build the requests, and log their cost in one line."""
        samples, limit = arguments.pop("samples", None), arguments.pop("limit", None)  # they would count docs
        samples = getattr(samples, "questions", samples)
        model, ranks = compat.of_the_run("lm"), arguments.get("world_size", 1)
        warn_if_untried()
        self.prepare(model, limit=compat.of_the_run("limit_arg", limit), samples=samples, world_size=ranks)
        if samples:
            compat.number_samples(self.task_name, self._selected, samples)
        if arguments.get("cache_requests"):
            # The cache key contains the task but not the options: a run with another seed would get these requests.
            logger.warning(f"{self.task_name}: --cache_requests is disabled: its cache key ignores the options")
            arguments |= {"cache_requests": False, "rewrite_requests_cache": False}
        if self.probe.samples:
            compat.seed_rank(arguments.get("rank", 0))
        chat = bool(arguments.get("apply_chat_template")) or back_ends.formats_chats(compat.behind(model))
        tokens = (self.config.generation_kwargs or {}).get("max_gen_toks")
        self.scoring.ranks = ranks
        self.scoring.conditions = Conditions(chat, self._options.reader, tokens if isinstance(tokens, int) else None)
        instruction = arguments.get("system_instruction")
        if self._separates and instruction and not chat and not instruction[-1].isspace():
            # The harness puts a delimiter after a description but not after an instruction: "Be brief.Answer the ..."
            arguments["system_instruction"] = instruction + self.config.fewshot_delimiter
        compat.hide_secrets_of_the_run()
        super().build_all_requests(**arguments)
        built = {one.doc_id for one in self.instances}
        for number, doc in self.doc_iterator(**arguments):
            if number not in built:  # 0.5 skips a doc without requests with a warning
                raise UserError(
                    f"{self.task_name}: the harness left out a variant of question {doc['question_id']!r}, "
                    "which the scores need. Please report this"
                )
        back_end = compat.behind(model)
        if self._form == "generate" and self._is_scored and not arguments.get("rank"):
            take = self.scoring.advise_early(self.instances, partial(annotated, back_end))
            self._has_answers = compat.on_answers(back_end, take)
        asked = ((one.doc, one.args[0], self._answers_scored(one.doc)) for one in self.instances if one.idx == 0)
        cost = describe_cost(asked, repeats=self.config.repeats, ranks=ranks)
        stopping = describe_stopping(self._left_out, is_sample=self._options.questions is not None)
        letters = f", letters by the {self._letters}" if self._form == "loglikelihood" else ""
        logger.info(f"{self.task_name}: {'at most ' if self._left_out else ''}{cost}{letters}{stopping}")

    def cost(self, limit: float | None = None) -> str:
        """Check that the task can run, and describe its cost and its first question, without keeping its requests."""
        self.prepare(None, limit=limit)
        shots = self.config.num_fewshot or 0
        asked = tqdm(self._selected.values(), self.task_name, unit="variant", disable=None, leave=False)
        prompts = ((doc, self.fewshot_context(doc, shots), self._answers_scored(doc)) for doc in asked)
        cost = describe_cost(prompts, repeats=self.config.repeats, rate=_RATE)
        question = self.dataset[SPLIT][0]
        variants = [doc for doc in self._selected.values() if doc["question_id"] == question.id]
        labels, last = variants[0].get("labels", LETTERS), variants[-1]
        options = (f"{label} {option!r}" for label, option in zip(labels, question.choices, strict=False))
        left_out = f"  {left_out_for_references(self._referring)}\n" if self._referring else ""
        return (
            f"{cost}\n{left_out}"
            f"  question: {question.stem!r}\n"
            f"  options: {', '.join(options) or 'none'}\n"
            f"  right: {question.right!r}\n"
            f"  {last['kind']}: {self.doc_to_text(last)!r}"
        )

    def prepare(
        self,
        model: Any,
        *,
        limit: float | None = None,
        samples: Sequence[int] | None = None,
        world_size: int = 1,
        **_: Any,
    ) -> None:
        """Check that the task can run with these options, and prepare it."""
        shard = model.shard if isinstance(model, AskingLM) else None
        self._select(limit, samples, shard)
        docs.check_processes(self.task_name, len(self._selected), world_size)
        if self._form == "loglikelihood":
            self._choose_letters(model)
        if self._is_scored:
            table = [entry for entry in self._entries if entries.is_printed(entry)]
            self._print_only(table, self._entries if len(table) < len(self._entries) else [])
        if self.config.num_fewshot:
            self.sampler = self._load_sampler()
        if self.scoring.study and len(self.scoring.filters) > 1:
            logger.warning(f"{self.task_name}: with several filters the results have only the metrics of the table")
        compat.rename_token_limit(self.config.generation_kwargs or {})
        for prepare in (compat.leave_out_unset, compat.keep_offline, attach_finish_reasons, self.constrain):
            prepare(compat.behind(model))
        self._left_out = {}
        if isinstance(model, AskingLM):
            self._prepare_stopping(model)
            if model.limits and self._form == "generate":
                self.config.generation_kwargs["max_gen_toks"] = model.limits[-1]
        self.scoring.seed = self._options.seed if "until" in self._left_out else None
        if self.probe.samples:
            back_ends.check_sampling(self.task_name, self.config.generation_kwargs or {}, self._options, model)
            asked_for = self._options.request_seeds
            self._sends_seeds = back_ends.needs_seeds(compat.behind(model)) if asked_for is None else asked_for
        self._prepare_model(model)

    def constrain(self, model: Any) -> None:
        """Check that the answers can be constrained, and how a model does it (option `constrain`)."""
        if not self._options.constrain:
            return
        if self._form == "loglikelihood":
            raise UserError(f"{self.task_name}: option 'constrain': letters are scored, not written. Leave it out")
        answers = constrained.allowed_in(self.task_name, self._selected.values())
        if model is not None:
            settings, needed = self.config.generation_kwargs, self._options.constrain is True
            self._way = constrained.way_of(self.task_name, model, settings, answers, needed=needed)

    def _select(self, limit: float | None, samples: Sequence[int] | None, shard: tuple[int, int] | None = None) -> None:
        """Select the docs that are asked, on all ranks together."""
        every = self.test_docs()
        chosen = chosen_docs(self.task_name, every, limit, samples)
        self._selected = {number: every[number] for number in chosen}
        self._selection = {}
        if len(self._selected) < len(every) and samples:
            self._selection = {"samples": questions_digest({"number": number} for number in set(samples))}
        elif len(self._selected) < len(every):
            self._selection = {"limit": f"{limit or 0:g}"}
        if shard:
            self._take_shard(*shard)

    def _take_shard(self, number: int, count: int) -> None:
        """Keep the docs of one of several jobs: whole questions and passages, with about as many requests as others."""
        costs = Counter[str]()
        for doc in self._selected.values():
            costs[_unit(doc)] += self._answers_scored(doc)
        if len(costs) < count:
            raise UserError(
                f"{self.task_name}: --shard {number}/{count}: expected at least one question or passage per shard, got "
                f"{len(costs)}. Use at most {len(costs)} shards"
            )
        own = docs.in_shards(costs, count)[number - 1]
        self._selected = {place: doc for place, doc in self._selected.items() if _unit(doc) in own}
        self._selection |= {"shard": f"{number}/{count}"}

    def _prepare_model(self, model: Any) -> None:
        """Prepare a model, and check that it can do what the task needs."""
        if self._form == "loglikelihood":
            back_ends.check_scoring(model, [self.task_name], self.at_once)
        repeats = self._options.repeats > 0
        if repeats and model is not None:
            check_repeats(self.task_name, model, scores=self._form == "loglikelihood")
        if isinstance(model, AskingLM) and (model.described or repeats):
            back_ends.check_replicas(self.task_name, model, model.described or "the option 'repeats'")

    def _choose_letters(self, model: Any) -> None:
        """Choose how letters are scored: all at once by the next token of a server, if this tells them apart."""
        letters = [*map(self.doc_to_choice, self._selected.values())]
        own, alike = compat.behind(model) or getattr(model, "back_end", None), alike_in(letters)
        fits = back_ends.formats_chats(own) or (back_ends.is_served(own) and not alike)
        by_default = "next_token" if fits else "prompt"
        by_next_token = (self._options.letters or by_default) == "next_token"
        if by_next_token and alike:
            raise UserError(
                f"{self.task_name}: the next token does not tell the labels {', '.join(alike)} apart, because some "
                f"begin alike. Let the model write its answers instead: --tasks {self.task_name.removesuffix('_mc')}"
            )
        self.at_once = max(map(len, letters)) * by_next_token

    @property
    def _letters(self) -> str:
        """How letters are scored, for the log and the signature."""
        return f"next token, top {top_of(compat.behind(compat.of_the_run('lm')))}" if self.at_once else "prompt"

    def _load_sampler(self) -> Any:
        """Load the exemplars for the questions of all ranks, so that all ranks raise the same errors."""
        asked = {doc["question_id"] for doc in self._selected.values()}
        return load_sampler(
            self.task_name,
            [question for question in self.dataset[SPLIT] if question.id in asked],
            self.config.num_fewshot,
            *(self._options.seed, self._fewshot_seed),
            options=self._options,
            benchmark=self._benchmark,
            asked_for=self._shots_asked_for,
        )

    def _prepare_stopping(self, model: AskingLM) -> None:
        """Prepare for skipped requests: keep only the metrics that stay exact."""
        model.expect(self.task_name, self.OUTPUT_TYPE)
        if not model.settings:
            return
        check_stopping(self.task_name, model, self.config, self._entries, filters=len(self.scoring.filters))
        stops = model.stop is not None and self.can_stop
        if stops:
            self._print_only([*filter(entries.is_known_early, self.config.metric_list)], [])
        elif model.stop is not None:
            logger.warning(f"{self.task_name}: --stop has no effect: the metrics of this task need all answers")
        self._left_out = {key: value for key, value in model.settings.items() if self.can_stop or key != "stop"}
        if model.until is not None:
            variants = Counter((doc["question_id"], _unit(doc)) for doc in self._selected.values())
            named = model.until.prepare(
                *(self.task_name, self._entries, variants),
                seed=self._options.seed,
                stops=stops,
                signature="" if self._options.constrain and compat.behind(model) is None else self._signature(),
            )
            self._print_only([entry for entry in self.config.metric_list if entry["metric"] in named], [])

    def _print_only(self, printed: list[entries.Entry], study: list[entries.Entry]) -> None:
        self.config.metric_list = printed
        self.scoring.print_only(printed, study)
        # The harness reads `metric_list` once, but the metrics that are printed depend on the run.
        self._aggregation_list = {entry["metric"]: entry["aggregation"] for entry in printed}
        self._higher_is_better = {entry["metric"]: entry.get("higher_is_better") for entry in printed}

    # ---- requests
    def doc_iterator(self, *, rank: int = 0, world_size: int = 1, **_: Any) -> Iterator[tuple[int, Doc]]:
        """The selected docs of a rank, numbered: whole questions, so that one rank can stop and compare them."""
        every = list(enumerate(self._selected.values()))
        return iter(every if world_size == 1 else docs.deal(every, world_size)[rank])

    def fewshot_context(self, doc: Doc, num_fewshot: int, **arguments: Any) -> Any:
        """Build a prompt. Pass the doc to the sampler here: the harness does so only for the scored split."""
        if num_fewshot:
            self.sampler.doc = doc
        return super().fewshot_context(doc, num_fewshot, **arguments)

    def construct_requests(
        self, doc: Doc, ctx: Any, *, apply_chat_template: bool = False, chat_template: Any = None, **given: Any
    ) -> list[Any]:
        """Build the requests of a variant: one, or one for each label if they are scored one by one."""
        answers: list[Any]
        prefix, delimiter = self.config.gen_prefix, self.config.target_delimiter
        if apply_chat_template and (not prefix or prefix[-1].isspace()):
            delimiter = ""
        if self._form == "generate":
            method, answers = self.OUTPUT_TYPE, [self._settings_of(doc, delimiter)]
        elif self.at_once:
            method, answers = "generate_until", [settings_of(compat.behind(compat.of_the_run("lm")))]
        else:
            method, answers = "loglikelihood", [f"{delimiter}{label}" for label in self.doc_to_choice(doc)]
        place = {"task_name": self.task_name, "doc_id": 0, "repeats": self.config.repeats, **given}
        requests = [Instance(method, doc, (ctx, each), idx=number, **place) for number, each in enumerate(answers)]
        target = self.doc_to_target(doc)
        for one in requests:
            one.target = target  # for the samples file
            one.owner = self  # AskingLM finds the task of a request here
        return requests

    def _settings_of(self, doc: Doc, delimiter: str) -> Any:
        """The settings for the answer to a prompt, a copy of their own because some back ends change them."""
        # If the prompt asks for all right letters, the token limit is enough to write them with the texts of their
        # options. If seeds are sent, each sample gets its own, because an API may return the same answer to the same
        # request.
        settings = deepcopy(self.config.generation_kwargs)
        if self.probe.samples and self._sends_seeds:
            settings["seed"] = self._options.seed * doc["variants"] + doc["ordinal"] + 1
        limit, least = settings.get("max_gen_toks"), format_of(doc).tokens(doc)
        if isinstance(limit, int) and limit < least:
            settings["max_gen_toks"] = least
        if self._way:
            settings |= constrained.constraint(self._way, format_of(doc).allowed(doc), delimiter)
        return settings

    def _answers_scored(self, doc: Doc) -> int:
        """The number of answers to a variant that the model scores one by one; 1 if the answer is written."""
        return len(self.doc_to_choice(doc)) if self.OUTPUT_TYPE == "multiple_choice" and not self.at_once else 1

    def agenda(self, *, by_unit: bool = False) -> list[Planned]:
        """The questions of all ranks in random order. The first n are those of the option `questions: n`."""
        costs, units = Counter[str](), dict[str, str]()
        for doc in self._selected.values():
            costs[doc["question_id"]] += self._answers_scored(doc)
            units[doc["question_id"]] = _unit(doc)
        order = in_drawn_order(costs, self._options.seed)
        if by_unit:
            place = {unit: number for number, unit in enumerate(in_drawn_order(units.values(), self._options.seed))}
            order.sort(key=lambda question: place[units[question]])
        return [Planned(self.task_name, question, costs[question], units[question]) for question in order]

    # ---- after the inference
    @property
    def _is_scored(self) -> bool:
        """False with --predict_only."""
        return callable(self.config.process_results)

    def apply_filters(self) -> None:
        """Filter the responses, after attaching to each one what is known about it besides its text."""
        self._has_answers()
        model, scoring = compat.behind(compat.of_the_run("lm")), self.scoring
        is_text = self.OUTPUT_TYPE == "generate_until"
        for instance in self.instances:
            responses = [annotated(model, instance, each) for each in instance.resps] if is_text else instance.resps
            instance.resps = [*map(encodable, responses)]
        unlogged = not compat.of_the_run("log_samples", True)
        scoring.attempt("freeing memory", partial(compat.slim, self.instances, prompts=unlogged))
        scoring.filter(self.instances)
        check = partial(describe_samples, self.instances, sent_seeds=self._sends_seeds)
        if self.probe.samples and (notice := scoring.attempt("the check of the samples", check)):
            logger.warning(f"{self.task_name}: {notice}")
        if self._is_scored:
            scoring.attempt("comparing answers", scoring.compare, self.instances)

    def process_results(self, doc: Doc, results: Sequence[Any]) -> Any:
        """Score one variant, and put its Record under every metric."""
        return self.scoring.row(doc, results) if self._is_scored else super().process_results(doc, results)

    def aggregation(self) -> dict[str, Callable[..., Any]]:
        """Two aggregations of Records per metric: its value, and its standard error under `<metric>_stderr`."""
        names = self._aggregation_list
        if not self._is_scored:
            return {**names}
        values = {name: partial(self.scoring.value, name) for name in names}
        return values | {f"{name}_stderr": partial(self.scoring.stderr, name) for name in names}

    def dump_config(self) -> dict[str, Any]:
        """The configuration for the results file, with names of callables and the signature of the scores."""
        every = self.config.to_dict(keep_callable=True)
        # The metadata also contains --model_args, which may hold live models.
        config = {key: value if key == "metadata" else name_callables(value) for key, value in every.items()}
        given = {**self._declared, **self._options.declared, "name": self._benchmark.name}
        config["benchmark"] = {key: getattr(value, "name", value) for key, value in given.items()}  # an adapter
        config |= {"probe": self.probe.name, "metadata": {**(config.get("metadata") or {}), **self._data.in_metadata()}}
        if self._is_scored:  # W&B's logger looks for each metric of the list in each sample
            config["metrics"] = config["metric_list"]
            config["metric_list"] = [entry for entry in config["metrics"] if entry["metric"] in IN_SAMPLES]
        if names := getattr(compat.behind(compat.of_the_run("lm")), "answered_by", None):
            config["metadata"]["answered_by"] = sorted(names)
        if self._selected:  # else before the run
            signature = self.scoring.attempt("the signature", self._signature)
            config["metadata"] |= {"signature": signature, **self.scoring.summary(followed=self._form == "generate")}
        return config

    def _signature(self) -> str:
        score = self.config.process_results  # after --predict_only, a report reads the answers
        is_read = score is score_response if self._is_scored else self.OUTPUT_TYPE == "generate_until"
        about = about_asking(
            *(f"{self.task_name}@{self.VERSION}", self.probe, self._benchmark, self._options, self._data),
            docs=self.test_docs(),
            exemplars=(self.config.num_fewshot or 0, self._fewshot_seed, getattr(self, "sampler", None)),
            left_out=self._referring or None,
            form=_FORMS.get(self.OUTPUT_TYPE, self.OUTPUT_TYPE),
            letters=self._letters if self._form == "loglikelihood" else None,
            reader=self._options.reader if is_read else None,
            constrained=constrained.kind_of_way(self._way) if self._way else None,
            **self._selection,
        )
        scoring = self.scoring
        return signature_of(
            *(about, self._options, self._left_out, scoring.records or [*map(skipped, self._selected.values())]),
            questions=scoring.table.question_ids,
            filters=len(scoring.filters),
        )


def _unit(doc: Doc) -> str:
    return unit_name(doc["question_id"], doc.get("cluster") or "")
