"""The one list of metrics: name, type, help, labels, and how each is read. docs/metrics.md is made from it."""

from kafka_warden.catalogue.cluster import CLUSTER, TOPICS
from kafka_warden.catalogue.metric import (
    PREFIX,
    Build,
    ExporterState,
    Figures,
    Kind,
    Metric,
    Rank,
    Sample,
    SelfMetric,
    View,
)
from kafka_warden.catalogue.moves import MOVES
from kafka_warden.catalogue.replicas import REPLICAS
from kafka_warden.catalogue.replication import MUTATIONS, REPLICATION, clients_left_out
from kafka_warden.catalogue.self_metrics import CLAMPED, SELF_METRICS
from kafka_warden.catalogue.tiered import TIERED

OF_SNAPSHOT: tuple[Metric, ...] = (*CLUSTER, *REPLICATION, *MUTATIONS, *TIERED, *MOVES, *REPLICAS, *TOPICS, *CLAMPED)
"""Families that need a snapshot."""

CATALOGUE: tuple[Metric | SelfMetric, ...] = (*SELF_METRICS, *OF_SNAPSHOT)

__all__ = [
    "CATALOGUE",
    "OF_SNAPSHOT",
    "PREFIX",
    "SELF_METRICS",
    "Build",
    "ExporterState",
    "Figures",
    "Kind",
    "Metric",
    "Rank",
    "Sample",
    "SelfMetric",
    "View",
    "clients_left_out",
]
