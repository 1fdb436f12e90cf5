"""The colours of the page and of its plots, by day and by night.

Plots are drawn in the colours of the day. In the page each stands as a variable of CSS, so that one drawing suits both,
and paper. Colours of data are near those of Okabe and Ito, which colour-blind people tell apart, brighter at night.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Colour:
    """One colour: the name of its CSS variable, and how it looks by day and by night. No two share a `light`."""

    name: str
    light: str
    dark: str


PAPER: Final = Colour("paper", "#fefefe", "#14181d")
INK: Final = Colour("ink", "#1b1f24", "#e4e8ec")
FAINT: Final = Colour("faint", "#57606a", "#9aa5b1")
GRID: Final = Colour("grid", "#d8dee4", "#313a44")
BLUE: Final = Colour("blue", "#0072b2", "#56a8e0")
ORANGE: Final = Colour("orange", "#c96a00", "#f0a33c")
GREEN: Final = Colour("green", "#00835f", "#2fc299")
RED: Final = Colour("red", "#c0392b", "#f0776b")
PURPLE: Final = Colour("purple", "#a4568a", "#d993bf")
SKY: Final = Colour("sky", "#4aa3d1", "#8cd0f5")
YELLOW: Final = Colour("yellow", "#b59a00", "#e8d44d")
GREY: Final = Colour("grey", "#8b949e", "#7d8894")
BROWN: Final = Colour("brown", "#7a4a2b", "#c79a78")

ALL: Final = (PAPER, INK, FAINT, GRID, BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY, BROWN)
BY_HEX: Final = {colour.light: colour.name for colour in ALL}
IN_TURN: Final = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, BROWN, RED)
"""For things that have no colour of their own, such as clusters."""
