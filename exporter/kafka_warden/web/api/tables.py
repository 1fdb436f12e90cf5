"""The tables of `/api/v1`: path, rows, and the fields that can be filtered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.views import Views, rows
from kafka_warden.views.rows import Table

MOST_SIDES: Final = 100
"""Brokers and sides in one answer of the history."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A table."""

    name: str
    """In the path, and of the field of `Views`, with underscores for hyphens."""
    row: type
    about: str
    filters: tuple[str, ...] = ()
    of_sidecar: bool = False
    """It is served without a fresh snapshot, too."""

    @property
    def read(self) -> Callable[[Views], Table[Any]]:
        """Return the function that reads the table."""
        return lambda views: getattr(views, self.name.replace("-", "_"))


TABLES: Final = (
    Resource("problems", rows.Problem, "What needs a look, critical first", ("severity", "kind"), of_sidecar=True),
    Resource("brokers", rows.BrokerRow, "Brokers, those that are not active first", ("broker", "state")),
    Resource(
        "moves",
        rows.Move,
        "Replicas that reassignments add or wait for: stuck ones, then those that never end, then the latest ETA first",
        ("topic", "broker", "leader", "cause"),
    ),
    Resource(
        "log-dir-moves", rows.LogDirMove, "Moves between log directories, the latest ETA first", ("topic", "broker")
    ),
    Resource("throttles", rows.Throttle, "Throttles by broker and side, those with a limit first", ("broker", "side")),
    Resource(
        "throttle-problems",
        rows.ThrottleProblem,
        "Problems of throttles, the oldest first",
        ("broker", "side", "problem"),
    ),
    Resource(
        "replicas",
        rows.Replica,
        "Followers out of sync or with a problem, the longest out of sync first",
        ("topic", "broker", "leader", "state"),
    ),
    Resource("topics", rows.Topic, "Topics with partitions that are offline or under min.insync.replicas", ("topic",)),
    Resource(
        "leader-candidates",
        rows.Candidate,
        "Replicas that may lead a partition without a leader once their broker runs, by partition",
        ("topic", "broker"),
    ),
    Resource(
        "clients",
        rows.Client,
        "Clients with a quota of controller mutations, the fewest tokens first",
        ("user", "client_id"),
    ),
    Resource("log-dirs", rows.LogDir, "Log directories, offline ones first", ("broker",)),
    Resource("tiered-brokers", rows.TieredBroker, "Remote copies and reads by broker", ("broker",)),
    Resource("tiered-topics", rows.TieredTopic, "Topics with remote storage, the most overdue first", ("topic",)),
    Resource(
        "tiered-problems",
        rows.TieredProblem,
        "Problems of the quotas of tiered storage, the oldest first",
        ("broker", "problem"),
    ),
    Resource(
        "sources",
        rows.SourceRow,
        "What the sidecar asks, what is not answered first",
        ("source", "broker"),
        of_sidecar=True,
    ),
)
