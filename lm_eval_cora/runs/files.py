"""Find the samples files of the harness and the results file of each."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from lm_eval_cora.answers import Reader
from lm_eval_cora.errors import UserError
from lm_eval_cora.questions.benchmark import OF_THE_DATA, Data
from lm_eval_cora.questions.rows import COMPRESSED, reading
from lm_eval_cora.runs.signature import WHERE_IT_ENDS, not_settings, shard_of, signature_parts

_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?")
# Copies have a further part in their names, such as " (1)".
_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<date>{_DATE.pattern}).*")
_SAMPLES = re.compile(r"samples_.*\.jsonl(\.(gz|zip|bz2|xz|zst))?")
_NO_LINES = {  # how a file begins that has no JSON object in each line, and what to do
    COMPRESSED: "it is compressed. Unpack it",
    rb"(\xff\xfe)?[{\[]\0|(\xfe\xff)?\0[{\[]": "it is not UTF-8 but UTF-16. Save it as UTF-8",
    rb"(\xef\xbb\xbf)?(\[\s*\{|\{\s*\n\s*\")": "expected one JSON object per line, as jq -c writes it",
}
# A model in the cache of the Hub. The harness replaces slashes in the names of its folders.
_SNAPSHOT = re.compile(r".*models--(.+?)(?:/|__)snapshots(?:/|__)([0-9a-f]{40})/?")
_LARGEST = 200_000_000  # size in bytes of a JSON file that is certainly not a results file or a record
R = TypeVar("R", bound=Any)
T = TypeVar("T")
K = TypeVar("K")


@dataclass(frozen=True)
class SamplesFile:
    """A samples file and the results file of the same run."""

    path: Path
    task: str
    date: str  # empty if the file name has none
    model: str  # from the results file, from another results file in the folder, or from the folder
    results: Mapping[str, Any]  # empty without a results file
    unchecked: str = ""  # reason why there is no results file; empty if there is one
    log: Path | None = None  # of Inspect, from which `path` was written

    @property
    def origin(self) -> Path:
        """The file that the user knows."""
        return self.log or self.path

    @property
    def config(self) -> Mapping[str, Any]:
        """Configuration of the task in the results file; empty without one."""
        return part_of(part_of(self.results, "configs"), self.task)

    @property
    def data(self) -> Data:
        """Identity of the questions, as far as the results file has it."""
        return Data.of(part_of(self.config, "metadata"))

    @property
    def signature(self) -> str:
        """The signature of the scores; empty without a results file."""
        return str(part_of(self.config, "metadata").get("signature") or "")

    @property
    def shard(self) -> tuple[int, int]:
        """Which part of how many of a run these samples are."""
        return shard_of(self.signature)

    @property
    def reader(self) -> str:
        """Reader of written answers; empty without a results file and for scored answers."""
        return signature_parts(self.signature).get("reader", "")

    @property
    def settings(self) -> Any:
        """Settings of the run, to compare with those of another run; None without a signature."""
        if not self.signature:
            return None
        # The digest identifies the user's files better than their names do.
        known = signature_parts(self.signature)
        left_out = {*not_settings(known), *OF_THE_DATA, "reader"} | ({"data_files"} if self.data.digest else set())
        parts = {name: value for name, value in known.items() if name not in left_out}
        return (
            parts,
            self.shard[1],
            part_of(self.results, "config").get("model_args"),
            sent_with(self.results, self.task),
        )


_CHAT_APIS = (
    *("local-chat-completions", "openai-chat-completions", "azure-openai-chat-completions", "anthropic-chat"),
    *("anthropic-chat-completions", "litellm", "litellm-chat", "litellm-chat-completions", "LocalChatCompletion"),
    *("OpenAIChatCompletion", "AzureOpenaiChatCompletionsLM", "AnthropicChat", "LiteLLMChatCompletion"),
)
"""Back ends of the harness that send chat turns. Runs started from Python have the name of the class."""


def chat_template_of(results: Mapping[str, Any]) -> str | None:
    """Return the digest of the chat template in a results file; None if no template was applied."""
    if (sha := results.get("chat_template_sha")) is not None:
        return str(sha)
    return "applied by the server" if part_of(results, "config").get("model") in _CHAT_APIS else None


def sent_with(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Settings for sending prompts, beside the task itself. They may differ between models."""
    return {
        "generation_kwargs": part_of(part_of(results, "configs"), task).get("generation_kwargs"),
        "chat_template_sha": chat_template_of(results),
        "system_instruction": results.get("system_instruction") or results.get("system_instruction_sha"),
        "fewshot_as_multiturn": results.get("fewshot_as_multiturn"),
    }


