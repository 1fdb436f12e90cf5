"""All rows of one page."""

from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.views.recent import Samples
from kafka_warden.views.rows import (
    BrokerRow,
    Candidate,
    Client,
    Cluster,
    LogDir,
    LogDirMove,
    Move,
    Problem,
    Replica,
    SidecarRow,
    SourceRow,
    Table,
    Throttle,
    ThrottleProblem,
    TieredBroker,
    TieredProblem,
    TieredTopic,
    Topic,
)

EMPTY: Final[Table[Any]] = Table()


@dataclass(frozen=True, slots=True)
class Views:
    """Everything of one page of `/metrics`, as rows. Without a fresh snapshot only what the sidecar knows of itself."""

    time: float | None
    """Unix time of the snapshot that is shown, or was shown last."""
    fresh: bool
    """False without a fresh snapshot: then the tables of the cluster are empty."""
    problems: Table[Problem]
    sidecar: SidecarRow
    sources: Table[SourceRow]
    history: Samples
    cluster: Cluster | None = None
    brokers: Table[BrokerRow] = EMPTY
    moves: Table[Move] = EMPTY
    log_dir_moves: Table[LogDirMove] = EMPTY
    throttles: Table[Throttle] = EMPTY
    throttle_problems: Table[ThrottleProblem] = EMPTY
    replicas: Table[Replica] = EMPTY
    topics: Table[Topic] = EMPTY
    leader_candidates: Table[Candidate] = EMPTY
    clients: Table[Client] = EMPTY
    log_dirs: Table[LogDir] = EMPTY
    tiered_brokers: Table[TieredBroker] = EMPTY
    tiered_topics: Table[TieredTopic] = EMPTY
    tiered_problems: Table[TieredProblem] = EMPTY
