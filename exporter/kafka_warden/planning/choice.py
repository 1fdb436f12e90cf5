"""Which throttle: X and Y of KIP-73's goals, a share of the network that clients give up and a time to be done in.

The lowest limit that ends the move in time by `needed_limit`, raised to KIP-73's lower bound where that fits: the same
rule as `kafka_warden_replication_throttle_recommended_bytes_per_second`. Bounds are advice, the share is not.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.formulas import moves, throttle
from kafka_warden.planning.loads import Load

LEAST_THROTTLE: Final = 1000
"""Bytes a second: `--throttle` "should be at least 1 KB/s" (kafka-reassign-partitions --help)."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the user wants."""

    deadline: float
    """Seconds."""
    share: float | None = None
    """Of the network of one broker that the move may take, above 0 and up to 1."""
    network: float | None = None
    """N of KIP-73, bytes per second of one broker, if configured."""

    @property
    def most(self) -> float:
        """Greatest throttle that the share allows, or the network itself; `+inf` where it is not configured."""
        if self.network is None:
            return math.inf
        return throttle.share_of_network(self.network, 1.0 if self.share is None else self.share)


@dataclass(frozen=True, slots=True)
class Choice:
    """Bytes per second and seconds."""

    needed: float
    """Least limit that ends everything within the deadline, over all brokers and sides."""
    most: float
    """`+inf` where nothing caps it."""
    limit: int | None
    """The number for the tool, above 0; `None` where deadline and share contradict."""
    least_deadline: float
    """That the share allows; `+inf` where it allows none, 0 where nothing caps it."""
    least_share: float | None
    """Of the network that the deadline takes, above 1 where the network is too small; `None` without a network."""
    lower_bound: float | None
    """The greatest of those of the brokers that take part; `None` while one is not known."""
    upper_bound: float | None
    """The least of theirs; `None` without a network, or while one is not known."""

    @property
    def possible(self) -> bool:
        """Whether there is a throttle that keeps both."""
        return self.limit is not None

    @property
    def judged_at(self) -> float:
        """The limit that times are told of: the one to set, or the most that the share allows."""
        return float(self.limit) if self.limit is not None else self.most


def choose(
    loads: Sequence[Load],
    goal: Goal,
    lower_bounds: Mapping[int, float | None],
    upper_bounds: Mapping[int, float | None] | None,
) -> Choice:
    """Choose the throttle for some loads, at least one. Bounds are those of the brokers that take part."""
    needed = [load.needed(goal.deadline) for load in loads]
    lower = _all_known(lower_bounds)
    upper = _all_known(upper_bounds) if upper_bounds is not None else None
    limit = _limit(needed, goal.most, lower or [], upper or [])
    return Choice(
        needed=max(needed),
        most=goal.most,
        limit=limit,
        least_deadline=max(load.least_deadline(goal.most) for load in loads),
        least_share=None if goal.network is None else max(needed) / goal.network,
        lower_bound=max(lower) if lower else None,
        upper_bound=min(upper) if upper else None,
    )


def _limit(needed: Sequence[float], most: float, lower: Sequence[float], upper: Sequence[float]) -> int | None:
    """Return the lowest inside the bounds; where none fits as near to them as the needed one and the most allow."""
    limit = moves.recommended_limit(needed, [*lower, LEAST_THROTTLE], [*upper, most])
    if limit is None:
        # An upper bound may be below what the tool takes, down to 0, which would never end anything.
        limit = max(*needed, min(LEAST_THROTTLE, most), min([max([*lower, LEAST_THROTTLE]), *upper, most]))
    whole = math.ceil(limit)
    if whole <= most:
        return whole
    # A share that is not a whole number allows the number below it.
    return math.floor(most) if max(1.0, *needed) <= math.floor(most) else None


def _all_known(bounds: Mapping[int, float | None]) -> list[float] | None:
    known = [bound for bound in bounds.values() if bound is not None]
    return known if len(known) == len(bounds) else None
