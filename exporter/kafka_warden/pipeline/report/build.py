"""Builds the page: reads the clusters, then makes every section."""

from kafka_warden.pipeline.report import alarms_section, limits_section, moves_section, replication_section
from kafka_warden.pipeline.report.page import Head, page
from kafka_warden.pipeline.report.reading import Marts
from kafka_warden.pipeline.report.replication import SECONDS, Cluster, Span, clusters_of, span_of

HOURS_ENOUGH = 12
"""A shorter history is drawn from the marts by minute, a longer one from those by hour."""


def build(marts: Marts, title: str, history: str, version: str, made: str, moves: int) -> str:
    """Return the page as HTML. `history`: its folder, as the user wrote it. `version`: of this program.

    `made`: time of creation to print; empty for none. `moves`: number of moves with a plot of their own.
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
    """Read the clusters, and the span with the grain that suits the history; none if all marts by cluster are empty."""
    read: dict[str, list[Cluster]] = {}
    for grain in SECONDS:
        cluster = marts.find(f"cluster_{grain}")
        if cluster is not None and (clusters := clusters_of(cluster, grain)):
            read[grain] = clusters
    if not read:
        return [], None
    span = span_of(read["hour"], "hour") if "hour" in read else None
    if span is not None and ("minute" not in read or span.ends - span.begins >= HOURS_ENOUGH * SECONDS["hour"]):
        return read["hour"], span
    return read["minute"], span_of(read["minute"], "minute")
