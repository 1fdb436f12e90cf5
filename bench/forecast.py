"""`python -m bench.forecast`: how often the interval of a forecast holds the true day, and how wide it is.

Histories whose future is known: linear growth, compound growth, partitions of which more are created every day, for
which there is no target (tests/support/growth.py), and the busiest broker of generated fleets whose topics and rates
grow (docs/fleet.md). The model was not tuned on the seeds that it takes.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from bench.fleet_growth import fleets, near
from kafka_warden.pipeline.forecast_trend import Kind
from tests.support.growth import HORIZON, LEVEL, Figures, Tried, compounded, grown, try_each

SEEDS: Final = 2000
FIRST: Final = 3_000_000
"""The first seed: design took others."""
REACHED: Final = 0.8
"""Least share of the histories that reach their limit within the horizon."""


@dataclass(frozen=True, slots=True)
class Case:
    """Histories, and what is asked of their intervals. `covered`: least share; `width`: greatest median, in days."""

    tried: Callable[[Iterable[int]], Iterator[Tried]]
    covered: float
    width: float


def main() -> int:
    """Measure each case; the exit code shows whether all targets were reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast", description=__doc__)
    parser.add_argument("--only", choices=CASES, help="one case")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="of each case (default: %(default)s)")
    parser.add_argument("--first", type=int, default=FIRST, metavar="SEED", help="the first (default: %(default)s)")
    given = parser.parse_args()
    print(
        "| Case | Histories | Limit reached | True day in the interval | Median width | Median off by | Line off by |"
    )
    print("|---|---|---|---|---|---|---|")
    names = [given.only] if given.only else list(CASES)
    reached = [measure(name, range(given.first, given.first + given.seeds)) for name in names]
    return 0 if all(reached) else 1


def measure(name: str, seeds: Iterable[int]) -> bool:
    """Print a case and its kinds; return whether its targets were reached."""
    case = CASES[name]
    tried = list(case.tried(seeds))
    reached = [each for each in tried if each.reached is not None]
    print(row(name, tried))
    kinds = [of_kind for kind in Kind if (of_kind := [each for each in tried if each.kind is kind])]
    if len(kinds) > 1:
        print("\n".join(row(f"- {of_kind[0].kind.name.lower()}", of_kind) for of_kind in kinds), flush=True)
    figures, width = Figures.of(tried), Figures.of(reached).width
    return len(reached) >= REACHED * len(tried) and figures.covered >= case.covered and width <= case.width


def row(name: str, tried: Sequence[Tried]) -> str:
    """Write a row of the table. The width is that of histories that reach their limit."""
    reached = [each for each in tried if each.reached is not None]
    figures, width = Figures.of(tried), Figures.of(reached).width
    share = float(np.mean([each.reached is not None for each in tried]))
    counts = f"{len(tried):,} | {share:.1%} | {figures.covered:.1%}"
    return f"| {name} | {counts} | {width:.1f} days | {figures.off:.1f} days | {figures.line_off:.1f} days |"


def _fleets(seeds: Iterable[int]) -> Iterator[Tried]:
    with near():
        yield from (each for each in fleets(seeds) if each.kind is Kind.FLOW)


CASES: Final[Mapping[str, Case]] = {
    "linear": Case(partial(try_each, grown), LEVEL, 0.25 * HORIZON),
    "compound": Case(partial(try_each, compounded), 0.88, 40.0),
    "partitions": Case(partial(try_each, partial(compounded, kinds=(Kind.COUNT,))), 0.0, HORIZON),
    "fleets": Case(_fleets, 0.88, 40.0),
}

if __name__ == "__main__":
    sys.exit(main())
