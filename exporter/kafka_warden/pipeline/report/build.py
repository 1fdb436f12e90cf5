"""Puts the page together: reads which clusters there are, then every section."""

from kafka_warden.pipeline.report import alarms_section, limits_section, moves_section, replication_section
from kafka_warden.pipeline.report.page import Head, page
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.replication import SECONDS, Cluster, Span, clusters_of, span_of

HOURS_ENOUGH = 12
"""From so many hours on the marts by the hour are drawn, before that those by the minute."""


def build(marts: Marts, title: str, history: str, version: str, made: str, moves: int) -> str:
    """Read all and write the page.

    Args:
        marts: What it is made from.
        title: Of the page.
        history: The folder of the history, as the user wrote it.
        version: Of this program.
        made: When the page was made, as it is to be written; empty for not at all.
        moves: How many moves are drawn by themselves.
    """
    clusters, span = _clusters(marts)
    sections = (
        moves_section.section(marts, moves),
        replication_section.section(marts, span),
        alarms_section.section(marts),
        limits_section.section(marts),
    )
    return page(Head(title, history, clusters, version, made), sections)


def _clusters(marts: Marts) -> tuple[list[Cluster], Span | None]:
    """Read the clusters and the span of the grain that suits the history; none where no mart by cluster has a row."""
    read: dict[str, list[Cluster]] = {}
    for grain in SECONDS:
        cluster = marts.find(f"cluster_{grain}")
        if cluster is not None and (clusters := clusters_of(cluster, grain)):
            read[grain] = clusters
    if not read:
        return [], None
    spans = {grain: span_of(clusters, grain) for grain, clusters in read.items()}
    if "hour" in spans and (
        spans["hour"].ends - spans["hour"].begins >= HOURS_ENOUGH * SECONDS["hour"] or len(spans) == 1
    ):
        return read["hour"], spans["hour"]
    return read["minute"], spans["minute"]
