"""Builds the report: an index, and a page for each cluster."""

from collections.abc import Iterator
from functools import cache

from kafka_warden.pipeline.report import alarms_section, limits_section, moves_section, replication_section
from kafka_warden.pipeline.report.page import INDEX, ClusterPage, Head, cluster_page, file_of, index
from kafka_warden.pipeline.report.parts import Section
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.replication import SECONDS, Cluster, Span, clusters_of, span_of

HOURS_ENOUGH = 12
"""A shorter history is drawn from the marts by minute, a longer one from those by hour."""
NAMING = ("cluster_hour", "cluster_minute", "moves", "rules", "forecasts")
"""The marts whose clusters have a page."""


def build(marts: Marts, head: Head, moves: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each file and its HTML, the index last. `moves`: those of a cluster with their own plot."""
    kept = Marts(cache(marts.find), marts.command)
    pages = []
    for cluster_id in _cluster_ids(kept):
        mine = kept.of(cluster_id)
        cluster, span = _cluster(mine)
        pages.append(ClusterPage(cluster_id, cluster, _sections(mine, span, moves)))
        yield file_of(cluster_id), cluster_page(head, pages[-1])
    yield INDEX, index(head, pages, () if pages else _sections(kept, None, moves))


def _sections(marts: Marts, span: Span | None, moves: int) -> tuple[Section, ...]:
    return (
        moves_section.section(marts, moves),
        replication_section.section(marts, span),
        alarms_section.section(marts),
        limits_section.section(marts),
    )


def _cluster_ids(marts: Marts) -> list[str]:
    frames = (marts.find(name) for name in NAMING)
    found = (frame.select("cluster_id").distinct().collect() for frame in frames if frame is not None)
    return sorted({row["cluster_id"] for rows in found for row in rows})


def _cluster(marts: Marts) -> tuple[Cluster | None, Span | None]:
    """Read one cluster, and the span with the grain that suits its history; none if its marts have no poll."""
    read: dict[str, Cluster] = {}
    for grain in SECONDS:
        frame = marts.find(f"cluster_{grain}")
        if frame is not None and (clusters := clusters_of(frame, grain)):
            read[grain] = clusters[0]
    if not read:
        return None, None
    grain = "minute"
    if "hour" in read:
        long = read["hour"].ends - read["hour"].begins >= HOURS_ENOUGH * SECONDS["hour"]
        grain = "hour" if long or "minute" not in read else "minute"
    return read[grain], span_of([read[grain]], grain)
