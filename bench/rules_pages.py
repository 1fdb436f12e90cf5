"""Pages of large clusters for `bench.rules`: 30 brokers each, and what a page has room for.

They are made from `tests/golden/metrics.txt`, which has every family: every series by broker, and of those by topic and
partition:

- `moves`: 3,000 moves, and 300 followers that are behind.
- `rates`: 6,000 partitions with their rate, and the same followers.
- `tiered`: 5,000 tiered topics, of which one in ten is overdue.
- `stuck`: both of the first two, ten stuck moves to each broker, and throttles that are too low.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kafka_warden.catalogue import PREFIX
from kafka_warden.derive.stuck import EXPLAINED, Cause
from kafka_warden.model import Source
from tests.cluster.page import OWN

GOLDEN: Final = Path(__file__).parents[1] / "tests" / "golden" / "metrics.txt"
SAMPLE: Final = re.compile(rf"^{PREFIX}(\w+?)(?:\{{(.*)\}})? (\S+)$", re.MULTILINE)
LABEL: Final = re.compile(r'(\w+)="([^"]*)"')

BROKERS: Final = range(1, 31)
PARTITIONS, MOVES, FOLLOWERS, CLIENTS, TOPICS, TIERED_TOPICS = 6_000, 3_000, 300, 50, 100, 5_000
KINDS: Final = ("stuck", "moves", "rates", "tiered")
STUCK_EVERY, OVERDUE_EVERY = 10, 10
TOO_LOW, NOT_YET = 700, 60
"""Seconds for which throttles have had a problem: long enough for an alert, and not."""

CAUSES: Final = [cause for cause in Cause if cause not in {*EXPLAINED, Cause.TARGET_DOWN}]
"""Those for which KafkaReassignmentStuck fires while all brokers answer."""

Values = Mapping[str, str]
Series = Iterator[tuple[str, Values, float | str]]
NOW: Final = "NOW"
"""In a page, what the server replaces by the time."""

HEALTHY: Final[Mapping[str, float | str]] = {
    **dict.fromkeys(("up", "cluster_reachable", "controller_reachable", "sink_up", "web_config_in_use"), 1),
    **dict.fromkeys(("config_last_reload_successful", "state_last_save_successful", "log_dir_online"), 1),
    **dict.fromkeys(("sink_last_success_timestamp_seconds", "snapshot_timestamp_seconds"), NOW),
    **dict.fromkeys(("poll_interval_seconds", "broker_replicas", "broker_leaders", "broker_partitions"), 10),
    **dict.fromkeys(("log_dir_total_bytes", "certificate_expiry_timestamp_seconds"), 4e12),
    **dict.fromkeys(("log_dir_usable_bytes", "reassignment_deadline_seconds"), 2e12),
    **dict.fromkeys(("broker_partition_limit", "cluster_partition_limit"), 200_000),
    "controller_mutation_tokens": 55,
    "controller_mutation_quota_per_second": 5,
    "controller_mutation_burst_tokens": 55,
    "replication_throttle_bytes_per_second": 1e7,
}
"""Values of families other than infos; 0 for all others."""
LEFT_OUT: Final = ("source_", "up", "dropped_series", "reassignment_bottleneck_info", "log_dir_move_")


def page(kind: str) -> Iterator[str]:
    """The lines of a page of this kind, without comments."""
    for name, labels, value in itertools.chain(_small(kind), _sources(), _large(kind)):
        text = ",".join(f'{label}="{given}"' for label, given in labels.items())
        yield f"{PREFIX}{name}{{{text}}} {value}\n"
    yield "process_start_time_seconds 1700000000\n"


def _small(kind: str) -> Series:
    """What the golden page has, with the label `broker` multiplied; without values by topic."""
    done = set()
    for name, text, _ in SAMPLE.findall(GOLDEN.read_text(encoding="utf-8")):
        labels = dict(LABEL.findall(text))
        if "topic" in labels or name.startswith(LEFT_OUT):
            continue
        wide = {"broker": BROKERS} if "broker" in labels else {"user": range(CLIENTS)} if "user" in labels else {}
        for given in itertools.product(*wide.values()):
            each = {**labels, **dict(zip(wide, map(str, given), strict=True))}
            if (key := (name, *each.items())) not in done:
                done.add(key)
                yield name, each, _value(kind, name, each)


def _value(kind: str, name: str, labels: Values) -> float | str:
    if name == "replication_throttle_problem_seconds":
        return TOO_LOW if kind == "stuck" and labels["problem"] == "below_inbound" else NOT_YET
    if name in {"reassigning_partitions", "reassignment_total_eta_seconds"}:
        return MOVES if kind in {"stuck", "moves"} else 0
    if name.endswith("_info") or labels.get("state") == "active":
        return 1
    return HEALTHY.get(name, 0)


def _sources() -> Series:
    """Every source of every broker, or of the cluster."""
    for source in Source:
        for broker in map(str, BROKERS) if source in OWN else [""]:
            labels = {"source": source, "broker": broker}
            yield "up", labels, 1
            yield "source_duration_seconds", labels, 0.01
            yield "source_last_success_timestamp_seconds", labels, NOW
            yield "source_errors_total", {**labels, "reason": "timeout"}, 3
    # The controller of the golden page is no broker.
    yield "up", {"source": Source.JMX, "broker": "101"}, 1
    # Configurations of topics.
    yield "up", {"source": Source.CONFIGS, "broker": ""}, 1


def _large(kind: str) -> Series:
    """Series by topic and partition."""
    topics = TIERED_TOPICS if kind == "tiered" else TOPICS
    for number in range(topics):
        topic = {"topic": _topic(number)}
        yield "topic_isr_shrinks_total", topic, 5
        if kind == "tiered":
            yield "topic_remote_copy_overdue_bytes", topic, 2e9 if number % OVERDUE_EVERY == 0 else 0
            yield "topic_remote_copy_stalled_seconds", topic, 0
    if kind in {"stuck", "rates"}:
        for partition in _partitions(PARTITIONS):
            yield "partition_bytes_in_per_second", partition, 1e6
    if kind in {"stuck", "moves"}:
        yield from _moves(stuck=kind == "stuck")
    if kind != "tiered":
        for row, partition in enumerate(_partitions(FOLLOWERS)):
            labels = {**partition, "broker": str(BROKERS[row % len(BROKERS)])}
            yield "replica_state", {**labels, "state": "moving"}, 1
            for name in ("lag_messages", "lag_bytes", "lag_seconds", "behind_seconds", "out_of_sync_seconds"):
                yield f"replica_{name}", labels, 60


def _moves(*, stuck: bool) -> Series:
    for row, partition in enumerate(_partitions(MOVES)):
        broker = BROKERS[row % len(BROKERS)]
        labels = {**partition, "broker": str(broker)}
        yield "reassignment_never_ends", labels, 0
        yield "reassignment_bytes_remaining", labels, 1e9
        if stuck:
            yield "reassignment_stalled_seconds", labels, 600
        if stuck and row // len(BROKERS) % STUCK_EVERY == 0:
            yield "reassignment_stuck", {**labels, "cause": CAUSES[broker % len(CAUSES)]}, 1


def _partitions(count: int) -> Iterator[Values]:
    for row in range(count):
        yield {"topic": _topic(row % TOPICS), "partition": str(row // TOPICS)}


def _topic(number: int) -> str:
    return f"team-{number % 40}.orders-{number}"