def part_of(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a mapping inside a results file; empty if it is missing or not a mapping."""
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}


def date_in(path: Path) -> str:
    """The date in the name of a file, as the harness and Inspect write it; empty if there is none."""
    found = _DATE.search(path.name)
    return found[0] if found else ""


def find_files(path: Path) -> list[SamplesFile]:
    """Find the samples files for a path."""
    try:
        path.stat()
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file or folder") from None
    except (OSError, ValueError) as error:  # ValueError: a null character
        raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if path.is_dir():
        found = files_in(path, lambda name: _SAMPLES.fullmatch(name) is not None)
        found = [file for file in found if file.with_suffix("") not in found]  # a compressed file and its content
    elif path.suffix == ".json":
        date = _DATE.search(path.stem)
        found = sorted(path.parent.glob(f"samples_*_{date[0]}*.jsonl")) if date else []
    else:
        found = [path]
    read = cache(_read_results)  # the samples files of a run share their results file
    return [_file(samples, read) for samples in found]


def lines_of_samples(path: Path) -> Path:
    """Record a samples file that is read, and refuse one that has no JSON object in each line."""
    with reading(path).open("rb") as file:
        head = file.read(100)
    for begin, why in _NO_LINES.items():
        if re.match(begin, head):
            raise UserError(f"{path}: cannot be read: {why}")
    return path


def files_in(path: Path, wanted: Callable[[str], bool]) -> list[Path]:
    """Find the files in a folder whose name is wanted, each once, also through symbolic links."""
    found: list[Path] = []
    seen: set[str] = set()
    for folder, inside, names in os.walk(path, onerror=_refuse, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:  # a link to a folder above it, or to one beside it
            inside.clear()
            continue
        seen.add(real)
        # Folders come before links, so that files have the paths that the harness wrote.
        inside.sort(key=lambda name: (os.path.islink(os.path.join(folder, name)), name))
        found += [Path(folder, name) for name in names if wanted(name)]
    links_first = sorted(found, key=lambda file: (file.is_symlink(), file), reverse=True)
    return sorted({os.path.realpath(file): file for file in links_first}.values())


def _refuse(error: OSError) -> NoReturn:
    raise UserError(
        f"{error.filename}: cannot be read: {error.strerror}. Change its permissions, or pass only the folders "
        "inside that you can read"
    ) from None


def grouped_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items with each key, in the order of the items."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def grouped(files: Iterable[SamplesFile]) -> list[list[SamplesFile]]:
    """Group the files that can belong to one run: files of one model, one task and the same questions."""
    newest_first = sorted(files, key=lambda file: file.date, reverse=True)
    known = {(file.model, file.task): file.data for file in reversed(newest_first) if file.data.digest}

    def key(file: SamplesFile) -> tuple[str, str, Data]:
        # A file without a digest joins the newest file that has one, but `not_mergeable` leaves one of the two out.
        data = file.data if file.data.digest else known.get((file.model, file.task), Data())
        return file.model, file.task, data

    return [group for _, group in sorted(grouped_by(newest_first, key).items())]


def not_mergeable(newest: SamplesFile, older: SamplesFile, reader: Reader | None) -> str:
    """Reason why two files cannot be merged, by their results files; empty if they can."""
    if newest.settings is None or older.settings is None:
        return "without both results files the settings of the two cannot be compared"
    if bool(newest.data.digest) != bool(older.data.digest):
        which = "it" if newest.data.digest else "the newer file"
        return f"{which} has no digest of its questions, so the questions of the two cannot be compared"
    if "until" in signature_parts(newest.signature):
        return "runs with --until are not merged with others"
    if newest.settings == older.settings:
        return "" if reader or newest.reader == older.reader else f"its reader was {older.reader}, not {newest.reader}"
    (parts, *_), (others, *_) = newest.settings, older.settings
    stopped = any(parts.get(name) != others.get(name) for name in WHERE_IT_ENDS)
    return "its --stop, --budget or --until differs" if stopped else "its settings differ"


def _file(path: Path, read: Callable[[Path], Mapping[str, Any]]) -> SamplesFile:
    match = _NAME.fullmatch(path.name)
    task, date = (match["task"], match["date"]) if match else (path.stem.removeprefix("samples_"), "")
    beside = sorted(path.parent.glob(f"*_{date}*.json")) if date else []
    results = next(filter(None, map(read, beside)), {})
    broken = f"{beside[0].name} cannot be read as a results file" if beside else ""
    unchecked = "" if results else broken or "there is no results file beside the samples"
    # An interrupted run has no results file, but earlier runs of the model in the same folder may have one.
    others = [results] if results else filter(None, map(read, path.parent.glob("results_*.json")))
    models = {*map(model_of, others)} - {""}
    model = models.pop() if len(models) == 1 else path.absolute().parent.name
    return SamplesFile(path, task, date, model, results, unchecked)


def model_of(results: Mapping[str, Any]) -> str:
    """The name of the model in results; that of the back end if it has none, as the harness' dummy."""
    config, given = part_of(results, "config"), str(results.get("model_name") or "")
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    known = arguments if isinstance(arguments, Mapping) else {}
    names = (known.get(name) for name in ("peft", "delta", "pretrained", "model", "path", "engine"))
    own = next(filter(None, names), config.get("model"))
    # The harness draws a name for its files if the arguments have none.
    is_drawn = own and own == results.get("model_source") and re.fullmatch("[a-z0-9]{8}", given)
    return str((not is_drawn and given) or own or "")


def _read_results(path: Path) -> Mapping[str, Any]:
    """Read a results file; empty if the file cannot be read or is not a results file."""
    results = read_json(path)
    return results if isinstance(results.get("results"), dict) else {}


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with a JSON object; empty if the file cannot be read or has another value."""
    try:
        # Bytes, because json.loads knows UTF-16 and byte order marks.
        found = json.loads(reading(path).read_bytes()) if path.stat().st_size < _LARGEST else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def with_all_notes(groups: Iterable[tuple[list[R], list[str]]]) -> list[R]:
    """The runs of all groups of files. Notes of groups without a run are shown with the first run."""
    runs: list[R] = []
    lost: list[str] = []
    for found, notes in groups:
        runs += found
        lost += [] if found else notes
    if runs and lost:
        runs[0] = replace(runs[0], notes=(*runs[0].notes, *lost))
    return runs


def listed(broken: Counter[str]) -> str:
    """The reasons why lines were left out, with their numbers."""
    return ", ".join(f"{count:,} {reason}" for reason, count in broken.most_common())


def hub_name(model: str, *, revision: bool = False) -> str:
    """The repository of a snapshot in the cache of the Hub; any other name stays unchanged."""
    found = _SNAPSHOT.fullmatch(model)
    if not found:
        return model
    name = found[1].replace("--", "/")
    return f"{name}@{found[2][:7]}" if revision else name


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Shorten the paths of local models as far as the names stay different."""
    names = {model: hub_name(model) for model in models}
    if len(set(names.values())) < len(names):
        names = {model: hub_name(model, revision=True) for model in names}
    parts = range(1, max((len(Path(name).parts) for name in names), default=0))
    shorter = ({model: _ending(name, count) for model, name in names.items()} for count in parts)
    found = (short for short in chain(shorter, [names]) if len(set(short.values())) == len(names))
    return next(found, {model: model for model in names})


def _ending(model: str, count: int) -> str:
    """The last parts of a path, with … for those in the middle; ids on the Hub stay unchanged."""
    path = Path(model)
    if not path.is_absolute() and not model.startswith("."):
        return model
    parts = [part for part in path.parts if part != path.anchor][-count:]
    return "/".join(parts if count < 3 else [parts[0], "…", parts[-1]])
