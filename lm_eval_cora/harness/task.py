"""The task class: makes docs and requests from a benchmark, checks a run, and writes its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from math import isnan
from typing import Any

from lm_eval.defaults import DEFAULT_OTHER_SEED
from tqdm import tqdm

from lm_eval_cora import metrics
from lm_eval_cora.answers.formats import format_of
from lm_eval_cora.answers.records import Record, skipped
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness import docs
from lm_eval_cora.harness.asking import AskingLM
from lm_eval_cora.harness.back_ends import check_replicas, check_scoring, formats_chats, in_a_line, needs_seeds
from lm_eval_cora.harness.checks import (
    check_comparison,
    check_exemplar_settings,
    check_metadata,
    check_sampling,
    check_seeds,
    check_stopping,
)
from lm_eval_cora.harness.compat import (
    filters_of,
    leave_out_empty_stops,
    limit_of_the_run,
    model_of_the_run,
    number_samples,
    rename_token_limit,
    seed_rank,
    set_metrics,
)
from lm_eval_cora.harness.docs import Doc, Docs
from lm_eval_cora.harness.fewshot import ExemplarSampler, load_sampler
from lm_eval_cora.harness.forwarding import behind
from lm_eval_cora.harness.loading import SPLIT, load_benchmark, to_question
from lm_eval_cora.harness.notices import describe_cost, describe_stopping
from lm_eval_cora.harness.requests import chosen_docs, deal, with_room_for
from lm_eval_cora.harness.results_file import data_of, digest_of, name_callables, questions_digest, signature_of
from lm_eval_cora.harness.scored import CHECKER, ScoredTask, metric_keys
from lm_eval_cora.harness.served import tell_how_answers_end
from lm_eval_cora.harness.task_config import (
    OWN_KEYS,
    benchmark_of,
    in_the_language_of,
    options_of,
    probe_of,
    templates_of,
)
from lm_eval_cora.log import logger
from lm_eval_cora.metrics import Estimate
from lm_eval_cora.metrics.entries import (
    DROPPED_TEMPLATE,
    applies_to,
    check_metrics,
    compute,
    features_of,
    is_estimated,
    is_in_table,
    is_known_early,
)
from lm_eval_cora.metrics.estimate import for_json
from lm_eval_cora.metrics.responses import ResponseTable
from lm_eval_cora.questions.question import Form

_RATE = 10.0
"""Assumed requests per second in a dry run. A real run reports its own rate after 20 s."""

_FORMS: dict[str, Form] = {"generate_until": "generate", "multiple_choice": "loglikelihood"}


class CoraTask(ScoredTask):
    """A ConfigurableTask whose docs are variants and whose metrics are functions of a ResponseTable.

    In the YAML file, `aggregation` is the function of a metric, such as `lm_eval_cora.metrics.bmca`. Further keys of
    the entry, such as `level`, are parameters of this function. `process_results` returns a Record, and `process_docs`
    gets the options.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        metadata = config.get("metadata") or {}
        check_metadata(config["task"], metadata)
        options = options_of(config)
        self.probe = probe_of(config)
        self._benchmark = benchmark_of(config, options)
        self._options = in_the_language_of(self._benchmark, options)
        self._declared: Mapping[str, Any] = config["benchmark"]
        config = {key: value for key, value in config.items() if key not in OWN_KEYS}
        config |= {"process_docs": docs.process_docs, "custom_dataset": load_benchmark, "test_split": SPLIT}
        check_exemplar_settings(config)
        check_metrics(config["task"], config.get("metric_list"))
        self._form = _FORMS.get(config.get("output_type", ""), "generate")
        self._samples = self.probe.samples
        self._sends_seeds = False
        self._writes = not self._benchmark.has_options
        if self._writes:
            check_comparison(config["task"])
        sampled = self._options.variants is not None
        with _naming(config["task"]):
            features = self._features(config["metric_list"])
        chosen = [
            entry
            for entry in config["metric_list"]
            if applies_to(entry, self._form, sampled=sampled, features=features)
        ]
        self._entries = chosen
        config["metric_list"] = [entry for entry in chosen if is_in_table(entry)]
        self._study: list[Any] = []
        self._docs: Docs | None = None
        self._selected: dict[int, Doc] = {}
        self._selection: dict[str, object] = {}
        self._chat = False
        self._left_out: dict[str, object] = {}
        self._fewshot_seed = DEFAULT_OTHER_SEED
        self._shots_asked_for = False
        self._records: Sequence[Record] = ()
        self._table = ResponseTable.from_records(())
        self._estimates: dict[str, Estimate] = {}
        try:
            super().__init__(config=config)
            self.construct_requests(self.task_docs[0], "", metadata=(config["task"], 0, 1))
        except UserError:
            raise
        except Exception as error:
            raise UserError(
                f"{config['task']}: the task file cannot be used: {in_a_line(error)}. If the file is your own, "
                "compare its settings with the fragments that it includes"
            ) from error
        if not config["metric_list"]:
            raise UserError(
                f"{config['task']}: metric_list: expected at least one metric for the table, got none for the form "
                f"{self._form!r} with the options {self._options.changed()}. Add a metric of this form without "
                "`table: false`, and with `sampled` if the option 'variants' is set"
            )
        self._check_scoring()
        self._keys = metric_keys(entry["metric"] for entry in config["metric_list"])
        self._directions: Mapping[str, Any] = self.higher_is_better()

    # ---- before the first request

    def download(self, *_: Any, **__: Any) -> None:
        """Load the benchmark with our options only: the metadata also contains all `--model_args`."""
        self.dataset = load_benchmark(options=self._options, benchmark=self._benchmark)
        self._data = data_of(self._benchmark, self.dataset[SPLIT])

    def test_docs(self) -> Docs:
        """All variants. They are made once, because the harness calls this five times in a run."""
        if self._docs is None:
            rows = self.dataset[self.config.test_split]
            with _naming(self.config.task):
                self._docs = self.config.process_docs(
                    rows, self.probe, self._options, form=self._form, benchmark=self._benchmark
                )
        return self._docs

    def _features(self, entries: Sequence[Mapping[str, Any]]) -> set[str]:
        """The features of the benchmark. Templates are read only if a metric depends on them."""
        named = {feature for entry in entries for feature in str(entry.get("only", "")).split()}
        kinds: list[str] = []
        if DROPPED_TEMPLATE in named:
            kinds = [template.name for template in templates_of(self._benchmark, self._options).all]
        return features_of(
            is_open=self._writes,
            macro_average=self._benchmark.macro_average,
            kinds=kinds,
            has_cyclic_orders="orders" in self.probe.options and self._options.orders == "cyclic",
        )

    def fewshot_docs(self) -> None:
        """Return None: exemplars are loaded with the requests, and only if there are shots."""
        return

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Store the seed. None becomes a fixed seed, so that all variants of a question get the same exemplars."""
        self._fewshot_seed = DEFAULT_OTHER_SEED if seed is None else seed

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Change the configuration, and record whether the user set the number of shots."""
        self._shots_asked_for |= key == "num_fewshot"
        super().set_config(key, value, update=update)

    def build_all_requests(self, **arguments: Any) -> None:
        """Build the requests, and log their cost in one line."""
        samples = arguments.get("samples")
        arguments["samples"] = getattr(samples, "questions", samples)
        self.prepare(model_of_the_run(), **arguments | {"limit": limit_of_the_run(arguments.get("limit"))})
        if arguments["samples"]:
            number_samples(self.task_name, self._selected, arguments["samples"])
        arguments |= {"limit": None, "samples": None}  # they would count docs
        if arguments.get("cache_requests"):
            # The cache key contains the task but not the options: a run with another seed would get these requests.
            logger.warning("%s: --cache_requests is disabled: its cache key ignores the options", self.task_name)
            arguments |= {"cache_requests": False, "rewrite_requests_cache": False}
        if self._samples:
            seed_rank(arguments.get("rank", 0))
        CHECKER.share = arguments.get("world_size", 1)
        model = behind(model_of_the_run())
        self._chat = bool(arguments.get("apply_chat_template")) or formats_chats(model)
        if (instruction := arguments.get("system_instruction")) and not self._chat and not instruction[-1].isspace():
            # The harness puts a delimiter after a description but not after an instruction: "Be brief.Answer the ..."
            arguments["system_instruction"] = instruction + self.config.fewshot_delimiter
        super().build_all_requests(**arguments)
        cost = describe_cost(
            ((one.doc, one.args[0], self.answers_scored(one.doc)) for one in self.instances if one.idx == 0),
            repeats=self.config.repeats,
            ranks=arguments.get("world_size", 1),
        )
        stopping = describe_stopping(self._left_out, is_sample=self._options.questions is not None)
        logger.info("%s: %s%s%s", self.task_name, "at most " if self._left_out else "", cost, stopping)

    def cost(self, limit: float | None = None) -> str:
        """Check that the task can run, and describe its cost in one line, without keeping its requests."""
        self.prepare(None, limit=limit)
        shots = self.config.num_fewshot or 0
        asked = tqdm(self._selected.values(), self.task_name, unit="variant", disable=None, leave=False)
        prompts = ((doc, self.fewshot_context(doc, shots), self.answers_scored(doc)) for doc in asked)
        return describe_cost(prompts, repeats=self.config.repeats, rate=_RATE)

    def prepare(self, model: Any, **arguments: Any) -> None:
        """Check that the task can run with these options, and prepare it."""
        docs = self.test_docs()
        self._selected = {number: docs[number] for number in chosen_docs(self.task_name, docs, **arguments)}
        self._selection = {}
        if len(self._selected) < len(docs):
            samples, limit = arguments.get("samples"), arguments.get("limit")
            numbers = questions_digest({"number": number} for number in set(samples or ()))
            self._selection = {"samples": numbers} if samples else {"limit": f"{limit or 0:g}"}
        if callable(self.config.process_results):  # not --predict_only
            table = [entry for entry in self._entries if is_in_table(entry)]
            self._set_metrics(table, self._entries if len(table) < len(self._entries) else [])
        if self.config.num_fewshot:
            self.sampler = self._load_sampler({doc["question_id"] for doc in self._selected.values()})
        if self._study and len(filters_of(self)) > 1:
            logger.warning("%s: with several filters the results have only the metrics of the table", self.task_name)
        rename_token_limit(self.config.generation_kwargs or {})
        self._left_out = {}
        if isinstance(model, AskingLM):
            self._leave_out(model)
            if model.limits and self._form == "generate":
                self.config.generation_kwargs["max_gen_toks"] = model.limits[-1]
        if self._samples:
            check_sampling(self.task_name, self.config.generation_kwargs or {})
            check_seeds(self.task_name, self._options, model)
            own = self._options.request_seeds
            self._sends_seeds = needs_seeds(behind(model)) if own is None else own
        leave_out_empty_stops(behind(model))
        tell_how_answers_end(behind(model))
        if self._form == "loglikelihood":
            check_scoring(model, [self.task_name])
        if isinstance(model, AskingLM) and model.calls_often:
            check_replicas(self.task_name, model, model.described)

    def doc_iterator(self, *, rank: int = 0, world_size: int = 1, **_: Any) -> Iterator[tuple[int, Doc]]:
        """The selected docs of a rank, numbered: whole questions, so that one rank can stop and compare them."""
        every = list(enumerate(self._selected.values()))
        return iter(every if world_size == 1 else deal(every, world_size)[rank])

    def _leave_out(self, model: AskingLM) -> None:
        """Prepare for skipped requests: keep only the metrics that stay exact."""
        model.expect(self.task_name, self.OUTPUT_TYPE)
        if not model.leaves_out:
            return
        check_stopping(
            self.task_name,
            model,
            self.config,
            self._entries,
            filters=len(filters_of(self)),
        )
        if model.stop is not None and self.can_stop:
            is_printed = is_known_early if model.whole is None else is_estimated
            self._set_metrics([entry for entry in self.config.metric_list if is_printed(entry)], [])
        elif model.stop is not None:
            logger.warning("%s: --stop has no effect: the metrics of this task need all answers", self.task_name)
        self._left_out = {key: value for key, value in model.settings().items() if self.can_stop or key != "stop"}

    def _set_metrics(self, entries: list[Any], study: list[Any]) -> None:
        self.config.metric_list, self._study = entries, study
        set_metrics(
            self,
            {entry["metric"]: entry["aggregation"] for entry in entries},
            {entry["metric"]: self._directions[entry["metric"]] for entry in entries},
        )
        self._keys = metric_keys(entry["metric"] for entry in entries)

    def _load_sampler(self, asked: set[str]) -> ExemplarSampler:
        """Load the exemplars for the questions of all ranks, so that all ranks raise the same errors."""
        rows = self.dataset[self.config.test_split]
        return load_sampler(
            self.task_name,
            {row["id"]: to_question(row) for row in rows if row["id"] in asked},
            self.config.num_fewshot,
            *self._seeds,
            options=self._options,
            benchmark=self._benchmark,
            asked_for=self._shots_asked_for,
        )

    @property
    def _seeds(self) -> tuple[int, int]:
        """Seeds of the exemplars: the option `seed` and the last seed of the harness' --seed."""
        return self._options.seed, self._fewshot_seed

    def fewshot_context(self, doc: Doc, num_fewshot: int, **arguments: Any) -> Any:
        """Build a prompt. Pass the doc to the sampler here: the harness does so only for the scored split."""
        if num_fewshot:
            self.sampler.doc = doc
        return super().fewshot_context(doc, num_fewshot, **arguments)

    def construct_requests(self, doc: Doc, ctx: Any, **arguments: Any) -> Any:
        """Build a request.

        If the prompt asks for all right letters, the token limit is enough to write them with the texts of their
        options. If seeds are sent, each sample gets its own, because an API may return the same answer to the same
        request.
        """
        request = super().construct_requests(doc, ctx, **arguments)
        if self._form == "generate":
            prompt, settings = request.arguments
            if self._samples and self._sends_seeds:
                settings = {**settings, "seed": self._options.seed * doc["variants"] + doc["ordinal"] + 1}
            settings = with_room_for(format_of(doc).tokens(doc), settings)
            request.arguments = (prompt, settings)
        for one in request if isinstance(request, list) else [request]:
            one.owner = self  # AskingLM finds the task of a request here
        return request

    def dump_config(self) -> dict[str, Any]:
        """The configuration for the results file, with names of callables and the signature of the scores."""
        config = {
            # The metadata also contains --model_args, which may hold live models.
            key: value if key == "metadata" else name_callables(value)
            for key, value in self.config.to_dict(keep_callable=True).items()
        }
        given = {**self._declared, **self._options.declared, "name": self._benchmark.name}
        config["benchmark"] = {key: getattr(value, "name", value) for key, value in given.items()}  # an adapter
        config |= {"probe": self.probe.name, "metadata": {**(config.get("metadata") or {}), **self._data.in_metadata()}}
        if not self._selected:  # before the run
            return config
        ours = {"signature": self._attempt("the signature", self._signature)}
        scored = self._records and len(filters_of(self)) == 1  # with several filters the table is the last one's
        if scored:
            ours["intervals"] = self._attempt("the intervals", self._intervals)
        if scored and self._table.is_whole:
            followed = [metrics.followed_by_kind] if self._form == "generate" else []
            for by_kind in (metrics.accuracy_by_kind, metrics.invalid_by_kind, *followed):
                ours[by_kind.__name__] = self._attempt(by_kind.__name__, partial(by_kind, self._table))
            if self._study:
                ours["study"] = {
                    entry["metric"]: self._attempt(entry["metric"], partial(_as_json, entry, self._table))
                    for entry in self._study
                }
        return {**config, "metadata": {**config["metadata"], **ours}}

    def _intervals(self) -> dict[str, tuple[float, float]]:
        """The 95% confidence interval of each metric of the table that has one."""
        found = {entry["metric"]: self._compute(entry).interval for entry in self.config.metric_list}
        return {name: (low, high) for name, (low, high) in found.items() if not isnan(low)}

    def _signature(self) -> str:
        templates = {doc["template"] for doc in self.test_docs() if "template" in doc}
        revision = None if self._options.data_files else self._benchmark.source.revision
        shots = self.config.num_fewshot or 0
        fewest = f"{self.sampler.fewest}-" if shots and self.sampler.fewest < shots else ""
        return signature_of(
            self._table,
            {
                "task": f"{self.task_name}@{self.VERSION}",
                **self._data.in_signature(self.task_name),
                "probe": self.probe.name,
                "form": _FORMS.get(self.OUTPUT_TYPE, self.OUTPUT_TYPE),
                **({"reader": self._options.reader} if self.reads_answers else {}),
                "shots": f"{fewest}{shots}@{self._fewshot_seed}" if shots else 0,
                **({"exemplars": self.sampler.signature} if shots else {}),
                **({"revision": revision} if revision else {}),
                **({"math-verify": version("math-verify")} if self._writes else {}),
                **({"prompts": digest_of(templates)} if templates else {}),
                **self._selection,
            },
            self._options,
            self._records or list(map(skipped, self._selected.values())),
            self._left_out,
            alone=len(filters_of(self)) == 1,
        )


def _as_json(entry: Mapping[str, Any], table: ResponseTable) -> Any:
    return for_json(compute(entry, table))


@contextmanager
def _naming(task: str) -> Iterator[None]:
    """Put the name of the task before an error about options."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{task}: {error}") from None
