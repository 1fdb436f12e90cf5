"""The throttle of a move that kafka-reassign-partitions cannot set: kafka-configs sets it before `--execute`.

`--execute --throttle` sets lists of all topics that move, then asks every broker that has or gets a replica. A broker
that is down does not answer (KAFKA-13392), and the tool cannot write a long list (KAFKA-17993). Then it starts no move.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka_warden.model import SIDES, Side, Snapshot
from kafka_warden.planning.moving import Moving

LONGEST_LIST: Final = 32_767
"""Bytes of a value in Kafka's requests."""
ALL: Final = "*"
"""The list with all replicas of a topic."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """What to set. At least one of `down` and `long` is not empty."""

    brokers: tuple[int, ...]
    """That get the rate: all that take part and are up."""
    lists: Mapping[str, Mapping[Side, str]]
    """Of all topics that move."""
    down: tuple[int, ...]
    """Brokers that the tool would ask, and that do not answer."""
    long: tuple[str, ...]
    """Topics with a list that the tool cannot write."""


def by_hand(snapshot: Snapshot, moving: Sequence[Moving]) -> ByHand | None:
    """Return what to set with kafka-configs; `None` if the tool can set it."""
    brokers = {broker for p in moving for broker in (*p.sources, *(one.broker for one in p.arriving))}
    up = {broker.id for broker in snapshot.brokers.values() if broker.active}
    lists = throttled_lists(moving)
    long = tuple(sorted(topic for topic, sides in lists.items() if ALL in sides.values()))
    if brokers <= up and not long:
        return None
    return ByHand(tuple(sorted(brokers & up)), lists, tuple(sorted(brokers - up)), long)


def throttled_lists(moving: Sequence[Moving]) -> dict[str, dict[Side, str]]:
    """Return the lists of each topic that moves: those of the tool, `*` in place of one that is too long."""
    found: dict[str, dict[Side, list[str]]] = {}
    for p in moving:
        sides = found.setdefault(p.topic, {side: [] for side in SIDES})
        sides[Side.LEADER] += [f"{p.number}:{broker}" for broker in p.sources]
        sides[Side.FOLLOWER] += [f"{p.number}:{one.broker}" for one in p.arriving]
    return {topic: {side: _value(entries) for side, entries in sides.items()} for topic, sides in found.items()}


def _value(entries: Sequence[str]) -> str:
    value = ",".join(entries)
    return value if len(value) <= LONGEST_LIST else ALL
