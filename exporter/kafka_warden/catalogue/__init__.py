"""The one list of metrics: name, type, help, labels, and how each is read. docs/metrics.md is made from it."""

from kafka_warden.catalogue.cluster import CLUSTER, TOPICS
from kafka_warden.catalogue.metric import (
    PREFIX,
    Build,
    Figures,
    Kind,
    Metric,
    Rank,
    Sample,
    Sidecar,
    SidecarMetric,
    View,
)
from kafka_warden.catalogue.moves import MOVES
from kafka_warden.catalogue.replicas import REPLICAS
from kafka_warden.catalogue.replication import MUTATIONS, REPLICATION, clients_left_out
from kafka_warden.catalogue.sidecar import CLAMPED, SIDECAR
from kafka_warden.catalogue.tiered import TIERED

OF_SNAPSHOT: tuple[Metric, ...] = (*CLUSTER, *REPLICATION, *MUTATIONS, *TIERED, *MOVES, *REPLICAS, *TOPICS, *CLAMPED)
"""Families that need a snapshot."""

CATALOGUE: tuple[Metric | SidecarMetric, ...] = (*SIDECAR, *OF_SNAPSHOT)

__all__ = [
    "CATALOGUE",
    "OF_SNAPSHOT",
    "PREFIX",
    "SIDECAR",
    "Build",
    "Figures",
    "Kind",
    "Metric",
    "Rank",
    "Sample",
    "Sidecar",
    "SidecarMetric",
    "View",
    "clients_left_out",
]
