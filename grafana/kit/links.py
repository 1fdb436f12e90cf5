"""Links to runbooks, and from one dashboard to another."""

import re
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models.dashboard import DashboardLinkType

TAG: Final = "kafka-warden"
"""Tag of all dashboards, by which each one lists the others."""

BASE: Final = "base"
"""The constant with the address before `alerts/runbooks/`, where runbooks are read."""

DEFAULT_BASE: Final = "/public/"
"""Grafana itself: compose.yaml mounts the runbooks there."""

RUNBOOKS: Final = Path(__file__).parents[2] / "alerts" / "runbooks"

Link: TypeAlias = DashboardLink
"""To another dashboard, or to a runbook."""


def uid(name: str) -> str:
    """The identity of a dashboard, which addresses and links keep."""
    return f"{TAG}-{name}"


def runbook(alert: str) -> DashboardLink:
    """Link to the runbook of an alert."""
    return (
        DashboardLink(f"Runbook {alert}")
        .type(DashboardLinkType.LINK)
        .url(f"${{{BASE}}}alerts/runbooks/{alert}.md")
        .target_blank(True)
    )


def naming(title: str) -> list[str]:
    """Return the alerts whose runbooks name a panel: `*title*`."""
    return [alert for alert, text in _runbooks().items() if re.search(rf"(?<!\*)\*{re.escape(title)}\*(?!\*)", text)]


@cache
def _runbooks() -> dict[str, str]:
    return {page.stem: " ".join(page.read_text(encoding="utf-8").split()) for page in sorted(RUNBOOKS.glob("*.md"))}


def board(name: str, title: str) -> DashboardLink:
    """Link to another dashboard, for the same time and the same cluster."""
    variables = "${datasource:queryparam}&${cluster:queryparam}"
    return (
        DashboardLink(f"Dashboard {title}")
        .type(DashboardLinkType.LINK)
        .url(f"/d/{uid(name)}?{variables}&${{__url_time_range}}")
    )


def cell(name: str, column: str) -> dict[str, str]:
    """Link of cells to another dashboard, for the same time and the cluster that a column of their row names."""
    variables = f"${{datasource:queryparam}}&var-cluster=${{__data.fields.{column}}}"
    return {"title": "Dashboard of this cluster", "url": f"/d/{uid(name)}?{variables}&${{__url_time_range}}"}


def cell_of_runbook(column: str) -> dict[str, str]:
    """Link of cells to the runbook of the alert that a column of their row names."""
    return {"title": "Runbook", "url": f"${{{BASE}}}alerts/runbooks/${{__data.fields.{column}}}.md"}


def all_boards() -> DashboardLink:
    """Links to all other dashboards; the chosen cluster, brokers and topics stay chosen."""
    return (
        DashboardLink("kafka-warden")
        .type(DashboardLinkType.DASHBOARDS)
        .icon("external link")
        .tags([TAG])
        .include_vars(True)
        .keep_time(True)
    )
