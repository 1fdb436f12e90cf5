"""The cluster after a move: all moving replicas have arrived. A rollback starts from it."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

import numpy as np

from kafka_warden.model import UNKNOWN, Ints, ReplicaTable, Snapshot, TopicConfig
from kafka_warden.planning.moving import Moving

_Row = tuple[int, int, bool]
"""Row of the replica that it is like, broker id, whether it leads."""


def after_move(snapshot: Snapshot, moving: Sequence[Moving]) -> Snapshot:
    """Lay the end of a plan over the snapshot: `moving` holds all that moves, and no other partition is touched.

    A copy is like its leader's log. The first replica in sync leads, as after a preferred election. Throttled lists of
    the topics that moved are gone, as `--verify` removes them. Log directories stay as they were.
    """
    partitions, replicas = snapshot.partitions, snapshot.replicas
    moved = np.array([p.row for p in moving], replicas.partition.dtype)
    kept = np.flatnonzero(~np.isin(replicas.partition, moved))
    new = [row for p in moving for row in _rows(snapshot, p)]
    like = np.concatenate([kept, np.array([row for row, _, _ in new], np.int64)])
    broker = np.concatenate([replicas.broker[kept], np.array([b for _, b, _ in new], replicas.broker.dtype)])
    leads = np.concatenate([np.isin(kept, partitions.leader_row), np.array([lead for _, _, lead in new], bool)])
    order = np.argsort(replicas.partition[like], kind="stable")
    table = _table(replicas, like[order], broker[order])
    led = np.flatnonzero(leads[order])
    leader_row, leader = np.full_like(partitions.leader_row, UNKNOWN), np.full_like(partitions.leader, UNKNOWN)
    leader_row[table.partition[led]], leader[table.partition[led]] = led, table.broker[led]
    return replace(
        snapshot,
        replicas=table,
        partitions=replace(
            partitions, leader=leader, leader_row=leader_row, reassigning=np.zeros_like(partitions.reassigning)
        ),
        topic_configs={**snapshot.topic_configs, **_unlisted(snapshot, {p.topic for p in moving})},
    )


def _rows(snapshot: Snapshot, moving: Moving) -> Iterable[_Row]:
    """Rows of one partition at its end, in the order of its replicas."""
    replicas, leader_row = snapshot.replicas, int(snapshot.partitions.leader_row[moving.row])
    first, last = np.searchsorted(
        replicas.partition, np.array([moving.row, moving.row + 1], replicas.partition.dtype)
    ).tolist()
    here = {int(replicas.broker[row]): row for row in range(first, last) if not replicas.adding[row]}
    rows = [(here.get(broker, leader_row if leader_row != UNKNOWN else first), broker) for broker in moving.replicas]
    able = [broker for row, broker in rows if leader_row != UNKNOWN and replicas.in_isr[row]]
    return [(row, broker, broker in able[:1]) for row, broker in rows]


def _table(replicas: ReplicaTable, like: Ints, broker: Ints) -> ReplicaTable:
    columns = {column.name: getattr(replicas, column.name)[like] for column in fields(ReplicaTable)}
    still = np.zeros(len(like), bool)
    return ReplicaTable(**{**columns, "broker": broker, "adding": still, "removing": still})


def _unlisted(snapshot: Snapshot, topics: Iterable[str]) -> dict[str, TopicConfig]:
    configs = snapshot.topic_configs
    return {t: replace(configs[t], leader_throttled="", follower_throttled="") for t in topics if t in configs}
