"""Where the replicas of a new topic go: how many Kafka may put on one broker, and a placement within limits."""

from collections.abc import Collection, Sequence

Rack = str | None
"""`None` where the broker names none: Kafka takes those for one rack."""


def most_by_kafka(racks: Collection[Rack], up: int, partitions: int, factor: int) -> int:
    """Most replicas of a new topic that Kafka's own placement puts on one broker, whatever its random start.

    `StripedReplicaPlacer`: in one rack each partition starts a broker further than the one before, and brokers are
    shuffled after every round of as many partitions as brokers are up. So each gets `factor` in a whole round, and up
    to that many in the rest. Between racks it spreads by rack first: the only broker of one may get a replica of every
    partition.

    Args:
        racks: of the registered brokers, fenced ones included.
        up: brokers that are not fenced, at least `factor`.
        partitions: of the topic.
        factor: its replication factor.
    """
    if len(set(racks)) != 1:
        return partitions
    rounds, rest = divmod(partitions, up)
    return rounds * factor + min(rest, factor)


def keeps_racks_apart(racks: Sequence[Rack], factor: int) -> bool:
    """Whether there are several racks, and as many as replicas, so that no two of one partition need share one."""
    return len(set(racks)) >= max(factor, 2)


def room_by_rack(headroom: Sequence[float], racks: Sequence[Rack], partitions: int) -> float:
    """Replicas of so many partitions that brokers take, one of each partition in a rack at most.

    It fits where this is `partitions` times the replication factor or more. `headroom`, `racks`: by broker.
    """
    return sum(min(_left(headroom, rack), partitions) for rack in _brokers(racks))


def place_by_rack(
    headroom: Sequence[float], racks: Sequence[Rack], partitions: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Indices of the brokers of each partition, each time in the racks with most room, and there the emptiest.

    What fits by `room_by_rack` fits so; without racks it is `limits.placement`. `headroom`: finite, by broker.
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
    """Indices of the brokers of each rack."""
    found: dict[Rack, list[int]] = {}
    for broker, rack in enumerate(racks):
        found.setdefault(rack, []).append(broker)
    return list(found.values())


def _left(headroom: Sequence[float], rack: Sequence[int]) -> float:
    return sum(max(headroom[broker], 0.0) for broker in rack)
