"""Payloads of the harness' API classes, and back ends that are refused before the first request."""

import os
import sys
import tempfile
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest
from huggingface_hub import constants
from lm_eval.api.registry import get_model, register_model
from lm_eval.tasks import TaskManager

from lm_eval_cora.cli import main
from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.answer_cache import check_cache, default_cache
from lm_eval_cora.harness.asking import stop_early
from lm_eval_cora.harness.back_ends import (
    check_chat_template,
    check_chats,
    check_replicas,
    check_scoring,
    check_vllm,
    check_writing,
    formats_chats,
    is_always_random,
    model_error,
    needs_seeds,
    warn_of_small_batches,
    warn_without_hub,
)
from lm_eval_cora.harness.compat import leave_out_unset
from lm_eval_cora.harness.served import patient
from tests.support.documented import forked, from_start
from tests.support.messages import tells
from tests.support.programs import KEPT, UNREAD, redirected
from tests.support.simulated import TASKS, Simulated, knows
from tests.support.simulated import run as run_simulated

TURNS = [{"role": "user", "content": "Ice?", "type": "text"}]

# Registered name; whether it sends chat turns; whether it sends a seed.
APIS = [
    ("local-completions", False, True),
    ("local-chat-completions", True, True),
    ("openai-completions", False, True),
    ("openai-chat-completions", True, True),
    ("anthropic-chat-completions", True, False),
    ("sglang-generate", False, False),
]


def built(name, **arguments):
    """A model of the harness, built without network access."""
    arguments = {"base_url": "http://127.0.0.1:1/v1/x", "tokenizer_backend": None, **arguments}
    if name == "anthropic-chat-completions":
        del arguments["tokenizer_backend"]
    return patient(get_model(name))(**{"model": "tiny", **arguments})


@pytest.mark.parametrize(("name", "chat", "seeds"), APIS)
def test_the_payload_of_each_api(name, chat, seeds):
    model = built(name)
    assert (formats_chats(model), needs_seeds(model)) == (chat, seeds)
    leave_out_unset(model)
    leave_out_unset(model)  # a second call has no effect
    for until, sent in [([], [None, ["\n\nHuman:"], ["<|endoftext|>"]]), (["X"], [["X"], ["X", "\n\nHuman:"]])]:
        settings = {"until": list(until), "max_gen_toks": 8, "do_sample": True, "temperature": 0.7}
        if seeds:
            settings["seed"] = 5
        payload = model._create_payload(TURNS if chat else ["Ice?"], generate=True, gen_kwargs=settings, seed=1)
        part = payload.get("sampling_params", payload)
        stop = part.get("stop", part.get("stop_sequences"))
        assert stop in sent or stop == [*until, "<|endoftext|>"]
        assert stop != []
        assert payload.get("seed") == (5 if seeds else None)
        assert ("messages" in payload) is chat


def test_models_of_this_process_and_of_a_user_that_take_no_turns():
    class Own(get_model("local-completions")):  # type: ignore[misc]
        def _create_payload(self, messages, **_):
            return {"prompt": "> " + messages[0]}

    own = Own(model="tiny", base_url="http://127.0.0.1:1/v1/x", tokenizer_backend=None)
    for model in (own, Simulated(knows)):
        assert (formats_chats(model), needs_seeds(model)) == (False, False)
    leave_out_unset(model)
    assert not hasattr(model, "_create_payload")


# ---- refused before the first request
class VLLM(Simulated):
    """Has the name and the attributes of the harness' back end for vLLM."""

    enable_thinking = None
    data_parallel_size = 1


def test_replicas_of_vllm_need_seeds_as_well():
    model = VLLM(knows)
    assert not needs_seeds(model)
    model.data_parallel_size = 2
    assert needs_seeds(model)
    samples = run_simulated(model, "cora_demo_sampling", {"questions": 1})["samples"]["cora_demo_sampling"]
    assert {sample["arguments"][0][1]["seed"] for sample in samples} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("template", ["", "{{ messages[0].content }}"])
def test_a_tokenizer_without_a_chat_template_is_found_before_the_model_is_loaded(tmp_path, template):
    transformers, tokenizers = pytest.importorskip("transformers"), pytest.importorskip("tokenizers")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()))
    tokenizer.chat_template = template or None
    tokenizer.save_pretrained(tmp_path)
    with nullcontext() if template else pytest.raises(UserError, match=r"no chat template.* Leave out --apply_chat"):
        check_chat_template("hf", {"pretrained": str(tmp_path), "dtype": "float32"})
    for name, given in [("local-chat-completions", tmp_path), ("hf", "no/such-model"), ("hf", "")]:
        check_chat_template(name, {"pretrained": str(given), "revision": "main"})


