"""Makes docs/versions.md: what the sidecar cannot show on which version of Kafka."""

from dataclasses import dataclass
from typing import Any, Final

from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from kafka_warden.clients.kafka.requests import (
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    ListOffsetsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_warden.sources.metadata import FENCED_BROKERS
from kafka_warden.sources.offsets import EARLIEST_LOCAL_VERSION, LATEST_TIERED_VERSION


@dataclass(frozen=True, slots=True)
class Feature:
    """What needs a version of a request."""

    what: str
    request: Any
    version: int
    without: str

    def known_to(self, release: tuple[int, int], mode: str) -> bool:
        """Return whether brokers of a release know the request in this version."""
        if self.request is DescribeQuorumRequest:
            return mode == KRAFT and self.version <= max(new for since, new in QUORUM.items() if since <= release)
        least, most = BROKER_API_VERSIONS[release].get(self.request.API_KEY, (0, -1))
        return bool(least <= self.version <= most)


ZOOKEEPER, KRAFT = "ZooKeeper", "KRaft"
QUORUM: Final = {(3, 3): 1, (3, 9): 2}
"""Release to the newest version of DescribeQuorum in KRaft mode. kafka-python's table has ZooKeeper mode before 4.0."""

COLUMNS: Final = (
    ((2, 8), ZOOKEEPER),
    ((3, 9), ZOOKEEPER),
    ((3, 3), KRAFT),
    ((3, 9), KRAFT),
    ((4, 1), KRAFT),
    ((4, 2), KRAFT),
)

FEATURES: Final = (
    Feature("moves", ListPartitionReassignmentsRequest, 0, "no reassignments, ETAs or stuck moves"),
    Feature("mutation quotas", DescribeClientQuotasRequest, 0, "tokens have no refill rate"),
    Feature("space of log directories", DescribeLogDirsRequest, 4, "no total and usable bytes"),
    Feature("quorum", DescribeQuorumRequest, 0, "no quorum lag; the metadata names the active controller"),
    Feature("age of the quorum's members", DescribeQuorumRequest, 1, "no time of the last catch-up"),
    Feature("listeners of controllers", DescribeQuorumRequest, 2, "set `controllers.bootstrap`"),
    Feature("local start of tiered logs", ListOffsetsRequest, EARLIEST_LOCAL_VERSION, "the start of the whole log"),
    Feature("ends in remote storage", ListOffsetsRequest, LATEST_TIERED_VERSION, "no lag of remote copies"),
    Feature("fenced brokers", DescribeClusterRequest, FENCED_BROKERS, "they are shown as gone"),
)

INTRODUCTION: Final = """\
# Versions of Kafka

What a version cannot give is absent, and no alert fires for it: a request that a broker does not know is not sent, and
`kafka_warden_source_not_available` has the reason `unsupported`
([security.md](security.md#restricted-and-managed-clusters)). During an upgrade each broker is asked in its own
versions, and questions about the cluster go to brokers that know them. After the upgrade the numbers come without a
restart.

Kafka 3.9.1, 4.1.1 and 4.2.0 in KRaft mode are tested on real brokers (`make full-kafka`), and 3.9.1 in ZooKeeper mode
(`make full-versions`). The other columns follow from the versions of the requests in these releases; they were not
tried.

"""

NOTES: Final = """\

In ZooKeeper mode the active controller is a broker, and the other brokers do not forward ListPartitionReassignments to
it: the sidecar asks that broker. `controllers.quota_window` sets the window of the mutation quota, which cannot be read
there.
"""


def render() -> str:
    """Render the document."""
    heads = [f"{release[0]}.{release[1]} {mode}" for release, mode in COLUMNS]
    lines = [f"| | Request | {' | '.join(heads)} | Without it |", f"|---|---|{'---|' * len(heads)}---|"]
    for feature in FEATURES:
        cells = ["yes" if feature.known_to(*column) else "absent" for column in COLUMNS]
        request = f"{feature.request.__name__.removesuffix('Request')} {feature.version}"
        lines.append(f"| {feature.what} | {request} | {' | '.join(cells)} | {feature.without} |")
    return INTRODUCTION + "\n".join(lines) + "\n" + NOTES
