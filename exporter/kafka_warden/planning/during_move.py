"""The cluster during a move and after it, the lists that kafka-reassign-partitions sets, and what it cannot set.

The tool sets the lists of every topic that moves: old replicas in the leader list, new ones in the follower list
(`calculateLeaderThrottles`, `calculateFollowerThrottles`). Lists of other topics do not change. A list that is too long
for the tool is `*`. After the move all moving replicas have arrived; a rollback starts from that.

`--execute --throttle` sets lists of all topics that move, then asks every broker that has or gets a replica. A broker
that is down does not answer (KAFKA-13392), and the tool cannot write a long list (KAFKA-17993). Then it starts no move,
and kafka-configs sets the throttle before `--execute`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Final

import numpy as np

from kafka_warden.model import SIDES, UNKNOWN, Longs, ReplicaTable, Side, Snapshot
from kafka_warden.planning.json_values import NO_UPPER_BOUND, UNKNOWN_INBOUND, Key
from kafka_warden.planning.moving import MovingPartition, rows_of

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


def by_hand(snapshot: Snapshot, moving: Sequence[MovingPartition]) -> ByHand | None:
    """Return what to set with kafka-configs; `None` if the tool can set it."""
    brokers = {broker for p in moving for broker in (*p.sources, *(one.broker for one in p.arriving))}
    up = {broker.id for broker in snapshot.brokers.values() if broker.active}
    lists = throttled_lists(moving)
    long = tuple(sorted(topic for topic, sides in lists.items() if ALL in sides.values()))
    if brokers <= up and not long:
        return None
    return ByHand(tuple(sorted(brokers & up)), lists, tuple(sorted(brokers - up)), long)


def throttled_lists(moving: Sequence[MovingPartition]) -> dict[str, dict[Side, str]]:
    """Return the lists of each topic that moves: those of the tool, `*` in place of one that is too long."""
    found: dict[str, dict[Side, list[str]]] = {}
    for p in moving:
        sides = found.setdefault(p.topic, {side: [] for side in SIDES})
        sides[Side.LEADER] += [f"{p.number}:{broker}" for broker in p.sources]
        sides[Side.FOLLOWER] += [f"{p.number}:{one.broker}" for one in p.arriving]
    written = {topic: {side: ",".join(entries) for side, entries in sides.items()} for topic, sides in found.items()}
    return {
        topic: {side: value if len(value) <= LONGEST_LIST else ALL for side, value in sides.items()}
        for topic, sides in written.items()
    }


@dataclass(frozen=True, slots=True)
class Bounds:
    """KIP-73's bounds of one broker, bytes per second; `None` if unknown, or without a configured network."""

    lower: Annotated[float | None, Key("lower_bytes_per_second", UNKNOWN_INBOUND)]
    upper: Annotated[float | None, Key("upper_bytes_per_second", NO_UPPER_BOUND)]


def during_move(snapshot: Snapshot, moving: Sequence[MovingPartition]) -> Snapshot:
    """Return the snapshot during the move: new replicas are out of sync, and topics that move have the tool's lists."""
    replicas = snapshot.replicas
    new = [(rows_of(replicas, p.row)[0], one.broker, False) for p in moving for one in p.arriving if not one.under_way]
    return _rebuilt(snapshot, np.arange(len(replicas)), new, throttled_lists(moving), complete=False)


def after_move(snapshot: Snapshot, moving: Sequence[MovingPartition]) -> Snapshot:
    """Return the snapshot after the move. `moving` has all partitions that move; others do not change.

    A new replica is equal to its leader. The first replica in sync leads, as after a preferred election. Topics that
    moved have no throttled lists, as `--verify` removes them. Log directories do not change.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    moved = np.array([p.row for p in moving], replicas.partition.dtype)
    kept = np.flatnonzero(~np.isin(replicas.partition, moved))
    new = [row for p in moving for row in _rows(snapshot, p)]
    no_lists = {p.topic: dict.fromkeys(SIDES, "") for p in moving}
    end = _rebuilt(snapshot, kept, new, no_lists, complete=True)
    return replace(end, partitions=replace(end.partitions, reassigning=np.zeros_like(partitions.reassigning)))


def _rebuilt(
    snapshot: Snapshot,
    kept: Longs,
    new: Sequence[tuple[int, int, bool]],
    lists: Mapping[str, Mapping[Side, str]],
    *,
    complete: bool,
) -> Snapshot:
    """Return a snapshot with other replicas, none of which is being added or removed, and other throttled lists.

    `kept`: rows of replicas that stay. `new`: the row that each new replica is a copy of, its broker id, and whether it
    leads. `complete`: new ones are in sync where the copied ones are. `lists`: by topic.
    """
    partitions, replicas, configs = snapshot.partitions, snapshot.replicas, snapshot.topic_configs
    like = np.concatenate([kept, np.array([row for row, _, _ in new], np.int64)])
    broker = np.concatenate([replicas.broker[kept], np.array([b for _, b, _ in new], replicas.broker.dtype)])
    leads = np.concatenate([np.isin(kept, partitions.leader_row), np.array([lead for _, _, lead in new], bool)])
    order = np.argsort(replicas.partition[like], kind="stable")
    columns = {column.name: getattr(replicas, column.name)[like[order]] for column in fields(ReplicaTable)}
    columns["in_isr"] &= complete | (order < len(kept))
    no = np.zeros(len(order), bool)
    table = ReplicaTable(**{**columns, "broker": broker[order], "adding": no, "removing": no})
    led = np.flatnonzero(leads[order])
    leader_row, leader = np.full_like(partitions.leader_row, UNKNOWN), np.full_like(partitions.leader, UNKNOWN)
    leader_row[table.partition[led]], leader[table.partition[led]] = led, table.broker[led]
    listed = {
        topic: replace(configs[topic], leader_throttled=sides[Side.LEADER], follower_throttled=sides[Side.FOLLOWER])
        for topic, sides in lists.items()
        if topic in configs
    }
    return replace(
        snapshot,
        replicas=table,
        partitions=replace(partitions, leader=leader, leader_row=leader_row),
        topic_configs={**configs, **listed},
    )


def _rows(snapshot: Snapshot, moving: MovingPartition) -> list[tuple[int, int, bool]]:
    """Replicas of one partition after the move, in order: row of the replica to copy, broker id, whether it leads."""
    replicas, leader_row = snapshot.replicas, int(snapshot.partitions.leader_row[moving.row])
    first, last = rows_of(replicas, moving.row)
    present = {int(replicas.broker[row]): row for row in range(first, last) if not replicas.adding[row]}
    rows = [(present.get(broker, leader_row if leader_row != UNKNOWN else first), broker) for broker in moving.replicas]
    in_sync = [broker for row, broker in rows if leader_row != UNKNOWN and replicas.in_isr[row]]
    return [(row, broker, broker in in_sync[:1]) for row, broker in rows]
