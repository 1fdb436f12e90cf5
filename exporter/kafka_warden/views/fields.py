"""What a field of a view row is: the value of a metric, the value of a label, or a value with its own description."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from kafka_warden.catalogue import CATALOGUE

FAMILIES: Final = {metric.name: metric for metric in CATALOGUE}
"""Name without prefix to family."""


@dataclass(frozen=True, slots=True)
class Of:
    """The value of a metric's series with the labels of the row."""

    metric: str
    """Name without the prefix."""

    def __str__(self) -> str:
        """Return the help of the metric."""
        return FAMILIES[self.metric].help


@dataclass(frozen=True, slots=True)
class LabelOf:
    """The value of a label of the metric's series that has the value 1."""

    metric: str
    label: str

    def __str__(self) -> str:
        """Return the help of the metric, and which label."""
        return f"Label {self.label} of {FAMILIES[self.metric].full_name}. {FAMILIES[self.metric].help}"


About = Of | LabelOf | str
"""What a field is, with its description as text."""

Name = Annotated[str, "Name of the topic"]
Broker = Annotated[int, "Id of the broker"]
SideName = Annotated[str, "leader, follower, or log_dirs for copies between log directories"]

_KNOWN: Final[dict[type, dict[str, tuple[Any, About]]]] = {}


def fields_of(row: type) -> dict[str, tuple[Any, About]]:
    """Return name, type and description of every field of a row type."""
    if row in _KNOWN:
        return _KNOWN[row]
    found: dict[str, tuple[Any, About]] = {}
    for name, hint in get_type_hints(row, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{row.__name__}.{name} has no description")
        kind, about = get_args(hint)
        found[name] = kind, about
    _KNOWN[row] = found
    return found
