"""Made-up rows of every benchmark, in a folder where `load_dataset("owner/name")` finds them."""

from functools import cache, partial

import datasets

from lm_eval_cora.questions.adapters import SUBSETS
from lm_eval_cora.questions.question import LETTERS


def right_answer(question):
    """The answer to a made-up stem, from the text alone and independent of the adapter."""
    return str(int(question.rpartition("follows ")[2].partition("?")[0]) + 1)


def options(number, count):
    """Numbers around `number`, and the position of its successor, which differs between numbers."""
    right = number % count
    return [str(number + 1 + index - right) for index in range(count)], right


def labelled(choices, right, labels=LETTERS):
    """The columns of ARC and its like."""
    labels = labels[: len(choices)]
    return {"choices": {"text": choices, "label": list(labels)}, "answerKey": labels[right]}


def distractors(choices, right, column):
    """A column for each wrong option, numbered from 1."""
    wrong = [choice for choice in choices if choice != choices[right]]
    return {f"{column}{place}": choice for place, choice in enumerate(wrong, start=1)}


def stem(topic, number):
    return f"In {topic}, which number follows {number}?"


def mmlu(number, split):
    subject = ("astronomy", "marketing")[number % 2]
    choices, right = options(number, 4)
    return {"question": stem(f"{split} {subject}", number), "subject": subject, "choices": choices, "answer": right}


def arc(number, split):
    columns = labelled(*options(number, 3 + number % 3), LETTERS if number % 2 else "12345")
    return {"id": f"{split}_{number}", "question": stem(split, number), **columns}


def truthfulqa(number, split):
    choices, right = options(number, 2 + number % 12)
    ordered = [choices[right], *(choice for choice in choices if choice != choices[right])]
    targets = {"choices": ordered, "labels": [1] + [0] * (len(ordered) - 1)}
    return {"question": stem(split, number), "mc1_targets": targets, "mc2_targets": targets}


def medqa(number, split):
    choices, right = options(number, 5)
    pairs = [{"key": letter, "value": choice} for letter, choice in zip("ABCDE", choices, strict=True)]
    return {
        "meta_info": ("step1", "step2&3")[number % 2],
        "question": stem(split, number),
        "answer_idx": LETTERS[right],
        "answer": choices[right],
        "options": pairs,
    }


def medmcqa(number, split):
    choices, right = options(number, 4)
    named = dict(zip(("opa", "opb", "opc", "opd"), choices, strict=True))
    row = {"id": f"{split}-uuid-{number}", "question": stem(split, number), **named, "cop": right}
    return {**row, "choice_type": "single", "exp": None, "subject_name": ("Anatomy", "Dental")[number % 2]}


def mmlu_pro(number, split):
    choices, right = options(number, 3 + number % 8)
    return {
        "question_id": number + 1000 * (split == "validation"),
        "question": stem(split, number),
        "options": choices,
        "answer": LETTERS[right],
        "answer_index": right,
        "cot_content": "",
        "category": ("law", "physics")[number % 2],
        "src": "made for the tests",
    }


def agieval(number, subset):
    choices, right = options(number, 4 if subset.startswith(("sat", "logiqa")) else 5)
    printed = [f"({letter}){choice}" for letter, choice in zip(LETTERS, choices, strict=False)]
    query = (
        f"{stem(subset, number)} Answer Choices: {' '.join(printed)}\nA: Among A through {LETTERS[len(choices) - 1]},"
    )
    passage = "" if subset in ("aqua-rat", "sat-math") else "A passage about numbers."
    return {"query": f"{passage}Q: {query} the answer is", "choices": printed, "gold": [right]}


def openbookqa(number, split):
    return {"id": f"{split}-{number}", "question_stem": stem(split, number), **labelled(*options(number, 4))}


def commonsense_qa(number, split):
    columns = {"question": stem(split, number), "question_concept": "number", **labelled(*options(number, 5))}
    return {"id": f"{split}{number:032x}", **columns}


def sciq(number, split):
    choices, right = options(number, 4)
    return {
        "question": stem(split, number),
        **distractors(choices, right, "distractor"),
        "correct_answer": choices[right],
        "support": "Numbers follow each other." if number % 2 else "",
    }


def gpqa(number, split):
    choices, right = options(number, 4)
    return {
        "Question": stem(split, number),
        "Correct Answer": f"{choices[right]}\n",
        **distractors(choices, right, "Incorrect Answer "),
        "Record ID": f"rec{number:014}",
        "High-level domain": ("Physics", "Biology")[number % 2],
    }


def mmlu_redux(number, split):
    choices, right = options(number, 4)
    kind = "wrong_groundtruth" if number % 4 == 3 else "ok"
    return {
        "question": stem(split, number),
        "choices": choices,
        "answer": (right + 1) % 4 if kind != "ok" else right,
        "error_type": kind,
        "source": None,
        "correct_answer": str(right) if kind != "ok" else None,
        "potential_reason": None,
    }