def test_a_tokenizer_that_cannot_be_loaded_for_the_first_chat_turn():
    check_chats("simulated", Simulated(knows))
    with pytest.raises(
        UserError, match=r"--apply_chat_template: --model dummy: .* Leave out --apply_chat_template, or"
    ):
        check_chats("dummy", get_model("dummy")())  # whose tokenizer is on the Hub


def test_a_hub_that_cannot_be_reached(server, monkeypatch, caplog):
    for offline, port in ((True, 1), (False, server.port), (False, 1)):  # nothing listens to port 1
        assert caplog.messages == []
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
        warn_without_hub()
    assert tells(caplog.text, "127.0.0.1:1 cannot be reached", "HF_HUB_OFFLINE=1")


def test_vllm_with_enable_thinking_cannot_score():
    model = VLLM(knows)
    check_scoring(model, ["cora_demo_mc"])
    model.enable_thinking = True
    with pytest.raises(UserError, match=r"cora_demo_mc: .*VLLM .*enable_thinking.*--tasks cora_demo$"):
        run_simulated(model, "cora_demo_mc", {"questions": 1})
    assert model.prompts == []


@pytest.mark.parametrize("how", [{}, {"stop": None, "max_gen_toks": (8, 64)}], ids=str)
def test_replicas_that_are_loaded_for_each_wave(how):
    model = VLLM(knows)
    check_replicas("cora_demo", model, "--stop exact")
    model.data_parallel_size = 2
    with pytest.raises(UserError, match=r"data_parallel_size=2 .* `vllm serve MODEL --data"):
        run_simulated(stop_early(model, **how), options={"questions": 1})
    assert model.prompts == []
    assert run_simulated(model, options={"questions": 1})  # in one call


def test_a_back_end_that_samples_despite_greedy_settings():
    assert is_always_random(built("openai-chat-completions", model="gpt-5-mini"))
    assert not any(is_always_random(built(name)) for name, _, _ in APIS)


@pytest.mark.parametrize(
    ("name", "address", "chat", "told"),
    [
        ("local-chat-completions", "localhost:8000/v1", True, "base_url: expected an address such as http://"),
        ("local-chat-completions", "http://127.0.0.1:1/v1/x", False, "sends chat turns. Add --apply_chat_template"),
        ("openai-chat-completions", "http://127.0.0.1:1/v1/x", True, "ValueError: API key not found.*OPENAI_API_KEY"),
    ],
)
def test_a_server_that_cannot_be_asked(name, address, chat, told, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UserError, match=told):
        check_writing(built(name, base_url=address), {}, chat=chat)


def run_plainly(server, *tasks):
    """A run with `lm_eval` alone."""
    chat = {"model_args": server.chat, "apply_chat_template": True}
    run_simulated("local-chat-completions", list(tasks), {"questions": 1}, **chat)


def test_plain_lm_eval_scores_letters_by_the_next_token_and_sends_no_empty_stop(server):
    run_plainly(server, "cora_demo", "cora_demo_mc")
    assert [payload["max_tokens"] for payload in server.payloads].count(1) == 1 + 26
    server.payloads.clear()
    run_plainly(server, "cora_demo_sampling")
    assert len({payload["seed"] for payload in server.payloads}) == 5  # a seed for each sample
    assert not any("stop" in payload for payload in server.payloads)


def test_vllm_is_refused_by_its_arguments_before_it_loads_a_model():
    check_vllm("vllm", {"enable_thinking": True}, [], "")
    check_vllm("vllm", {"data_parallel_size": 2}, ["cora_demo_mc"], "")
    check_vllm("sglang", {"data_parallel_size": 2, "enable_thinking": True}, ["cora_demo_mc"], "--stop exact")
    with pytest.raises(UserError, match=r"cora_demo_mc: .*vllm .*enable_thinking"):
        check_vllm("vllm", {"enable_thinking": True}, ["cora_demo_mc"], "")
    with pytest.raises(UserError, match=r"--stop exact: .*data_parallel_size=2"):
        check_vllm("vllm", {"data_parallel_size": 2}, [], "--stop exact")


