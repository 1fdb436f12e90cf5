"""The output: one line for each result, or one JSON document."""

import json
from collections.abc import Sequence
from typing import Final

from kafka_warden.check.results import BY_CODE, Result, counts
from kafka_warden.formatting import visible
from kafka_warden.settings.secrets import scrub

VERSION: Final = 1
"""Of the JSON document. Keys may be added in the same version."""
DOCUMENT: Final = "docs/check.md"


def text(results: Sequence[Result]) -> str:
    """Return the lines, and a last one with the counts."""
    width = max((len(result.code) for result in results), default=0)
    lines = [f"{result.status:<7}  {result.code:<{width}}  {_sentence(result)}" for result in results]
    numbers = ", ".join(f"{number} {status}" for status, number in counts(results).items())
    return "".join(f"{line}\n" for line in (*lines, numbers))


def _sentence(result: Result) -> str:
    where = f"{result.subject}: " if result.subject else ""
    return clean(f"{where}{result.text}" + (f" -> {result.fix}" if result.fix else ""))


def document(results: Sequence[Result], code: int) -> str:
    """Return the JSON document; `code` is the exit code."""
    found = {
        "version": VERSION,
        "success": code == 0,
        "exit_code": code,
        "counts": {str(status): number for status, number in counts(results).items()},
        "checks": [
            {
                "code": result.code,
                "category": BY_CODE[result.code].category,
                "title": BY_CODE[result.code].title,
                "result": str(result.status),
                "subject": clean(result.subject),
                "message": clean(result.text),
                "fix": clean(result.fix),
                "documentation": f"{DOCUMENT}#{result.code.lower()}",
            }
            for result in results
        ],
    }
    return json.dumps(found, indent=2) + "\n"


def clean(sentence: str) -> str:
    """Put a text on one line, without secrets and without control characters: parts of it come from other machines."""
    return visible(scrub(" ".join(sentence.split())))
