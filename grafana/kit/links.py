"""Links to runbooks, and from one dashboard to another."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models.dashboard import DashboardLinkType

TAG: Final = "kafka-warden"
"""Every dashboard has it, and each lists those that have it."""

BASE: Final = "base"
"""The constant with the address before `alerts/runbooks/`: where people read this repository."""

DEFAULT_BASE: Final = "/public/"
"""Grafana itself: compose.yaml mounts the runbooks there."""


def uid(name: str) -> str:
    """The identity of a dashboard, which addresses and links keep."""
    return f"{TAG}-{name}"


def runbook(alert: str) -> DashboardLink:
    """To the page of an alert."""
    return (
        DashboardLink(f"Runbook {alert}")
        .type(DashboardLinkType.LINK)
        .url(f"${{{BASE}}}alerts/runbooks/{alert}.md")
        .target_blank(True)
    )


def board(name: str, title: str) -> DashboardLink:
    """To another dashboard, for the same time and the same cluster."""
    variables = "${datasource:queryparam}&${cluster:queryparam}"
    return (
        DashboardLink(f"Dashboard {title}")
        .type(DashboardLinkType.LINK)
        .url(f"/d/{uid(name)}?{variables}&${{__url_time_range}}")
    )


def all_boards() -> DashboardLink:
    """To all the others; clusters, brokers and topics that are chosen stay chosen."""
    return (
        DashboardLink("kafka-warden")
        .type(DashboardLinkType.DASHBOARDS)
        .icon("external link")
        .tags([TAG])
        .include_vars(True)
        .keep_time(True)
    )
