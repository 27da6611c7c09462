"""Runs of `lm-eval-cora run` and `lm_eval run` with a simulated model, and their output."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

import lm_eval.models  # noqa: F401  # before another is registered: else the harness takes that for all there are
import pytest
from lm_eval._cli import HarnessCLI
from lm_eval.api.registry import register_model

from lm_eval_cora.cli import main
from tests.support.distributed import draw
from tests.support.simulated import TASKS, Simulated, knows

NAME = "knows-some-of-it"


@register_model(NAME)
class KnowsSome(Simulated):
    """Knows every third question by heart; of the others it answers one prompt in ten wrong, one without a letter.

    Its answer is a function of the prompt's text, as that of a real model is.
    """

    built: list[KnowsSome] = []  # noqa: RUF012  # emptied before each test

    def __init__(self, skill="some", **more):
        super().__init__(knows)
        self.skill, self.more = skill, more
        type(self).built.append(self)

    def generate_until(self, requests, disable_tqdm=False):
        if self.skill == "none":
            raise RuntimeError("out of memory")
        if self.skill == "stopped":
            raise KeyboardInterrupt
        if self.skill == "terminated":
            signal.raise_signal(signal.SIGTERM)
        self.prompts += [request.args[0] for request in requests]
        return [self._say(request.doc, request.args[0]) for request in requests]

    def _say(self, doc, prompt):
        if "question_id" not in doc:
            return "2"
        luck = draw(10, prompt)
        if draw(3, doc["question_id"]) == 0 or luck > 1:
            return knows(doc)
        return "Perhaps" if luck else "AB"[knows(doc) == "A"]


@dataclass
class Ran:
    """The output and the files of a run."""

    code: int
    out: str
    err: str
    folder: Path
    models: list[KnowsSome] = field(default_factory=list)

    @property
    def prompts(self):
        (model,) = self.models
        return model.prompts

    @property
    def file(self):
        (path,) = self.folder.rglob("results_*.json")
        found = json.loads(path.read_text())
        return {key: found[key] for key in found if key != "date" and "time" not in key}

    @property
    def results(self):
        return self.file["results"]

    def samples(self, task="cora_demo"):
        (path,) = self.folder.rglob(f"samples_{task}_2*.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]

    def signature(self, task="cora_demo"):
        return self.file["configs"][task]["metadata"]["signature"].split("|")

    @property
    def header(self):
        (line,) = [line for line in self.out.splitlines() if "gen_kwargs: (" in line]
        return line


@dataclass
class Commands:
    """Runs `lm-eval-cora run` or, with `plain`, `lm_eval run` with the same arguments."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def plain(self, *arguments, **options):
        def command(texts):
            with patch("sys.argv", ["lm_eval", *texts]):
                cli = HarnessCLI()
                cli.execute(cli.parse_args())
            return 0

        return self._run(command, arguments, **options)

    def ours(self, *arguments, **options):
        return self._run(main, arguments, **options)

    def _run(self, command, arguments, tasks="cora_demo", model=NAME, questions=4, include=TASKS):
        folder = Path(mkdtemp(prefix="out", dir=self.folder))
        common = ["run", "--model", model, "--tasks", tasks, "--include_path", include]
        common += ["--output_path", folder, "--log_samples"]
        if questions:
            common += ["--metadata", json.dumps({"cora": {"questions": questions}})]
        before = list(KnowsSome.built)
        self.capsys.readouterr()
        argv, make = sys.argv, KnowsSome.create_from_arg_obj
        try:
            code = command([str(text) for text in [*common, *arguments]])
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            assert sys.argv is argv
            assert make == KnowsSome.create_from_arg_obj
            assert not {"create_from_arg_obj", "create_from_arg_string"} & vars(KnowsSome).keys()
        out, err = self.capsys.readouterr()
        return Ran(code, out, err, folder, KnowsSome.built[len(before) :])
