"""A wrapper has the same attributes and methods as the wrapped model."""

import copy
from functools import partial
from types import SimpleNamespace

import pytest
from lm_eval.api.model import LM, CachingLM

from lm_eval_cora.errors import UserError
from lm_eval_cora.harness.asking import AskingLM, stop_early
from lm_eval_cora.harness.compat import ForwardingLM, behind
from tests.support.simulated import Simulated, knows, run

CALLED = {"chat_template", "apply_chat_template", "all_gather", "gather_object", "barrier", "loglikelihood_rolling"}
"""Methods that a model of the tests records."""


class Elsewhere(Simulated):
    """The third of four ranks, with attributes that only back ends have. It records its calls."""

    rank, world_size, device, tokenizer_name = 2, 4, "cuda:2", "org__model"

    def __init__(self):
        super().__init__(knows)
        self.noted = []
        self.batch_sizes = {0: 16, 1: 8}
        self.tokenizer = object()
        self.config = SimpleNamespace(_name_or_path="org/model")

    def _note(self, name, *arguments, **named):
        self.noted.append((name, arguments, named))
        return name, arguments, named

    def __getattribute__(self, name):
        if name in CALLED:
            return partial(self._note, name)
        return super().__getattribute__(name)

    def get_model_info(self):
        return {"model_num_parameters": 7, "model_dtype": "torch.bfloat16"}


class Alone(Simulated):
    """A minimal model, at the top of a module so that it can be pickled."""

    def __init__(self):
        super().__init__(knows)


@pytest.fixture(params=["forwarding", "stop_early", "everything", "cached"])
def layer(request, tmp_path):
    model = Elsewhere()
    return {
        "forwarding": lambda: ForwardingLM(model),
        "stop_early": lambda: stop_early(model),
        "everything": lambda: AskingLM(model),
        "cached": lambda: stop_early(CachingLM(model, str(tmp_path / "cache.db"))),
    }[request.param](), model


def test_all_that_the_base_class_has_is_passed_on_by_name():
    # Python does not call `__getattr__` for these. If a later harness has one more, this test must fail.
    constructors = {"create_from_arg_string", "create_from_arg_obj"}
    members = {name for name in vars(LM) if not name.startswith("_")} - constructors
    assert members >= {"rank", "world_size", "device", "all_gather", "barrier", "set_cache_hook"}
    missing = members - set(vars(ForwardingLM))
    assert not missing


def test_all_attributes_of_an_instance_of_the_base_class_are_the_models(layer):
    proxy, model = layer
    plain = {name for name in vars(Simulated(knows)) if not name.startswith("_")} - {"rule", "prompts", "calls"}
    assert plain == {"cache_hook"}  # fails if a later harness has one more
    hook = object()
    model.cache_hook = hook
    assert proxy.cache_hook is hook


def test_members_are_the_models(layer):
    proxy, model = layer
    assert isinstance(proxy, LM)
    assert behind(proxy) is behind(model) is model
    assert (proxy.rank, proxy.world_size, proxy.device, proxy.tokenizer_name) == (2, 4, "cuda:2", "org__model")
    for name in ("batch_sizes", "tokenizer", "config"):  # of back ends
        assert getattr(proxy, name) is getattr(model, name)
    assert proxy.get_model_info() == {"model_num_parameters": 7, "model_dtype": "torch.bfloat16"}
    for name in CALLED - {"loglikelihood_rolling"}:  # the harness' cache has one of its own
        assert getattr(proxy, name)(["a"], more=1) == (name, (["a"],), {"more": 1})
        assert model.noted.pop() == (name, (["a"],), {"more": 1})


def test_whole_texts_are_scored_by_the_model():
    assert stop_early(Elsewhere()).loglikelihood_rolling([1]) == ("loglikelihood_rolling", ([1],), {})


def test_what_a_model_lacks_its_layer_lacks():
    for proxy in (ForwardingLM(Alone()), stop_early(Alone()), AskingLM(Alone())):
        for name in ("batch_sizes", "tokenizer", "config", "generate", "__len__", "_no_such_thing"):
            assert not hasattr(proxy, name)
            with pytest.raises(AttributeError, match=name):
                getattr(proxy, name)
        assert proxy.get_model_info() == {}
        assert (proxy.rank, proxy.world_size) == (0, 1)


def test_the_results_have_what_the_model_says_of_itself(tmp_path):
    def made():
        model = Alone()
        config = SimpleNamespace(_name_or_path="org/model")
        vars(model).update(batch_sizes={0: 16}, get_model_info=lambda: {"model_num_parameters": 7}, config=config)
        return model

    plain = run(made(), options={"questions": 1})["config"]
    assert (plain["model"], plain["model_num_parameters"]) == ("org/model", 7)
    for model in (stop_early(made()), stop_early(CachingLM(made(), str(tmp_path / "cache.db")))):
        assert [*run(model, options={"questions": 1})["config"].items()] == [*plain.items()]


@pytest.mark.parametrize("make", [ForwardingLM, stop_early, AskingLM])
def test_a_layer_can_be_copied(make):
    # Before `__init__` there is no model, and `__getattr__` must not search for it forever.
    model = Alone()
    proxy = make(model)
    again = copy.copy(proxy)
    assert behind(again) is model
    assert again.rank == 0
    deep = copy.deepcopy(proxy)
    assert behind(deep).prompts == []


def test_a_model_that_is_stopped_already_is_refused():
    for model in (stop_early(Alone()), AskingLM(Alone())):
        with pytest.raises(UserError, match="already wrapped"):
            stop_early(model)
