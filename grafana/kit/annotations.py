"""Marks on the time axis: critical alerts, restarts of the exporter, and when moves start and end."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import AnnotationQuery
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import AnnotationQuery as Built

from grafana.kit.alerts import firing
from grafana.kit.panels import SOURCE
from grafana.kit.queries import EACH_CLUSTER, ONE_CLUSTER, series

STEP: Final = "60s"
"""The minimum; Grafana uses a longer step for a longer time range."""

_MOVING: Final = series("reassigning_partitions")
_NOW: Final = f"max (max_over_time({_MOVING}[$__interval]))"
_BEFORE: Final = f"max (max_over_time({_MOVING}[$__interval] offset $__interval))"

# Grafana marks every point above 0, and joins points that follow each other. Both values must be known, so the restart
# of a sidecar marks no start of a move.
STARTED: Final = f"{_NOW} > 0 and {_BEFORE} == 0"
ENDED: Final = f"{_BEFORE} > 0 and {_NOW} == 0"


class _Worded(Built):
    """An annotation with the text and the step of the Prometheus data source, which the SDK does not have."""

    text = ""

    def to_json(self) -> dict[str, object]:
        """All fields, as Grafana reads them."""
        return super().to_json() | {"titleFormat": self.text, "step": STEP}


class _Marks(AnnotationQuery):
    """Builds an annotation with text: its name by default."""

    def __init__(self, name: str, expr: str, color: str, text: str = "") -> None:
        super().__init__()
        self._internal = _Worded()
        self._internal.text = text or name
        self.name(name).expr(expr).icon_color(color).datasource(SOURCE).enable(True)


def marks(*, one_cluster: bool) -> list[Builder[Built]]:
    """Critical alerts while they fire, and restarts of exporters; of one cluster also when its moves start and end."""
    cluster = ONE_CLUSTER if one_cluster else EACH_CLUSTER
    found: list[Builder[Built]] = [
        _Marks(
            "Critical alerts",
            f"max by (cluster, alertname) ({firing(cluster, 'critical')})",
            "red",
            "{{alertname}} {{cluster}}",
        ),
        _Marks("Exporter restarted", restarted(cluster), "purple", "Exporter restarted {{cluster}}"),
    ]
    if one_cluster:
        found += [_Marks("Moves started", STARTED, "blue"), _Marks("All moves ended", ENDED, "green")]
    return found


def restarted(cluster: str) -> str:
    """A process of this project that started later than all that were seen in the hour before."""

    def latest(window: str) -> str:
        # Other programs have the metric, too.
        started = f"last_over_time(process_start_time_seconds{{{cluster}}}{window})"
        ours = f"last_over_time({series('build_info', narrowed_by=(), cluster=cluster)}{window})"
        return f"max by (cluster) ({started} and on (cluster, job, instance) {ours})"

    return f"{latest('[$__interval]')} > {latest('[1h] offset $__interval')}"
