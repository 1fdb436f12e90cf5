"""The numbers of the rules (`thresholds.yml`), as they are at a scale of time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Final

import yaml

DURATION: Final = "duration"
SECONDS: Final = "seconds"
UNITS: Final = (DURATION, SECONDS, "bytes", "ratio", "per second")
"""`for` and ranges have a duration, a comparison has seconds. A scale changes these two."""

_LENGTHS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31536000.0}
_PART: Final = re.compile(r"(\d+)(ms|[smhdwy])")


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number that was chosen.

    Attributes:
        name: What the templates call it, as `${name}`.
        value: As written: 5m, 600, 0.8.
        unit: One of `UNITS`.
        reason: Why this value.
        below: The threshold that it has to be less than, or nothing.
        sum_of: The thresholds whose seconds it is; it cannot be set.
    """

    name: str
    value: str
    unit: str
    reason: str
    below: str = ""
    sum_of: tuple[str, ...] = ()

    @property
    def number(self) -> float:
        """The value; of a duration its seconds."""
        return seconds(self.value) if self.unit == DURATION else float(self.value)

    def at(self, scale: float, floor: float) -> str:
        """The text that a rule has at this scale of time; see `at_scale`."""
        if scale == 1 or self.unit not in {DURATION, SECONDS}:
            return self.value
        scaled = min(self.number, floor + self.number * scale)
        return f"{round(scaled * 1000)}ms" if self.unit == DURATION else f"{scaled:g}"


@cache
def thresholds() -> Mapping[str, Threshold]:
    """Every threshold by its name, in the order of the file."""
    rows = yaml.safe_load(resources.files(__package__).joinpath("thresholds.yml").read_text(encoding="utf-8"))
    made = {
        row["name"]: Threshold(
            row["name"],
            str(row.get("value", "")),
            row["unit"],
            " ".join(row["reason"].split()),
            row.get("below", ""),
            tuple(row.get("sum_of", ())),
        )
        for row in rows
    }
    return changed_to({}, made)


def changed_to(values: Mapping[str, str], usual: Mapping[str, Threshold] | None = None) -> dict[str, Threshold]:
    """Every threshold with other values of some, and with the sums of these. The parts of a sum come before it."""
    made: dict[str, Threshold] = {}
    for name, threshold in (usual or thresholds()).items():
        total = sum(made[part].number for part in threshold.sum_of)
        value = f"{total:.15g}" if threshold.sum_of else values.get(name, threshold.value)
        made[name] = replace(threshold, value=value)
    return made


def numbers(changed: Mapping[str, str] | None = None) -> dict[str, float]:
    """The number of every threshold, of a duration its seconds; `changed` has other values by name."""
    return {name: threshold.number for name, threshold in changed_to(changed or {}).items()}


def at_scale(scale: float = 1.0, floor: float = 0.0) -> dict[str, str]:
    """The text of every threshold.

    Args:
        scale: What durations, and thresholds in seconds, are multiplied by; above 0, at most 1.
        floor: Seconds that are added to each, since scrapes and polls take their time. None becomes longer than at
            scale 1, and their order stays.
    """
    return {name: threshold.at(scale, floor) for name, threshold in thresholds().items()}


def seconds(duration: str) -> float:
    """Seconds of a duration as Prometheus writes it, such as 1h30m."""
    return sum(int(number) * _LENGTHS[unit] for number, unit in _PART.findall(duration))
