"""Runs of the MCQA+ and REVAS tasks, and a model whose scores can be computed by hand."""

from tests.support.simulated import says
from tests.support.written import put


def study_of(results, task):
    study = results["configs"][task]["metadata"]["study"]
    assert isinstance(study, dict)
    return study


def four_options(tmp_path, rights):
    """Options of a run with a file of questions with four options and given positions of the right one."""
    rows = [
        {"id": str(number), "question": f"Which {number}?", "choices": list("wxyz"), "answer": right}
        for number, right in enumerate(rights)
    ]
    return {"data_files": str(put(tmp_path / "four.jsonl", rows))}


def believes_two(doc):
    """Prefers the wrong one of its two options in odd questions."""
    right = doc["answer"] if doc["answer"] != 26 else int(doc["question_id"]) % 4
    other = (right + 1) % 4
    beliefs = [right, other] if int(doc["question_id"]) % 2 == 0 else [other, right]
    if doc["ask"] == "yes_no":
        return "yes" if doc["printed"][0] in beliefs else "no"
    if doc["ask"] == "select_all":
        return " and ".join(sorted(says(doc, belief) for belief in beliefs))
    offered = [belief for belief in beliefs if belief in doc["printed"]]
    if offered:
        return says(doc, offered[0])
    return says(doc, 26)  # reached where neither is printed
