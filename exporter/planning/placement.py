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
    """Whether there are as many racks as replicas, so that no two of one partition need share one."""
    return len(set(racks)) >= factor


def room(headroom: Sequence[float], racks: Sequence[Rack], partitions: int, factor: int) -> float:
    """Replicas of so many partitions that brokers take, no two of one partition on one broker or, if can be, rack.

    It fits where this is `partitions` x `factor` or more. `headroom`, `racks`: by broker.
    """
    groups = _groups(racks, factor)
    return sum(min(_left(headroom, group), partitions) for group in groups)


def place(
    headroom: Sequence[float], racks: Sequence[Rack], partitions: int, factor: int
) -> tuple[tuple[int, ...], ...]:
    """Indices of the brokers of each partition, each time of the racks with most room. What fits by `room` fits so."""
    left, placed = list(headroom), []
    groups = _groups(racks, factor)
    for _ in range(partitions):
        chosen = sorted(groups, key=lambda group: -_left(left, group))[:factor]
        replicas = tuple(max(group, key=lambda broker: left[broker]) for group in chosen)
        placed.append(replicas)
        for broker in replicas:
            left[broker] -= 1
    return tuple(placed)


def _groups(racks: Sequence[Rack], factor: int) -> list[list[int]]:
    """Brokers of which a partition has one replica at most: those of a rack, or each where racks are too few."""
    if not keeps_racks_apart(racks, factor):
        return [[broker] for broker in range(len(racks))]
    found: dict[Rack, list[int]] = {}
    for broker, rack in enumerate(racks):
        found.setdefault(rack, []).append(broker)
    return list(found.values())


def _left(headroom: Sequence[float], group: Sequence[int]) -> float:
    return sum(max(headroom[broker], 0.0) for broker in group)
