"""The cluster after a move: all moving replicas have arrived. A rollback starts from it."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from kafka_warden.model import UNKNOWN, ReplicaTable, Snapshot
from kafka_warden.planning.moving import Moving


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
    first, last = np.searchsorted(
        replicas.partition, np.array([moving.row, moving.row + 1], replicas.partition.dtype)
    ).tolist()
    present = {int(replicas.broker[row]): row for row in range(first, last) if not replicas.adding[row]}
    rows = [(present.get(broker, leader_row if leader_row != UNKNOWN else first), broker) for broker in moving.replicas]
    in_sync = [broker for row, broker in rows if leader_row != UNKNOWN and replicas.in_isr[row]]
    return [(row, broker, broker in in_sync[:1]) for row, broker in rows]
