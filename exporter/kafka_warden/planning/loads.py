"""Traffic through each broker and side in a move, and the throttle for X and Y of KIP-73's goals.

X is a share of the network for the move, Y a deadline. The throttle is the lowest limit that meets the deadline
(docs/spec/throttles.md#recommended-throttle), raised to KIP-73's lower bound if that fits: the same rule as
`kafka_warden_replication_throttle_recommended_bytes_per_second`. Bounds are advice, the share is binding.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from kafka_warden.derive import etas, law, throttle, throttle_use
from kafka_warden.errors import IncompleteError
from kafka_warden.formatting import in_count
from kafka_warden.model import BrokerConfig, Side, Snapshot
from kafka_warden.planning.during_move import Bounds
from kafka_warden.planning.json_values import NO_NETWORK, NO_UPPER_BOUND, UNKNOWN_INBOUND, Key
from kafka_warden.planning.moving import MovingPartition

LEAST_THROTTLE: Final = 1000
"""Bytes per second: `--throttle` "should be at least 1 KB/s" (kafka-reassign-partitions --help)."""


@dataclass(frozen=True, slots=True)
class SideLoad:
    """Bytes and bytes per second through one broker and side. All values are known."""

    broker: Annotated[int, Key("broker")]
    side: Annotated[Side, Key("side")]
    floor: Annotated[float, Key("floor_bytes_per_second")]
    """In-sync traffic that counts against the limit and is never throttled."""
    bytes_in: Annotated[float, Key("bytes_in_per_second")]
    """Inbound rate of the partitions that are copied, once per copy."""
    remaining: Annotated[float, Key("bytes")]
    """To copy."""
    burst: Annotated[float, Key("burst_bytes")]
    """B of all flows: bytes that pass before they are counted."""
    window: law.Window

    def needed(self, deadline: float) -> float:
        """Lowest limit that meets a deadline in seconds."""
        return throttle_use.needed_limit(self.floor, self.bytes_in, self.remaining, deadline)

    def least_deadline(self, limit: float) -> float:
        """Shortest possible deadline in seconds at a limit; `+inf` if none is possible."""
        return throttle_use.least_deadline(self.floor, self.bytes_in, self.remaining, limit)

    def net(self, limit: float) -> float:
        """Progress at a limit by the law, bytes per second; negative if the inbound rate is higher."""
        headroom = throttle.headroom(limit, self.floor)
        return law.net(law.gross(headroom, self.burst, self.window), self.bytes_in)

    def seconds(self, limit: float) -> float:
        """Predicted seconds at a limit, by the law; `+inf` for never."""
        return etas.eta(self.remaining, self.net(limit))

    def most(self, limit: float) -> float:
        """Highest copy rate at a limit with bursts, bytes per second in the mean of a quota window."""
        return law.ceiling(throttle.headroom(limit, self.floor), self.burst, self.window)


def derive_loads(
    snapshot: Snapshot, moving: Sequence[MovingPartition], floors: Mapping[Side, Mapping[int, float]]
) -> tuple[SideLoad, ...]:
    """Sum the copies per leader and per target, in the order of broker ids, leader before follower.

    `floors`: in-sync traffic that counts against the limit of each side, by broker id; NaN if a rate is unknown.

    Raises:
        IncompleteError: a configuration or an inbound rate is unknown.
    """
    missing = sorted(set(snapshot.topics) - snapshot.topic_configs.keys())
    if missing:
        raise IncompleteError(
            f"the configuration of {in_count(len(missing), 'topic')} is unknown, for example of {missing[0]}:"
            " is DescribeConfigs on topics allowed?"
        )
    through: dict[throttle.SideKey, list[tuple[MovingPartition, float]]] = {}
    flows: dict[tuple[int, int], int] = {}
    for partition in moving:
        for one in partition.arriving:
            flows[one.broker, partition.leader] = flows.get((one.broker, partition.leader), 0) + 1
            for key in ((partition.leader, Side.LEADER), (one.broker, Side.FOLLOWER)):
                through.setdefault(key, []).append((partition, one.remaining))
    bursts: dict[tuple[int, int], float] = {}
    for pair, count in flows.items():
        # B of one flow, by the configuration of its target (docs/spec/throttle-law.md#the-law).
        config = _config(snapshot, pair[0])
        response = float(config.replica_fetchers * config.replica_fetch_response_max_bytes)
        bursts[pair] = law.burst(count, config.replica_fetch_max_bytes, response)
    return tuple(
        _load(snapshot, key, copies, bursts, floors[key[1]][key[0]])
        for key, copies in sorted(through.items(), key=lambda item: (item[0][0], item[0][1] is Side.FOLLOWER))
    )


def last_to_end(loads: Sequence[SideLoad], limit: float) -> tuple[SideLoad, float] | None:
    """Return the broker and side that ends last at a limit, and its seconds by the law; of equal ones the tighter."""
    tightest = sorted(loads, key=lambda load: throttle.headroom(limit, load.floor))
    keyed = {(load.broker, load.side): load for load in tightest}
    rates: Mapping[throttle.SideKey, float | None] = {key: load.net(limit) for key, load in keyed.items()}
    found = etas.bottleneck({key: load.remaining for key, load in keyed.items()}, rates)
    return None if found is None else (keyed[found[0]], found[1])


def _load(
    snapshot: Snapshot,
    key: throttle.SideKey,
    copies: Sequence[tuple[MovingPartition, float]],
    bursts: Mapping[tuple[int, int], float],
    floor: float,
) -> SideLoad:
    broker, side = key
    if math.isnan(floor):
        raise IncompleteError(
            f"broker {broker}: the inbound rate of a listed partition was not measured;"
            " measure longer (--measure), or use a longer history"
        )
    config = _config(snapshot, broker)
    return SideLoad(
        broker=broker,
        side=side,
        floor=floor,
        bytes_in=sum(partition.bytes_in for partition, _ in copies),
        remaining=sum(remaining for _, remaining in copies),
        burst=sum(burst for pair, burst in bursts.items() if pair[side is Side.LEADER] == broker),
        window=law.Window(config.quota_window_num, config.quota_window_size),
    )


def _config(snapshot: Snapshot, broker: int) -> BrokerConfig:
    config = snapshot.broker_configs.get(broker)
    if config is None:
        raise IncompleteError(
            f"the configuration of broker {broker} is unknown: is it up, and is DescribeConfigs on the cluster allowed?"
        )
    return config


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
        """Highest throttle that the share, or else the network, allows (KIP-73 Q&A 1); `+inf` if not configured."""
        if self.network is None:
            return math.inf
        return self.network * (1.0 if self.share is None else self.share)


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


def choose(loads: Sequence[SideLoad], goal: Goal, bounds: Mapping[int, Bounds]) -> Choice | None:
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
