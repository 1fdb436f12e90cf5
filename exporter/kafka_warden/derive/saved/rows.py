"""Tables of partitions and replicas: times, and the state of folds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kafka_warden.arrays import Keys, as_known
from kafka_warden.derive.followers.remaining import RemainingEstimate
from kafka_warden.derive.followers.verdict import ReplicasMemory, empty_memory
from kafka_warden.derive.memory import Memory
from kafka_warden.derive.saved.values import Clock, Row
from kafka_warden.formulas.replica_state import STATES, ReplicaState
from kafka_warden.formulas.tiered import Copying
from kafka_warden.model import UNKNOWN, Bools, Longs, Snapshot


def lasting_replicas(memory: Memory, snapshot: Snapshot) -> Bools:
    """(R,) replicas with state to keep: all except healthy ones."""
    late = memory.replicas.caught_up_at < snapshot.clock
    return ~np.isnan(memory.out_since) | memory.replicas.restarted | late


def lasting_partitions(memory: Memory) -> Bools:
    """(P,) partitions with state to keep."""
    lasting: Bools = ~np.isnan(memory.under_since)
    copying = memory.tiered.copying
    return lasting if copying is None else lasting | ~np.isnan(copying.since)


def subset(keys: Keys, partitions: Longs, replicas: Longs) -> Keys:
    """Keep some rows, and only the topics that they are of."""
    used, topic = np.unique(keys.topic[partitions], return_inverse=True)
    return Keys(
        topics=tuple(keys.topics[index] for index in used.tolist()),
        topic_ids=tuple(keys.topic_ids[index] for index in used.tolist()),
        topic=topic.astype(np.int32),
        number=keys.number[partitions],
        partition=np.searchsorted(partitions, keys.partition[replicas]).astype(np.int32),
        broker=keys.broker[replicas],
    )


def write_partitions(memory: Memory, clock: Clock) -> list[Row]:
    """Write down every row of a memory."""
    keys, copying = memory.keys, memory.tiered.copying
    return [
        {
            "topic": keys.topics[topic],
            "topic_id": keys.topic_ids[topic].hex(),
            "partition": number,
            "under_since": clock.write(float(memory.under_since[row])),
            "tiered": int(copying.tiered[row]) if copying is not None else UNKNOWN,
            "tiered_since": clock.write(float(copying.since[row])) if copying is not None else None,
        }
        for row, (topic, number) in enumerate(zip(keys.topic.tolist(), keys.number.tolist(), strict=True))
    ]


def write_replicas(memory: Memory, clock: Clock) -> list[Row]:
    """Write down every row of a memory."""
    keys, replicas, in_sync = memory.keys, memory.replicas, memory.throttling.problems.in_sync
    return [
        {
            "partition_row": partition,
            "broker": broker,
            "end": int(memory.known_end[row]),
            "lacked_weight": as_known(memory.estimate.per_offset[row]),
            "lacked_of": int(memory.estimate.leader[row]),
            "lacked_sizes": [int(memory.estimate.size[row]), int(memory.estimate.leader_size[row])],
            "lacked_cleaned": float(memory.estimate.cleaned[row]),
            "out_since": clock.write(float(memory.out_since[row])),
            "caught_up_at": clock.write(float(replicas.caught_up_at[row])),
            "passed_at": clock.write(float(replicas.passed_at[row])),
            "restarted": bool(replicas.restarted[row]),
            "samples": int(replicas.samples[row]),
            "shown": _state(int(replicas.shown[row])),
            "candidate": _state(int(replicas.candidate[row])),
            "was_in_sync": [side for side, column in in_sync.items() if column[row]],
        }
        for row, (partition, broker) in enumerate(zip(keys.partition.tolist(), keys.broker.tolist(), strict=True))
    ]


def _state(code: int) -> ReplicaState | None:
    return None if code == UNKNOWN else STATES[code]


def read_keys(partitions: Sequence[Row], replicas: Sequence[Row]) -> Keys:
    """Read the keys; a replica refers to its partition by the place in that table."""
    topics = sorted({(row["topic"], bytes.fromhex(row["topic_id"])) for row in partitions})
    index = {topic: place for place, topic in enumerate(topics)}
    if any(not 0 <= row["partition_row"] < len(partitions) for row in replicas):
        raise ValueError("a replica is of no partition")
    return Keys(
        topics=tuple(name for name, _ in topics),
        topic_ids=tuple(uid for _, uid in topics),
        topic=np.array([index[row["topic"], bytes.fromhex(row["topic_id"])] for row in partitions], np.int32),
        number=np.array([row["partition"] for row in partitions], np.int32),
        partition=np.array([row["partition_row"] for row in replicas], np.int32),
        broker=np.array([row["broker"] for row in replicas], np.int32),
    )


def read_replicas(replicas: Sequence[Row], clock: Clock) -> ReplicasMemory:
    """Read what is remembered of every replica."""
    return replace(
        empty_memory(len(replicas)),
        caught_up_at=clock.column(replicas, "caught_up_at"),
        passed_at=clock.column(replicas, "passed_at"),
        restarted=np.array([row["restarted"] for row in replicas], bool),
        samples=np.array([row["samples"] for row in replicas], np.int8),
        shown=_read_states(replicas, "shown"),
        candidate=_read_states(replicas, "candidate"),
    )


def read_estimate(replicas: Sequence[Row]) -> RemainingEstimate:
    """Read the estimate of adding replicas; older documents have none."""
    estimate = [row.get("lacked_weight") for row in replicas]
    sizes = [row.get("lacked_sizes", (UNKNOWN, UNKNOWN)) for row in replicas]
    return RemainingEstimate(
        np.array([np.nan if weight is None else float(weight) for weight in estimate], np.float64),
        np.array([row.get("lacked_of", UNKNOWN) for row in replicas], np.int32),
        np.array([int(size) for size, _ in sizes], np.int64),
        np.array([int(leader) for _, leader in sizes], np.int64),
        np.array([float(row.get("lacked_cleaned", 0.0)) for row in replicas], np.float64),
    )


def read_copying(partitions: Sequence[Row], clock: Clock) -> Copying:
    """Read what is in remote storage of every partition, and since when nothing was copied."""
    return Copying(np.array([row["tiered"] for row in partitions], np.int64), clock.column(partitions, "tiered_since"))


def _read_states(replicas: Sequence[Row], name: str) -> np.ndarray:
    codes = (UNKNOWN if row[name] is None else STATES.index(ReplicaState(row[name])) for row in replicas)
    return np.array(list(codes), np.int8)
