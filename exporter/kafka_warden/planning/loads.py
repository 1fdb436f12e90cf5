"""What goes through every broker and side while a plan runs, and what that asks of its limit (judgement.md 4, 5)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_warden.errors import IncompleteError
from kafka_warden.formulas import law, moves, throttle
from kafka_warden.formulas.ops import NUMBERS
from kafka_warden.model import BrokerConfig, Side, Snapshot
from kafka_warden.planning.during_move import During
from kafka_warden.planning.moving import Moving

SideKey = tuple[int, Side]
"""Broker id and side."""


@dataclass(frozen=True, slots=True)
class Load:
    """Bytes and bytes per second through one broker and side. All of it is known."""

    broker: int
    side: Side
    floor: float
    """In-sync traffic that counts against the limit and is never held back."""
    bytes_in: float
    """Produced to the partitions whose replicas are copied, for each copy."""
    remaining: float
    """To copy."""
    burst: float
    """B of all flows through it: what passes before it is counted."""
    window: law.Window

    def needed(self, deadline: float) -> float:
        """Least limit that ends it within `deadline` seconds."""
        return moves.needed_limit(self.floor, self.bytes_in, self.remaining, deadline)

    def least_deadline(self, limit: float) -> float:
        """Least deadline in seconds at a limit, `+inf` where none will do."""
        return moves.least_deadline(NUMBERS, self.floor, self.bytes_in, self.remaining, limit)

    def net(self, limit: float) -> float:
        """Bytes a second by which it gets on at a limit, by the law; negative where inbound outruns it."""
        headroom = throttle.headroom(limit, self.floor)
        return law.net(law.gross(NUMBERS, headroom, self.burst, self.window), self.bytes_in)

    def seconds(self, limit: float) -> float:
        """Seconds that it takes at a limit, by the law; `+inf` for never."""
        return moves.eta(NUMBERS, self.remaining, self.net(limit))

    def most(self, limit: float) -> float:
        """Most that it copies at a limit, bytes a second in the mean of a quota window: bursts are let through."""
        return law.ceiling(NUMBERS, throttle.headroom(limit, self.floor), self.burst, self.window)


def derive_loads(snapshot: Snapshot, moving: Sequence[Moving], during: During) -> tuple[Load, ...]:
    """Add the copies up by their leaders and by their targets; broker id, then leader before follower.

    Raises:
        IncompleteError: a configuration is not known, or what is produced to a listed partition.
    """
    _refuse_unknown_lists(snapshot)
    through: dict[SideKey, list[tuple[Moving, float]]] = {}
    flows: dict[tuple[int, int], int] = {}
    for partition in moving:
        for one in partition.arriving:
            flows[one.broker, partition.leader] = flows.get((one.broker, partition.leader), 0) + 1
            for key in ((partition.leader, Side.LEADER), (one.broker, Side.FOLLOWER)):
                through.setdefault(key, []).append((partition, one.remaining))
    bursts = {pair: _burst(_config(snapshot, pair[0]), count) for pair, count in flows.items()}
    floors = during.floors()
    return tuple(
        _load(snapshot, key, copies, _through(bursts, key), floors[key[1]][key[0]])
        for key, copies in sorted(through.items(), key=lambda item: (item[0][0], item[0][1] is Side.FOLLOWER))
    )


def last_to_end(loads: Sequence[Load], limit: float) -> tuple[Load, float] | None:
    """Tell which broker and side ends last at a limit, and in how many seconds by the law; the tighter of two alike."""
    tightest = sorted(loads, key=lambda load: throttle.headroom(limit, load.floor))
    keyed = {(load.broker, load.side): load for load in tightest}
    rates: Mapping[SideKey, float | None] = {key: load.net(limit) for key, load in keyed.items()}
    found = moves.bottleneck({key: load.remaining for key, load in keyed.items()}, rates)
    return None if found is None else (keyed[found[0]], found[1])


def _load(snapshot: Snapshot, key: SideKey, copies: Sequence[tuple[Moving, float]], burst: float, floor: float) -> Load:
    broker, side = key
    if math.isnan(floor):
        raise IncompleteError(
            f"broker {broker}: what in-sync replicas of listed partitions copy was not measured;"
            " measure longer (--measure), or take more history"
        )
    config = _config(snapshot, broker)
    return Load(
        broker=broker,
        side=side,
        floor=floor,
        bytes_in=sum(partition.bytes_in for partition, _ in copies),
        remaining=sum(remaining for _, remaining in copies),
        burst=burst,
        window=law.Window(config.quota_window_num, config.quota_window_size),
    )


def _through(bursts: Mapping[tuple[int, int], float], key: SideKey) -> float:
    broker, side = key
    end = 1 if side is Side.LEADER else 0
    return sum(burst for pair, burst in bursts.items() if pair[end] == broker)


def _burst(config: BrokerConfig, partitions: int) -> float:
    """B of one flow: its target fetches (docs/throttle-law.md)."""
    response = float(config.replica_fetchers * config.replica_fetch_response_max_bytes)
    return law.burst(NUMBERS, float(partitions), float(config.replica_fetch_max_bytes), response)


def _config(snapshot: Snapshot, broker: int) -> BrokerConfig:
    config = snapshot.broker_configs.get(broker)
    if config is None:
        raise IncompleteError(
            f"broker {broker} did not tell its configuration: is it up, and is DescribeConfigs on the cluster allowed?"
        )
    return config


def _refuse_unknown_lists(snapshot: Snapshot) -> None:
    missing = sorted(set(snapshot.topics) - snapshot.topic_configs.keys())
    if missing:
        raise IncompleteError(
            f"{len(missing)} topics, {missing[0]} among them, did not tell their configuration:"
            " is DescribeConfigs on topics allowed?"
        )
