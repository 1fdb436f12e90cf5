"""The one list of metrics: name, type, help, labels, and how each is read. docs/metrics.md is made from it."""

from exporter.catalogue.cluster import CLUSTER
from exporter.catalogue.metric import PREFIX, Build, Kind, Metric, Sample, Sidecar, SidecarMetric, View
from exporter.catalogue.moves import MOVES
from exporter.catalogue.mutations import MUTATIONS
from exporter.catalogue.replicas import REPLICAS
from exporter.catalogue.replication import REPLICATION
from exporter.catalogue.sidecar import CLAMPED, SIDECAR
from exporter.catalogue.tiered import TIERED

OF_SNAPSHOT: tuple[Metric, ...] = (*CLUSTER, *REPLICATION, *MUTATIONS, *TIERED, *MOVES, *REPLICAS, *CLAMPED)
"""Families that need a snapshot. Where the series budget cuts, it cuts from the end."""

CATALOGUE: tuple[Metric | SidecarMetric, ...] = (*SIDECAR, *OF_SNAPSHOT)

__all__ = [
    "CATALOGUE",
    "OF_SNAPSHOT",
    "PREFIX",
    "SIDECAR",
    "Build",
    "Kind",
    "Metric",
    "Sample",
    "Sidecar",
    "SidecarMetric",
    "View",
]
