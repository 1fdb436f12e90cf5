"""Placement of a new topic: the most replicas that Kafka may put on one broker, and a placement within limits."""

from collections.abc import Collection, Sequence

Rack = str | None
"""`None` for a broker without a rack: for Kafka all of these are one rack."""


def most_by_kafka(racks: Collection[Rack], up: int, partitions: int, factor: int) -> int:
    """Return the most replicas of a new topic that Kafka's placement can put on one broker, with any random start.

    `StripedReplicaPlacer`, one rack: each partition starts one broker after the previous one. After as many partitions
    as brokers are up, a round, the brokers are shuffled. So each broker gets `factor` replicas in a whole round, and up
    to `factor` in the rest. Several racks: Kafka distributes to racks first, so the only broker of a rack may get a
    replica of every partition.

    `racks`: of the registered brokers, fenced ones included, cordoned ones not. `up`: brokers that are not fenced, at
    least `factor`.
    """
    if len(set(racks)) != 1:
        return partitions
    rounds, rest = divmod(partitions, up)
    return rounds * factor + min(rest, factor)


def keeps_racks_apart(racks: Sequence[Rack], factor: int) -> bool:
    """Whether there are several racks, and enough to put each replica of a partition into another rack."""
    return len(set(racks)) >= max(factor, 2)


def room_by_rack(headroom: Sequence[float], racks: Sequence[Rack], partitions: int) -> float:
    """Return how many replicas fit, with at most one of each partition per rack. `headroom`, `racks`: by broker.

    A topic fits if this is at least `partitions` times the replication factor.
    """
    return sum(min(_left(headroom, rack), partitions) for rack in _brokers(racks))


def place_by_rack(
    headroom: Sequence[float], racks: Sequence[Rack], partitions: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Return the broker indices of each partition: the racks with most room, and in each the emptiest broker.

    It finds a placement whenever `room_by_rack` fits. `headroom`: finite, by broker.
    """
    left, placed = list(headroom), []
    groups = _brokers(racks)
    for _ in range(partitions):
        chosen = sorted(groups, key=lambda rack: -_left(left, rack))[:factor]
        replicas = tuple(max(rack, key=lambda broker: left[broker]) for rack in chosen)
        placed.append(replicas)
        for broker in replicas:
            left[broker] -= 1
    return tuple(placed)


def _brokers(racks: Sequence[Rack]) -> list[list[int]]:
    """Return the broker indices of each rack."""
    found: dict[Rack, list[int]] = {}
    for broker, rack in enumerate(racks):
        found.setdefault(rack, []).append(broker)
    return list(found.values())


def _left(headroom: Sequence[float], rack: Sequence[int]) -> float:
    return sum(max(headroom[broker], 0.0) for broker in rack)
