"""Probes: rules that make variants of a question. One file for each probe."""

from __future__ import annotations

from lm_eval_cora.variants.divergent import DIVERGENT
from lm_eval_cora.variants.order import ORDER
from lm_eval_cora.variants.plus import PLUS
from lm_eval_cora.variants.prompts import PROMPTS, SAMPLING
from lm_eval_cora.variants.revas import REVAS
from lm_eval_cora.variants.variant import Probe, Setting

__all__ = ["PROBES", "Probe", "Setting"]

PROBES: dict[str, Probe] = {probe.name: probe for probe in (DIVERGENT, PLUS, REVAS, PROMPTS, ORDER, SAMPLING)}
"""All probes, by name."""
