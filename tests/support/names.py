"""Names of the tasks and of the metrics in their tables."""

BENCHMARKS = [
    *("agieval", "arc_challenge", "demo", "hub", "local", "medmcqa", "medqa", "mmlu", "mmlu_pro", "of", "truthfulqa")
]

WITH_FEWER_PROBES = [
    *("commonsense_qa", "global_mmlu", "gpqa_diamond", "gpqa_main", "medxpertqa", "mmlu_redux", "openbookqa", "race"),
    "sciq",
]
"""Benchmarks without REVAS and two of SCORE's probes. These are available with cora_hub."""

FEWER_PROBES = ("divergent", "plus", "order", "labels", "choices_only")
_OTHERS = ("plus", "revas", "prompts", "order", "sampling", "labels", "choices_only")
PROBES = {"divergent": "", **{name: f"_{name}" for name in _OTHERS}}
"""The suffix of task names for each probe."""

ONE_FORM = ("prompts", "sampling")
"""The probes without a form that scores letters."""

GROUPS = ["cora", "cora_plus", "cora_revas", "cora_score"]

NAMES = sorted(
    [
        *(
            f"cora_{benchmark}{ending}{form}"
            for benchmark in BENCHMARKS
            for probe, ending in PROBES.items()
            for form in (("",) if probe in ONE_FORM else ("", "_mc"))
        ),
        *(f"cora_math{PROBES[probe]}" for probe in ONE_FORM),
        *(
            f"cora_{benchmark}{PROBES[probe]}{form}"
            for benchmark in WITH_FEWER_PROBES
            for probe in FEWER_PROBES
            for form in ("", "_mc")
        ),
    ]
)

BUILT = [name for name in NAMES if not name.startswith("cora_of")]
"""The tasks that have questions of their own."""

SHOTS = {"cora_mmlu": 5, "cora_mmlu_mc": 5, "cora_arc_challenge": 25, "cora_arc_challenge_mc": 25}

METRICS = [
    *("acc", "cora", "ci", "mcqa", "mcqa_plus", "mv"),
    *("bmca@0.5", "bmca@0.6", "bmca@0.7", "bmca@0.8", "bmca@0.9", "bmca@1.0"),
    *("core", "consistency_rate", "acc_min", "acc_max", "invalid"),
]

PLUS = ["acc", "mcqa_plus", "mcqa", "mcqa_plus_diff", "cora", "ci", *METRICS[5:]]

REVAS = [
    *("acc", "mcqa", "sc@original", "acc_h@original", "nota_acc", "nota_acc_diff", "nota_acc_h"),
    *("nota_acc_always_right", "tf_right", "tf_wrong"),
]
CONFIDENCE = [f"confidence_{what}{norm}" for norm in ("", "_norm") for what in ("right", "wrong", "ratio")]
SCORED = [*CONFIDENCE, "yes_no_mass"]
SELECTIONS = ["multi_share", *(f"recall_{what}{multi}" for multi in ("", "_multi") for what in ("right", "misleading"))]
GUESSED = ["acc", "acc_choices_only", "above_chance", "chance", "acc_longest"]
RANGE = ["acc_mean", "acc_min", "acc_max"]
MACRO = ["macro_acc", "macro_acc_min", "macro_acc_max"]


def score_metrics(name: str, probe: str) -> list[str]:
    """The metrics of SCORE's probes and of labels. Some belong to a single benchmark."""
    benchmark = benchmark_of(name)
    macro = MACRO if benchmark == "mmlu_pro" else []
    drops = benchmark in ("mmlu_pro", "agieval")
    paper = [f"{metric}_paper" for metric in RANGE] if drops and probe == "prompts" else []
    macro_paper = [f"{metric}_paper" for metric in macro] if paper else []
    rate = ["consistency_rate", *["consistency_rate_paper"] * bool(paper), "all_equal"]
    original, ties = ["mcqa", "ci", "cora"], ["ties"] * name.endswith("_mc")
    rest = {
        "prompts": ["equal@0.8", *original, "invalid"],
        "order": ["acc_h", *original, "recall_spread", "position_chi_square", "invalid", *ties],
        "sampling": ["maj@k", "pass^k", "noise", "invalid"],
        "labels": [*original, "invalid", *ties],
    }
    return ["acc", *RANGE, *paper, *macro, *macro_paper, *rate, *rest[probe], *["timeouts"] * (benchmark == "math")]


OF_REPEATS = {"acc_repeats", "maj@k", "pass^k", "noise", "changed_picks"}
"""Those that the option `repeats` adds."""

LOWER_IS_BETTER = {
    *("noise", "timeouts", "position_chi_square", "recall_spread"),
    *("invalid", "ties", "recall_misleading", "recall_misleading_multi"),
    *(name for name in CONFIDENCE if "right" not in name),
}


def benchmark_of(name: str) -> str:
    """The benchmark of a task: "cora_mmlu_prompts" belongs to mmlu, not to mmlu_pro."""
    name = name.removesuffix("_mc")
    every = (*BENCHMARKS, *WITH_FEWER_PROBES, "math")
    return next(one for one in every for probe in PROBES.values() if name == f"cora_{one}{probe}")


def probe_of(name: str) -> str:
    return next((probe for probe, ending in PROBES.items() if ending and ending in name), "divergent")


def printed(name: str) -> list[str]:
    """The metrics in a task's table."""
    names = _of_both_forms(name)
    place = names.index("invalid") + 1
    return names if name.endswith("_mc") else [*names[:place], "followed", *names[place:]]


def _of_both_forms(name: str) -> list[str]:
    scored = name.endswith("_mc")
    if probe_of(name) in ("prompts", "order", "sampling", "labels"):
        return score_metrics(name, probe_of(name))
    if probe_of(name) == "choices_only":
        return [*GUESSED, "invalid", *["ties"] * scored]
    if probe_of(name) == "revas":
        return [*REVAS, *(SCORED if scored else SELECTIONS), "replaced_acc", "invalid", *["ties"] * scored]
    return [*(PLUS if probe_of(name) == "plus" else METRICS), *["ties"] * scored]
