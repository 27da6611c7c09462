"""The parameters with which a test server constrains its answers."""

import json
import re
from hashlib import blake2b

ALLOWED = {
    "structured_outputs": lambda given: list(given["choice"]),
    "guided_choice": list,
    "regex": lambda given: re.sub(r"\\(.)", r"\1", given[1:-1]).split("|"),
    "grammar": lambda given: json.loads(f"[{given.removeprefix('root ::= ').replace(' | ', ',')}]"),
    "response_format": lambda given: given["json_schema"]["schema"]["properties"]["chosen_answer"]["enum"],
}
"""How each parameter lists the answers that it allows."""


def constrained(payload, parameter, text):
    """One of the allowed answers to a prompt."""
    answers = ALLOWED[parameter](payload[parameter])
    said = answers[blake2b(text.encode(), digest_size=1).digest()[0] % len(answers)]
    return json.dumps({"chosen_answer": said}) if parameter == "response_format" else said