def global_mmlu(number, split):
    choices, right = options(number, 4)
    subject = ("astronomy", "marketing")[number % 2]
    return {
        "sample_id": f"{subject}/{split}/{number}",
        "subject": subject,
        "subject_category": ("STEM", "Business")[number % 2],
        "question": stem(f"{split} {subject}", number),
        **{f"option_{letter}": choice for letter, choice in zip("abcd", choices, strict=True)},
        "answer": LETTERS[right],
    }


def race(number, split):
    choices, right = options(number, 4)
    return {
        "example_id": f"high{number // 2}.txt",
        "article": "A passage about numbers.",
        "answer": LETTERS[right],
        "question": stem(split, number),
        "options": choices,
    }


def medxpertqa(number, split):
    choices, right = options(number, 10)
    lettered = dict(zip(LETTERS, choices, strict=False))
    printed = " ".join(f"({letter}) {choice}" for letter, choice in lettered.items())
    return {
        "id": f"Text-{number + 100 * (split == 'dev')}",
        "question": f"{stem(split, number)}\nAnswer Choices: {printed}",
        "options": lettered,
        "label": LETTERS[right],
        "medical_task": "Diagnosis",
        "body_system": ("Nervous", "Skeletal")[number % 2],
        "question_type": "Reasoning",
    }


SUBJECTS = {
    "algebra": "Algebra",
    "counting_and_probability": "Counting & Probability",
    "geometry": "Geometry",
    "intermediate_algebra": "Intermediate Algebra",
    "number_theory": "Number Theory",
    "prealgebra": "Prealgebra",
    "precalculus": "Precalculus",
}


def math(number, split, subject):
    return {
        "problem": stem(f"{split} {subject}", number),
        "level": f"Level {1 + number % 5}",
        "type": SUBJECTS[subject],
        "solution": rf"One more is ${number} + 1 = \boxed{{{number + 1}}}$.",
    }


SETS = {
    "cais/mmlu": ("all", {"test": 8, "dev": 10}, mmlu),
    "allenai/ai2_arc": ("ARC-Challenge", {"test": 6, "train": 30}, arc),
    "truthfulqa/truthful_qa": ("multiple_choice", {"validation": 12}, truthfulqa),
    "lavita/medical-qa-datasets": ("med-qa-en-5options-source", {"test": 4, "train": 8}, medqa),
    "openlifescienceai/medmcqa": ("default", {"validation": 4, "train": 8}, medmcqa),
    "TIGER-Lab/MMLU-Pro": ("default", {"test": 8, "validation": 10}, mmlu_pro),
    "allenai/openbookqa": ("main", {"test": 4, "train": 8}, openbookqa),
    "tau/commonsense_qa": ("default", {"validation": 4, "train": 8}, commonsense_qa),
    "allenai/sciq": ("default", {"test": 4, "train": 8}, sciq),
    "ehovy/race": ("high", {"test": 4, "train": 8}, race),
    "TsinghuaC3I/MedXpertQA": ("Text", {"test": 4, "dev": 5}, medxpertqa),
    "CohereForAI/Global-MMLU": ("de", {"test": 8, "dev": 10}, global_mmlu),
    **{
        f"hails/agieval-{subset}": ("default", {"test": 5}, lambda number, _, subset=subset: agieval(number, subset))
        for subset in SUBSETS
    },
}
"""Configuration, rows per split, and maker of a row, by id."""


NEEDED = {
    "global_mmlu": {"config": "de"},
    "mmlu_redux": {"config": ["anatomy", "virology"]},
    "hub": {"hub": "allenai/openbookqa", "config": "main", "split": "test", "question": "question_stem"}
    | {"answer": "answerKey"},
}
"""Options without which a benchmark cannot be loaded from here."""


@cache
def rows_in(folder):
    """A `load_dataset` for tests in a folder that reads each split once: opening one takes longer than its rows."""
    load = datasets.load_dataset
    return cache(lambda *named, **options: list(load(*named, **options)))


def make_hub(folder):
    """Write all data sets below a folder."""
    _write(folder / "Idavidrein/gpqa", dict.fromkeys(("gpqa_main", "gpqa_diamond"), gpqa), {"train": 4})
    redux = dict.fromkeys(NEEDED["mmlu_redux"]["config"], mmlu_redux)
    _write(folder / "edinburgh-dawg/mmlu-redux-2.0", redux, {"test": 4})
    for name, (config, splits, make) in SETS.items():
        _write(folder / name, {config: make}, splits)
    makers = {subject: partial(math, subject=subject) for subject in SUBJECTS}
    _write(folder / "EleutherAI/hendrycks_math", makers, {"test": 3, "train": 3})


def _write(folder, makers, splits):
    """Write a data set whose configurations have the same splits."""
    lines = []
    for config, make in makers.items():
        lines += [f"- config_name: {config}", "  data_files:"]
        for split, count in splits.items():
            path = folder / config / f"{split}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            datasets.Dataset.from_list([make(number, split) for number in range(count)]).to_parquet(path)
            lines += [f"  - split: {split}", f"    path: {config}/{split}.parquet"]
    (folder / "README.md").write_text("\n".join(["---", "configs:", *lines, "---", ""]))
