"""The colours of the page and of its plots, in light and dark mode.

Plots are drawn in light colours. The page replaces each by a CSS variable, so one drawing suits both modes, and paper.
Data colours are close to the palette of Okabe and Ito, which colour-blind people can distinguish.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Colour:
    """The name of a CSS variable, and its value in light and dark mode. `light` is unique."""

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
IN_TURN: Final = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, BROWN, RED)
"""For subjects without a colour of their own, such as clusters."""
