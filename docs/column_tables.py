"""Tables of columns in docs/history-schema.md and docs/pipeline-marts.md: similar columns share a row."""

import re
from collections.abc import Iterable
from typing import Final

SIDE: Final = re.compile(r"^(?:leader|follower) side: ")
AGGREGATE: Final = re.compile(r", (?:mean|maximum|minimum)$")
UNKNOWN: Final = re.compile(
    r"[,;] null (?:if|while|where) (?:that is |it is |they are |a part is )?(?:not known|unknown)$"
)
"""Both pages begin with it."""
HEAD: Final = "| Column | Type | Unit | Meaning |\n|---|---|---|---|\n"


def table(columns: Iterable[tuple[str, str, str, str]]) -> str:
    """A table of columns, by name, type, unit and meaning.

    Columns of both sides of a throttle, and the mean and the maximum of one value, are in one row.
    """
    rows: dict[tuple[str, str, str], list[str]] = {}
    for name, type_, unit, text in columns:
        short = UNKNOWN.sub("", AGGREGATE.sub("", SIDE.sub("that side: ", text)))
        rows.setdefault((type_, unit, short), []).append(f"`{name}`")
    lines = (f"|{', '.join(names)}|{_code(type_)}|{unit}|{text}|\n" for (type_, unit, text), names in rows.items())
    return HEAD + "".join(lines)


def _code(type_: str) -> str:
    """A type that is no simple one is code: Markdown takes `<` for the begin of a tag."""
    return type_ if type_.islower() and type_.isalpha() else f"`{type_}`"
