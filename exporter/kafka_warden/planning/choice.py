"""The throttle for X and Y of KIP-73's goals: a share of the network for the move, and a deadline.

It is the lowest limit that meets the deadline by `needed_limit`, raised to KIP-73's lower bound if that fits: the same
rule as `kafka_warden_replication_throttle_recommended_bytes_per_second`. Bounds are advice, the share is binding.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from kafka_warden.derive import throttle, throttle_use
from kafka_warden.planning.during_move import Bounds
from kafka_warden.planning.json_values import NO_NETWORK, NO_UPPER_BOUND, UNKNOWN_INBOUND, Key
from kafka_warden.planning.loads import Load

LEAST_THROTTLE: Final = 1000
"""Bytes per second: `--throttle` "should be at least 1 KB/s" (kafka-reassign-partitions --help)."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Deadline and share of the network that the user asks for."""

    deadline: Annotated[float, Key("deadline_seconds")]
    """Seconds."""
    share: Annotated[float | None, Key("max_network_share", "not asked for")] = None
    """Of one broker's network that the move may use, above 0 and up to 1."""
    network: Annotated[float | None, Key("network_bytes_per_second", NO_NETWORK)] = None
    """N of KIP-73: bytes per second of one broker, if configured."""

    @property
    def most(self) -> float:
        """Highest throttle that the share, or else the network, allows; `+inf` without a configured network."""
        if self.network is None:
            return math.inf
        return throttle.share_of_network(self.network, 1.0 if self.share is None else self.share)


@dataclass(frozen=True, slots=True)
class Choice:
    """Bytes per second and seconds."""

    needed: Annotated[float, Key("needed_bytes_per_second")]
    """Lowest limit with which all brokers and sides meet the deadline."""
    most: Annotated[float, Key("allowed_bytes_per_second", infinite=NO_NETWORK)]
    """Highest limit that the goal allows; `+inf` without a configured network."""
    limit: Annotated[int | None, Key("bytes_per_second", "deadline and share contradict")]
    """The number for the tool, above 0; `None` if deadline and share contradict."""
    least_deadline: Annotated[float, Key("least_deadline_seconds")]
    """Seconds possible with `most`; `+inf` if no deadline is, 0 if `most` is `+inf`."""
    least_share: Annotated[float | None, Key("least_network_share", NO_NETWORK)]
    """Share of the network that the deadline needs, above 1 if the network is too small; `None` without a network."""
    lower_bound: Annotated[float | None, Key("lower_bound_bytes_per_second", UNKNOWN_INBOUND)]
    """The highest of the brokers that take part; `None` if one is unknown."""
    upper_bound: Annotated[float | None, Key("upper_bound_bytes_per_second", NO_UPPER_BOUND)]
    """The lowest of them; `None` without a network, or if one is unknown."""

    @property
    def assumed_limit(self) -> float:
        """The limit for which times are predicted: the one to set, or the highest that the share allows."""
        return float(self.limit) if self.limit is not None else self.most


def choose(loads: Sequence[Load], goal: Goal, bounds: Mapping[int, Bounds]) -> Choice | None:
    """Choose the throttle for some loads; `None` if nothing is copied. `bounds`: of all brokers that take part."""
    if not loads:
        return None
    needed = [load.needed(goal.deadline) for load in loads]
    lower, upper = _all_known(b.lower for b in bounds.values()), _all_known(b.upper for b in bounds.values())
    return Choice(
        needed=max(needed),
        most=goal.most,
        limit=_limit(needed, goal.most, lower, upper),
        least_deadline=max(load.least_deadline(goal.most) for load in loads),
        least_share=None if goal.network is None else max(needed) / goal.network,
        lower_bound=max(lower) if lower else None,
        upper_bound=min(upper) if upper else None,
    )


def _limit(needed: Sequence[float], most: float, lower: Sequence[float], upper: Sequence[float]) -> int | None:
    """Return the lowest limit inside the bounds; if none fits, the closest between the needed one and `most`."""
    limit = throttle_use.recommended_limit(needed, [*lower, LEAST_THROTTLE], [*upper, most])
    if limit is None:
        # An upper bound may be below what the tool accepts, down to 0. With 0 nothing would ever end.
        limit = max(*needed, min(LEAST_THROTTLE, most), min([max([*lower, LEAST_THROTTLE]), *upper, most]))
    whole = math.ceil(limit)
    if whole <= most:
        return whole
    # If `most` is not a whole number, the number below it is allowed.
    return math.floor(most) if max(1.0, *needed) <= math.floor(most) else None


def _all_known(bounds: Iterable[float | None]) -> list[float]:
    """Return the bounds, or none of them if one is unknown."""
    found = list(bounds)
    known = [bound for bound in found if bound is not None]
    return known if len(known) == len(found) else []
