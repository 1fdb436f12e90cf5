"""Makes docs/versions.md: what the exporter cannot show on which version of Kafka, as `make full-versions` saw it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from kafka_warden.catalogue.replication import MUTATIONS
from kafka_warden.catalogue.tiered import TIERED
from kafka_warden.clients.kafka.requests import (
    FENCED_BROKERS,
    QUORUM,
    QUOTAS,
    REASSIGNMENTS,
    TIERED_ENDS,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    Since,
)

RECORD: Final = Path(__file__).with_name("versions.json")
"""Metric to the columns whose run showed it. `VERSIONS_TABLE=write make full-versions` writes it."""
ZOOKEEPER, KRAFT = "ZooKeeper", "KRaft"
OF_QUORUM: Final = {(3, 3): 1, (3, 9): 2}
"""Release to the newest version of DescribeQuorum in KRaft mode. kafka-python's table has ZooKeeper mode before 4.0."""

Column = tuple[str, str]
"""Version of Kafka and mode."""
COLUMNS: Final[tuple[Column, ...]] = (
    ("2.8.2", ZOOKEEPER),
    ("3.9.1", ZOOKEEPER),
    ("3.3.2", KRAFT),
    ("3.9.1", KRAFT),
    ("4.1.1", KRAFT),
    ("4.2.0", KRAFT),
    ("4.3.1", KRAFT),
    ("4.4.0", KRAFT),
)
UPGRADES: Final = (("3.9.1", "4.1.1"), ("4.2.0", "4.4.0"))
"""Upgrades broker by broker that `make full-versions` runs."""


@dataclass(frozen=True, slots=True)
class Feature:
    """What some version lacks, or all have: the metrics that show it, and the version of a request that it needs."""

    what: str
    metrics: frozenset[str]
    without: str
    since: Since | None = None
    named: str = ""
    """What is shown in place of the request."""

    @property
    def needs(self) -> str:
        """What it needs, for the table."""
        known = self.since
        return self.named if known is None else f"{known.request.__name__.removesuffix('Request')} {known.version}"

    def known_to(self, column: Column) -> bool:
        """Return whether brokers of a version know the request in this version."""
        major, minor = map(int, column[0].split(".")[:2])
        request, version, _ = self.since or QUORUM
        if request is DescribeQuorumRequest:
            newest = max(new for of, new in OF_QUORUM.items() if of <= (major, minor)) if column[1] == KRAFT else -1
            return version <= newest
        # brokers newer than kafka-python's table know all that is in it
        listed = max(release for release in BROKER_API_VERSIONS if release <= (major, minor))
        least, most = BROKER_API_VERSIONS[listed].get(request.API_KEY, (0, -1))
        return bool(least <= version <= most)

    def seen(self, record: Mapping[str, Iterable[str]], column: Column) -> bool:
        """Return whether the run showed its metrics, without those that no run showed.

        Raises:
            ValueError: some of them, and others not.
        """
        shown = {metric for metric in self.metrics if " ".join(column) in record.get(metric, ())}
        if shown not in (set(), self.metrics & record.keys()):
            raise ValueError(f"{self.what} on {' '.join(column)}: only {sorted(shown)}")
        return bool(shown)


THROTTLE_TIME: Final = "controller_mutation_throttle_seconds"

FEATURES: Final = (
    Feature(
        "moves",
        frozenset({"reassigning_partitions"}),
        "no reassignments, ETAs or stuck moves",
        REASSIGNMENTS,
    ),
    Feature(
        "mutation quotas",
        frozenset({"controller_mutation_quota_config_per_second"}),
        "tokens have no refill rate",
        QUOTAS,
    ),
    Feature(
        "space of log directories",
        frozenset({"log_dir_usable_bytes", "log_dir_total_bytes"}),
        "no total and usable bytes",
        Since(DescribeLogDirsRequest, 4),
    ),
    Feature(
        "quorum",
        frozenset({"quorum_lag_offsets"}),
        "no quorum lag",
        QUORUM,
    ),
    Feature(
        "age of the quorum's members",
        frozenset({"quorum_last_caught_up_timestamp_seconds", "broker_metadata_stale_seconds"}),
        "no time of the last catch-up",
        Since(DescribeQuorumRequest, 1),
    ),
    Feature(
        "tokens of clients",
        frozenset(metric.name for metric in MUTATIONS if metric.name.startswith("controller_mutation"))
        - {"controller_mutation_quota_config_per_second", THROTTLE_TIME},
        "Kafka does not enforce mutation quotas",
        named="bean ControllerMutation",
    ),
    Feature(
        "throttle time of mutations, controller",
        frozenset({THROTTLE_TIME}),
        "the broker that forwards them has it",
        named="bean ControllerMutation",
    ),
    Feature(
        "throttle time of mutations, forwarding broker",
        frozenset({"client_request_throttle_seconds"}),
        "only that of request quotas",
        named="bean Request",
    ),
    Feature(
        "unclean elections",
        frozenset({"unclean_leader_elections_total"}),
        "they are not counted",
        named="bean ControllerStats",
    ),
    Feature(
        "tiered storage",
        frozenset(metric.name for metric in TIERED),
        "no lag of remote copies",
        TIERED_ENDS,
    ),
    Feature(
        "fenced brokers",
        frozenset({"broker_fenced_responding"}),
        "they are shown as gone",
        FENCED_BROKERS,
    ),
)

INTRODUCTION: Final = """\
# Versions of Kafka

What each version can show. A metric that a version cannot give is absent, and no alert fires for it:
`kafka_warden_source_not_available` has the reason `unsupported`. After an upgrade, also of brokers one by one, new
metrics appear without a restart.

The table is what `make full-versions` showed on real brokers, and in upgrades {upgrades}. All other metrics were there
on each version.

"""

NOTES: Final = """\

- No log directory is cordoned before Kafka 4.3. Remote copies are allowed no lag before 4.4.
- What to set for old versions: [platforms.md](how-to/platforms.md#zookeeper-and-old-versions).
"""


def render() -> str:
    """Render the document."""
    record = read()
    lines = [f"||Needs|{'|'.join(map(' '.join, COLUMNS))}|Without it|", f"|{'---|' * (len(COLUMNS) + 3)}"]
    for feature in FEATURES:
        cells = ["yes" if feature.seen(record, column) else "absent" for column in COLUMNS]
        lines.append(f"|{feature.what}|{feature.needs}|{'|'.join(cells)}|{feature.without}|")
    upgrades = " and ".join(f"from {old} to {new}" for old, new in UPGRADES)
    return INTRODUCTION.format(upgrades=upgrades) + "\n".join(lines) + "\n" + NOTES


def read() -> dict[str, list[str]]:
    """Read the record."""
    record: dict[str, list[str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def write(column: Column, metrics: Iterable[str]) -> None:
    """Write what a run showed in one column."""
    before = read() if RECORD.exists() else {}
    shown = {metric: set(columns) - {" ".join(column)} for metric, columns in before.items()}
    for metric in metrics:
        shown.setdefault(metric, set()).add(" ".join(column))
    order = [" ".join(each) for each in COLUMNS]
    lines = (f'"{metric}": {json.dumps(sorted(of, key=order.index))}' for metric, of in sorted(shown.items()) if of)
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