def test_small_batches_for_an_engine_with_its_own_batching_cause_a_warning(caplog):
    model = VLLM(knows)
    for size in ({}, {"batch_size": "auto"}, {"batch_size": 1}):
        assert caplog.messages == []
        vars(model).update(size)
        warn_of_small_batches(model)
    assert "Use --batch_size auto" in caplog.text


# ---- a model that cannot be built
@register_model("broken-on-purpose")
class Broken(Simulated):
    """A model whose constructor fails."""

    def __init__(self, pretrained, **_):
        raise OSError(f"{pretrained} is not a local folder\nand is not a valid model identifier")


NOT_BUILT = [
    (["broken-on-purpose"], "Name the model: --model_args pretrained=ORG/MODEL"),
    (["broken-on-purpose", "--model_args", "pretrained=nobody/nothing"], "nobody/nothing is not a local"),
    *[(["vllm"], "pip install 'lm-eval[vllm]'")] * (find_spec("vllm") is None),
]


def test_a_missing_gguf_package_is_named():
    error = ImportError("Please install torch and gguf>=0.10.0 to load a GGUF checkpoint in PyTorch.")
    assert tells(str(model_error("hf", {"pretrained": "m"}, error)), "pip install gguf")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("arguments", "told"), NOT_BUILT)
def test_a_model_that_cannot_be_built_is_one_line(arguments, told, capsys):
    command = ["run", "--model", *arguments, "--tasks", "cora_demo", "--include_path", str(TASKS)]
    assert main(command) == 1
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert tells(err.splitlines()[-1], f"run: --model {arguments[0]}: the model cannot be built: ", told)
    assert main([*command, "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


# ---- the disk
def test_a_cache_that_cannot_be_opened(tmp_path):
    (tmp_path / "text.db").write_text("a text of some length, which is not a database" * 40)
    (tmp_path / "folder.db").mkdir()
    for _ in range(2):
        check_cache(str(tmp_path / "new" / "fine.db"))
    for name in ("text.db", "folder.db", "text.db/inside.db"):
        with pytest.raises(UserError, match=r": cannot store answers in this file: "):
            check_cache(str(tmp_path / name))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "arguments",
    [
        ["--output_path", "{file}"],
        ["--use_cache", "{file}/cache"],
        ["--output_path", "{file}-out", "--model_args", f"pretrained=org/{'m' * 255}"],
    ],
    ids=["output", "cache", "long name"],
)
def test_the_disk_is_checked_before_the_model_is_built(tmp_path, arguments, capsys):
    (tmp_path / "file").write_text("")
    given = [text.format(file=tmp_path / "file") for text in arguments]
    command = ["run", "--model", "broken-on-purpose", "--tasks", "cora_demo", "--include_path", str(TASKS), *given]
    assert main(command) == 1
    assert "cannot be built" not in (err := capsys.readouterr().err)
    assert arguments[0] in err.splitlines()[-1]


def test_a_folder_with_other_weights_has_another_file(tmp_path):
    weights = tmp_path / "weights.bin"
    weights.write_text("one")

    def named(**more):
        return default_cache("out", "hf", {"pretrained": str(tmp_path), "dtype": "float32", **more}, [])

    first = named()
    assert named() == first == named(num_concurrent=3)
    assert named(dtype="bfloat16") != first
    assert default_cache("out", "hf", {"pretrained": str(tmp_path), "dtype": "float32"}, ["5d0f2e8"]) != first
    os.utime(weights, ns=(1, 1))
    assert named() != first
    assert Path(first).parent == Path("out")
    assert Path(default_cache("out/x.json", "hf", {}, [])).parent == Path("out")


def test_nobody_reads_the_table(tmp_path):
    arguments = ["--model", "dummy", "--tasks", "cora_demo", "--include_path", str(TASKS), "--limit", "1"]
    with tempfile.TemporaryFile() as err:

        def run():
            sys.stderr = redirected(2, KEPT, err)  # type: ignore[assignment]
            with patch("sys.stdout", redirected(1, UNREAD, err)) as out:
                status = main(["run", *arguments, "--output_path", str(tmp_path)])
                out.flush()  # as Python does at its end
            return status

        ours = partial(TaskManager, include_defaults=False)
        with patch("lm_eval.evaluator.add_env_info"), patch("lm_eval.tasks.TaskManager", ours):
            status = forked(run, err.fileno(), err.fileno())
        told = from_start(err)
    assert status == 0, told[-2000:]
    assert "Traceback" not in told
    assert "BrokenPipe" not in told
    assert list(tmp_path.rglob("results_*.json"))
