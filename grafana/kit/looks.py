"""Units, thresholds and texts for values that are shown as words."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.models.dashboard import (
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)

COUNT: Final = "short"
RATIO: Final = "percentunit"
SECONDS: Final = "s"
DURATION: Final = "dthms"
"""Unit of seconds on an axis that may reach hours: hh:mm:ss. Grafana would write 5000 s as 1.39 hours."""
BYTES: Final = "decbytes"
BYTES_PER_SECOND: Final = "Bps"
PER_SECOND: Final = "suffix:/s"
TEXT: Final = "string"
"""Unit of a name."""

INFINITY: Final = "Infinity"
"""The name of +Inf in Grafana's value mappings, which are JavaScript."""

Steps = tuple[tuple[float, str], ...]
"""Colour from this value on; below the first step the base colour."""

RED_FROM_ONE: Final[Steps] = ((1, "red"),)
ORANGE_FROM_ONE: Final[Steps] = ((1, "orange"),)
NO_STEPS: Final[Steps] = ()


def thresholds(steps: Steps, base: str = "green") -> ThresholdsConfig:
    """Colours by value; without steps, plain text: a number that is neither good nor bad."""
    colours = [Threshold(color=base if steps else "text"), *(Threshold(value=at, color=color) for at, color in steps)]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(colours)


def infinite(text: str, color: str) -> ValueMap:
    """What to show for +Inf."""
    return ValueMap({INFINITY: ValueMappingResult(text=text, color=color)})


NEVER: Final = infinite("never", "red")
UNLIMITED: Final = infinite("unlimited", "blue")


def named(*names: tuple[str, str]) -> ValueMap:
    """Text and colour for the values 0, 1, 2 and more."""
    return ValueMap(
        {
            str(value): ValueMappingResult(text=text, color=color, index=value)
            for value, (text, color) in enumerate(names)
        }
    )
