"""Generates docs/worked-examples.md: the examples of the five documents, computed by the formulas: `make docs`.

The rows are in `worked_rows.py`. A result that differs from the document is an error, so the page cannot be made.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
UNITS: Final = {
    "": 1,
    "s": 1,
    "ms": 1e-3,
    "1/s": 1,
    "B/s": 1,
    "MB": 1e6,
    "MB/s": 1e6,
    "GB": 1e9,
    "MiB": 2**20,
    "%": 1e-2,
}
"""In seconds and bytes, which the formulas take."""

MANY: Final = 3
"""Equal amounts that are written one by one."""


@dataclass(frozen=True, slots=True)
class Given:
    """An amount as the document writes it: a number, or several, in a unit."""

    amount: float | tuple[float, ...]
    unit: str = ""

    @property
    def value(self) -> Any:
        """The amount in seconds or bytes."""
        if isinstance(self.amount, tuple):
            return tuple(each * UNITS[self.unit] for each in self.amount)
        return self.amount * UNITS[self.unit]

    def __str__(self) -> str:
        amounts = self.amount if isinstance(self.amount, tuple) else (self.amount,)
        if len(amounts) > MANY and len(set(amounts)) == 1:
            return f"{len(amounts)} x {amounts[0]:,g} {self.unit}".strip()
        return f"{', '.join(f'{each:,g}' for each in amounts)} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a document.

    Attributes:
        about: What it is about.
        given: Name to amount, in the words of the formula.
        compute: Takes the given amounts by name; its result is a number, a truth value, or text.
        formulas: The functions of `kafka_warden.formulas` that it uses.
        says: The result that the document has.
        where: The place in the document; or that its formula was applied by hand, since it has no numbers there.
        unit: Of the result.
    """

    about: str
    given: Mapping[str, Given]
    compute: Callable[..., Any]
    formulas: tuple[Callable[..., Any], ...]
    says: str
    where: str
    unit: str = ""

    def computed(self) -> str:
        """The result of the formulas.

        Raises:
            ValueError: It is not what the document says.
        """
        result = self.compute(**{name: given.value for name, given in self.given.items()})
        found = written(result, self.unit)
        if found != self.says:
            raise ValueError(f"{self.about}: the formulas give {found}, the document {self.says}")
        return found


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its examples."""

    title: str
    about: str
    examples: tuple[Example, ...]


def written(result: Any, unit: str = "") -> str:
    """A result as text."""
    if isinstance(result, str):
        return result
    if isinstance(result, bool):
        return "yes" if result else "no"
    if math.isinf(result):
        return "+Inf"
    return f"{result / UNITS[unit]:,.6g} {unit}".strip()


INTRODUCTION: Final = """\
# Worked examples

kafka-warden is built on five documents. This page has their examples: the numbers that they give, the result of the
formula in `exporter/kafka_warden/formulas/`, and the place in the document. It is made by `make docs`, which computes
each result again and stops if one is not that of the document; do not edit. *By hand* means that the document has the
formula at that place, but no numbers.
"""

HEADER: Final = "| Example | Given | Formula | Computed | Document |\n|---|---|---|---|---|"


def render(documents: tuple[Document, ...]) -> str:
    """The whole page.

    Raises:
        ValueError: A formula does not give what its document says.
    """
    parts = [INTRODUCTION]
    for document in documents:
        parts += [
            f"## {document.title}\n",
            f"{document.about}\n",
            HEADER,
            *map(_row, document.examples),
            "",
        ]
    return "\n".join(parts)


def _row(example: Example) -> str:
    given = "; ".join(f"{name.replace('_', ' ')} {amount}" for name, amount in example.given.items())
    formulas = ", ".join(map(_link, example.formulas))
    return f"| {example.about} | {given} | {formulas} | **{example.computed()}** | {example.where} |"


def _link(formula: Callable[..., Any]) -> str:
    file = Path(inspect.getfile(formula)).relative_to(ROOT)
    return f"[`{formula.__name__}`](../{file})"
