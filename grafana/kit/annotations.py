"""Marks on the time axis: when moves start and when they end."""

from typing import Final

from grafana_foundation_sdk.builders.dashboard import AnnotationQuery
from grafana_foundation_sdk.models.dashboard import AnnotationQuery as Built

from grafana.kit.panels import SOURCE
from grafana.kit.queries import series

STEP: Final = "60s"
"""The minimum; Grafana uses a longer step for a longer time range."""

_MOVING: Final = series("reassigning_partitions")
_NOW: Final = f"max (max_over_time({_MOVING}[$__interval]))"
_BEFORE: Final = f"max (max_over_time({_MOVING}[$__interval] offset $__interval))"

# Grafana marks every point above 0. Both values must be known, so the restart of a sidecar marks no start of a move.
STARTED: Final = f"{_NOW} > 0 and {_BEFORE} == 0"
ENDED: Final = f"{_BEFORE} > 0 and {_NOW} == 0"


class _Worded(Built):
    """An annotation with the text and the step of the Prometheus data source, which the SDK does not have."""

    def to_json(self) -> dict[str, object]:
        """All fields, as Grafana reads them."""
        return super().to_json() | {"titleFormat": self.name, "step": STEP}


class _Marks(AnnotationQuery):
    """Builds an annotation with text."""

    def __init__(self, name: str, expr: str, color: str) -> None:
        super().__init__()
        self._internal = _Worded()
        self.name(name).expr(expr).icon_color(color).datasource(SOURCE).enable(True)


def of_moves() -> list[AnnotationQuery]:
    """Marks when moves start while there were none, and when the last one ends."""
    return [_Marks("Moves started", STARTED, "blue"), _Marks("All moves ended", ENDED, "green")]
