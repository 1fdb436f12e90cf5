"""The rows of bulk history, column by column, in the sidecar's schema."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from fleet.bulk_cluster import LATE, Block, BulkCluster
from fleet.seen import KAFKA, PORT
from kafka_warden.history.column import DictionaryColumn, Values
from kafka_warden.history.poll import topic_id_text
from kafka_warden.history.schema import BY_NAME, VERSION, columns_of

STATES: Final = ("in_sync", "slow")


def all_rows(block: Block) -> Mapping[str, Mapping[str, Values]]:
    """Columns by table; those without generated values are null."""
    made = {
        "replicas": replica_rows(block),
        "partitions": partition_rows(block),
        "brokers": broker_rows(block),
        "polls": poll_rows(block),
    }
    return {table: {**_nothing(table, len(columns["time"])), **columns} for table, columns in made.items()}


def replica_rows(block: Block) -> Mapping[str, Values]:
    """Columns of `replicas`: K x P x RF rows."""
    bulk, (polls, partitions, factor) = block.bulk, block.lag.shape
    leads = np.broadcast_to(np.arange(factor) == 0, block.lag.shape).ravel()
    lag, behind, late = block.lag.ravel(), block.behind.ravel(), block.late.ravel()
    end = (block.end[:, :, None] - block.lag).ravel()
    record = np.broadcast_to(bulk.record[:, None], block.lag.shape).ravel()
    clock = np.repeat(block.clock, partitions * factor)
    caught = behind == 0
    out = np.where(late, clock - behind + LATE, np.nan)
    never = np.zeros(len(lag), bool)
    return {
        **_common(block, partitions * factor),
        **_keys(bulk, np.tile(np.repeat(np.arange(partitions), factor), polls)),
        "broker": np.broadcast_to(bulk.replicas, block.lag.shape).ravel(),
        "position": np.broadcast_to(np.arange(factor, dtype=np.int32), block.lag.shape).ravel(),
        "in_isr": ~late,
        "offline": never,
        "adding": never,
        "removing": never,
        "end": end,
        "size": (end * record).astype(np.int64),
        "sized_at": clock,
        "start": np.where(leads, 0, -1),
        "lag_messages": lag,
        "lag_bytes": lag * record,
        "known_end": end,
        "following": ~leads,
        "lagging": (lag > 0) | late,
        "shown": (lag > 0) | late,
        "estimate_reset": never,
        "lag_seconds": np.where(leads, np.nan, behind),
        "behind_seconds": np.where(leads, np.nan, behind),
        "caught_up": caught,
        "late": late,
        "caught_up_at": np.where(leads, np.nan, clock - behind),
        "state": DictionaryColumn(late.astype(np.int32), STATES),
        "out_since": out,
        "out_seconds": clock - out,
        "leader_listed": never,
        "follower_listed": never,
    }


def partition_rows(block: Block) -> Mapping[str, Values]:
    """Columns of `partitions`: K x P rows."""
    bulk, (polls, partitions, factor) = block.bulk, block.lag.shape
    out = block.late.sum(axis=2).ravel()
    never = np.zeros(len(out), bool)
    longest = np.where(block.late, block.behind - LATE, 0.0).max(axis=2).ravel()
    clock, least = np.repeat(block.clock, partitions), max(factor - 1, 1)
    return {
        **_common(block, partitions),
        **_keys(bulk, np.tile(np.arange(partitions), polls)),
        "leader": np.tile(bulk.replicas[:, 0], polls),
        "leader_epoch": np.zeros(len(out), np.int32),
        "start": np.zeros(len(out), np.int64),
        "reassigning": never,
        "bytes_in": block.rate.ravel(),
        "under_replicated": out > 0,
        "under_min_isr": factor - out < least,
        "at_min_isr": (factor - out == least) & (out > 0),
        "offline": never,
        "under_since": np.where(out > 0, clock - longest, np.nan),
        "under_seconds": np.where(out > 0, longest, np.nan),
    }


def broker_rows(block: Block) -> Mapping[str, Values]:
    """Columns of `brokers`: K x B rows."""
    bulk, polls, count = block.bulk, len(block.polls), len(block.bulk.brokers)
    hosted = np.bincount(bulk.replicas.ravel(), minlength=count + 1)[1:]
    led = np.bincount(bulk.replicas[:, 0], minlength=count + 1)[1:]
    lag_bytes = block.lag * bulk.record[:, None]
    rows, none = np.tile(np.arange(count), polls), np.zeros(polls * count)
    out = _by_broker(block, block.late).astype(np.int64)
    return {
        **_common(block, count),
        "broker": np.tile(bulk.brokers, polls),
        "host": DictionaryColumn(rows, [f"kafka-{broker}.example" for broker in bulk.brokers.tolist()]),
        "port": np.full(len(rows), PORT, np.int64),
        # Two alike among the values of a coded column leave bytes of Arrow's memory in the file.
        "rack": [bulk.racks[row] for row in rows.tolist()],
        "fenced": none > 0,
        "gone": none > 0,
        "offsets_at": np.repeat(block.clock, count),
        "state": DictionaryColumn(np.zeros(len(rows), np.int32), ["active"]),
        "replicas": np.tile(hosted, polls),
        "leaders": np.tile(led, polls),
        "counted": np.tile(hosted, polls),
        "adding": none.astype(np.int64),
        "removing": none.astype(np.int64),
        "lag_messages": _by_broker(block, block.lag.astype(np.float64)),
        "lag_messages_unknown": none.astype(np.int64),
        "lag_bytes": _by_broker(block, lag_bytes),
        "lag_bytes_unknown": none.astype(np.int64),
        "led_lag_bytes": _by_leader(block, lag_bytes.sum(axis=2)),
        "led_lag_bytes_unknown": none.astype(np.int64),
        "out_of_sync": [{STATES[1]: each} if each else {} for each in out.tolist()],
        "leader_throttled": none,
        "follower_throttled": none,
        "leader_floor": none,
        "follower_floor": none,
    }


def poll_rows(block: Block) -> Mapping[str, Values]:
    """Columns of `polls`: K rows."""
    polls, partitions, factor = block.lag.shape
    same = np.zeros(polls, np.int32)
    counts = {"partitions": partitions, "replicas": partitions * factor, "brokers": len(block.bulk.brokers)}
    return {
        **_common(block, 1),
        "remembered": DictionaryColumn((np.array(block.polls) > 0).astype(np.int32), ["nothing", "kept"]),
        "kafka_version": DictionaryColumn(same, [KAFKA]),
        "reassignments_known": same == 0,
        "partitions": np.full(polls, partitions, np.int64),
        "under_replicated_known": same == 0,
        "min_isr_known": same == 0,
        "reassigning_partitions": same.astype(np.int64),
        "rows": DictionaryColumn(same, [{**dict.fromkeys(("moves", "quotas", "configs", "restored"), 0), **counts}]),
    }


def _common(block: Block, rows: int) -> dict[str, Values]:
    """The first columns of every row; `rows` per poll."""
    all_rows = rows * len(block.polls)
    same = np.zeros(all_rows, np.int32)
    return {
        "schema_version": np.full(all_rows, VERSION, np.int32),
        "cluster_id": DictionaryColumn(same, [block.bulk.id]),
        "run": DictionaryColumn(same, [block.bulk.run]),
        "sequence": np.repeat(np.array(block.polls, np.int64), rows),
        "time": np.repeat(block.time, rows),
        "clock": np.repeat(block.clock, rows),
    }


def _keys(bulk: BulkCluster, partition: np.ndarray) -> dict[str, Values]:
    topic = bulk.topic[partition]
    return {
        "topic": DictionaryColumn(topic, [each.name for each in bulk.topics]),
        "topic_id": DictionaryColumn(topic, [topic_id_text(each.id) for each in bulk.topics]),
        "partition": bulk.number[partition],
    }


def _nothing(table: str, rows: int) -> dict[str, Values]:
    """Nulls for every column of a table."""
    return {column.name: [None] * rows for column in columns_of(BY_NAME[table])}


def _by_broker(block: Block, values: np.ndarray) -> Any:
    """(K x B,) sums of (K, P, RF) values by hosting broker."""
    return _summed(block, np.broadcast_to(block.bulk.replicas, values.shape), values)


def _by_leader(block: Block, values: np.ndarray) -> Any:
    """(K x B,) sums of (K, P) values by leader."""
    return _summed(block, np.broadcast_to(block.bulk.replicas[:, 0], values.shape), values)


def _summed(block: Block, broker: np.ndarray, values: np.ndarray) -> Any:
    count = len(block.bulk.brokers)
    poll = np.arange(len(values)).reshape(-1, *([1] * (values.ndim - 1)))
    cells = (poll * count + broker - 1).ravel()
    return np.bincount(cells, values.ravel().astype(np.float64), len(values) * count)
