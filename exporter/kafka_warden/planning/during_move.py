"""The cluster during a move and after it, the lists that kafka-reassign-partitions sets, and what it cannot set.

The tool sets the lists of every topic that moves: old replicas in the leader list, new ones in the follower list
(`calculateLeaderThrottles`, `calculateFollowerThrottles`). Lists of other topics do not change. A list that is too long
for the tool is `*`. After the move all moving replicas have arrived; a rollback starts from that.

`--execute --throttle` sets lists of all topics that move, then asks every broker that has or gets a replica. A broker
that is down does not answer (KAFKA-13392), and the tool cannot write a long list (KAFKA-17993). Then it starts no move,
and kafka-configs sets the throttle before `--execute`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Final

import numpy as np

from kafka_warden.arrays import as_known
from kafka_warden.derive import throttle
from kafka_warden.model import SIDES, UNKNOWN, Bools, Floats, Ints, ReplicaTable, Side, Snapshot
from kafka_warden.planning.json_values import NO_UPPER_BOUND, UNKNOWN_INBOUND, Key
from kafka_warden.planning.moving import Moving, rows_of

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


@dataclass(frozen=True, slots=True)
class DuringMove:
    """B brokers, P partitions. The rows of `replicas` are those of the snapshot, then the new ones."""

    brokers: Ints
    """(B,) ids, ascending."""
    replicas: throttle.Replicas
    bytes_in: Floats
    """(P,)"""

    def floors(self) -> dict[Side, dict[int, float]]:
        """In-sync traffic that counts against the limit of each broker and side, NaN if a rate is unknown."""
        floors = throttle.floors_of_sides(self.replicas, self.bytes_in, len(self.brokers))
        ids = self.brokers.tolist()
        return {side: dict(zip(ids, column.tolist(), strict=True)) for side, column in zip(SIDES, floors, strict=True)}

    def bounds(self, brokers: Iterable[int], network: float | None) -> dict[int, Bounds]:
        """KIP-73's bounds of some brokers, by id. `network`: bytes per second of one broker, if configured."""
        count = len(self.brokers)
        upper = np.full(count, np.nan)
        lower = throttle.lower_bound(self.replicas, self.bytes_in, count).values
        if network is not None:
            upper = throttle.upper_bound(self.replicas, self.bytes_in, count, network).values
        rows = {broker: row for row, broker in enumerate(self.brokers.tolist())}
        return {
            broker: Bounds(as_known(lower[rows[broker]]), as_known(upper[rows[broker]])) for broker in sorted(brokers)
        }


def during_move(snapshot: Snapshot, moving: Sequence[Moving], bytes_in: Floats) -> DuringMove:
    """Add the new replicas to the snapshot. `bytes_in`: (P,) bytes per second, NaN if unknown."""
    partitions, replicas = snapshot.partitions, snapshot.replicas
    new = [(p.row, one.broker) for p in moving for one in p.arriving if not one.under_way]
    rows = np.array([row for row, _ in new], replicas.partition.dtype)
    hosts = np.array([broker for _, broker in new], replicas.broker.dtype)
    broker = np.concatenate([replicas.broker, hosts])
    brokers = np.unique(np.concatenate([np.fromiter(snapshot.brokers, np.int32), broker])).astype(np.int32)
    is_leader = np.zeros(len(broker), bool)
    is_leader[partitions.leader_row[partitions.leader_row != UNKNOWN]] = True
    no = np.zeros(len(new), bool)
    leader, follower = (_listed(snapshot, throttled_lists(moving), side) for side in SIDES)
    return DuringMove(
        brokers,
        throttle.Replicas(
            partition=np.concatenate([replicas.partition, rows]),
            broker=np.searchsorted(brokers, broker).astype(np.int32),
            is_leader=is_leader,
            in_isr=np.concatenate([replicas.in_isr, no]),
            leader_listed=np.concatenate([leader, no]),
            follower_listed=np.concatenate([follower, ~no]),
        ),
        bytes_in,
    )


def _listed(snapshot: Snapshot, moving: Mapping[str, Mapping[Side, str]], side: Side) -> Bools:
    """(R,) replicas on the lists of one side: of topics that move those of `moving`, of others the configured ones."""
    lists = {
        topic: config.leader_throttled if side is Side.LEADER else config.follower_throttled
        for topic, config in snapshot.topic_configs.items()
    }
    lists |= {topic: sides[side] for topic, sides in moving.items()}
    values = [(index, lists[topic]) for index, topic in enumerate(snapshot.topics) if topic in lists]
    partition = snapshot.replicas.partition
    topic, number = snapshot.partitions.topic[partition], snapshot.partitions.number[partition]
    return throttle.listed_rows(throttle.lists_of(values), topic, number, snapshot.replicas.broker)


def after_move(snapshot: Snapshot, moving: Sequence[Moving]) -> Snapshot:
    """Return the snapshot after the move. `moving` has all partitions that move; others do not change.

    A new replica is equal to its leader. The first replica in sync leads, as after a preferred election. Topics that
    moved have no throttled lists, as `--verify` removes them. Log directories do not change.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    moved = np.array([p.row for p in moving], replicas.partition.dtype)
    kept = np.flatnonzero(~np.isin(replicas.partition, moved))
    new = [row for p in moving for row in _rows(snapshot, p)]
    like = np.concatenate([kept, np.array([row for row, _, _ in new], np.int64)])
    broker = np.concatenate([replicas.broker[kept], np.array([b for _, b, _ in new], replicas.broker.dtype)])
    leads = np.concatenate([np.isin(kept, partitions.leader_row), np.array([lead for _, _, lead in new], bool)])
    order = np.argsort(replicas.partition[like], kind="stable")
    columns = {column.name: getattr(replicas, column.name)[like[order]] for column in fields(ReplicaTable)}
    no = np.zeros(len(order), bool)
    table = ReplicaTable(**{**columns, "broker": broker[order], "adding": no, "removing": no})
    led = np.flatnonzero(leads[order])
    leader_row, leader = np.full_like(partitions.leader_row, UNKNOWN), np.full_like(partitions.leader, UNKNOWN)
    leader_row[table.partition[led]], leader[table.partition[led]] = led, table.broker[led]
    configs = snapshot.topic_configs
    unlisted = {
        topic: replace(configs[topic], leader_throttled="", follower_throttled="")
        for topic in {p.topic for p in moving} & configs.keys()
    }
    return replace(
        snapshot,
        replicas=table,
        partitions=replace(
            partitions, leader=leader, leader_row=leader_row, reassigning=np.zeros_like(partitions.reassigning)
        ),
        topic_configs={**configs, **unlisted},
    )


def _rows(snapshot: Snapshot, moving: Moving) -> list[tuple[int, int, bool]]:
    """Replicas of one partition after the move, in order: row of the replica to copy, broker id, whether it leads."""
    replicas, leader_row = snapshot.replicas, int(snapshot.partitions.leader_row[moving.row])
    first, last = rows_of(replicas, moving.row)
    present = {int(replicas.broker[row]): row for row in range(first, last) if not replicas.adding[row]}
    rows = [(present.get(broker, leader_row if leader_row != UNKNOWN else first), broker) for broker in moving.replicas]
    in_sync = [broker for row, broker in rows if leader_row != UNKNOWN and replicas.in_isr[row]]
    return [(row, broker, broker in in_sync[:1]) for row, broker in rows]
