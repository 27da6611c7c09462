"""Probes: rules that make variants of a question. One file for each probe."""

from __future__ import annotations

from lm_eval_cora.probes.base import Probe, Setting
from lm_eval_cora.probes.divergent import DIVERGENT
from lm_eval_cora.probes.order import ORDER
from lm_eval_cora.probes.plus import PLUS
from lm_eval_cora.probes.prompts import PROMPTS
from lm_eval_cora.probes.revas import REVAS
from lm_eval_cora.probes.sampling import SAMPLING

__all__ = ["PROBES", "Probe", "Setting"]

PROBES: dict[str, Probe] = {probe.name: probe for probe in (DIVERGENT, PLUS, REVAS, PROMPTS, ORDER, SAMPLING)}
"""All probes, by name."""
