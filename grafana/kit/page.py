"""The page around the panels: variables, annotations, links, and the position of each panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grafana_foundation_sdk.builders.dashboard import (
    ConstantVariable,
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    Row,
)
from grafana_foundation_sdk.models.dashboard import Dashboard as Built
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    GridPos,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from grafana.kit import annotations
from grafana.kit.links import BASE, TAG, all_boards, uid
from grafana.kit.panels import SOURCE, Panel
from grafana.kit.queries import series

COLUMNS: Final = 24
"""Columns of Grafana's grid: about 50 pixels each in a window of 1280."""


@dataclass(frozen=True)
class Line:
    """Panels side by side.

    Attributes:
        height: In Grafana's units of 30 pixels.
        panels: From the left.
        widths: In columns; equal by default.
    """

    height: int
    panels: Sequence[Panel]
    widths: Sequence[int] = ()

    @property
    def shares(self) -> Sequence[int]:
        """Columns of each panel."""
        return self.widths or (COLUMNS // len(self.panels),) * len(self.panels)


@dataclass(frozen=True)
class Section:
    """Lines under a heading."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Board:
    """A dashboard.

    Attributes:
        name: Name of its file, and the end of its uid.
        title: In the list of dashboards.
        question: The question that it answers, shown as its description.
        variables: The `VARIABLES` that its queries use, besides the data source and the cluster.
        sections: What it shows, from the top. All except the first one are closed: Grafana queries only what is open.
        one_cluster: Whether it shows one cluster at a time; if not, it has marks of alerts only.
    """

    name: str
    title: str
    question: str
    variables: Sequence[str]
    sections: Sequence[Section]
    one_cluster: bool = True

    def build(self, base: str) -> Built:
        """The whole dashboard, for Grafana; `base` is the address before `alerts/runbooks/`."""
        page = Dashboard(f"kafka-warden / {self.title}").uid(uid(self.name)).tags([TAG, "kafka"])
        page.description(self.question).refresh("1m").time("now-3h", "now").timezone("browser").editable()
        page.tooltip(DashboardCursorSync.CROSSHAIR).link(all_boards())
        page.variables([*_always(base, one_cluster=self.one_cluster), *(_choice(name) for name in self.variables)])
        page.annotations(annotations.marks(one_cluster=self.one_cluster))
        self._place(page)
        return page.build()

    def _place(self, page: Dashboard) -> None:
        at, number = 0, 0
        for section in self.sections:
            number += 1
            row = Row(section.title).id(number).grid_pos(GridPos(h=1, w=COLUMNS, x=0, y=at))
            opened = section is self.sections[0]
            if opened:
                page.with_row(row)
            at += 1
            below = at
            for line in section.lines:
                left = 0
                for panel, width in zip(line.panels, line.shares, strict=True):
                    number += 1
                    placed = panel.id(number).grid_pos(GridPos(h=line.height, w=width, x=left, y=below))
                    (page if opened else row).with_panel(placed)
                    left += width
                below += line.height
            # Rows that are closed lie below each other. Panels inside are placed as if only their row was open.
            if opened:
                at = below
            else:
                page.with_row(row)


VARIABLES: Final = {
    "broker": series("broker_state", narrowed_by=()),
    # All topics have it, and other series are left out before it (exporter/kafka_warden/catalogue/metric.py).
    "topic": series("topic_offline_partitions", narrowed_by=()),
    "instance": series("build_info", narrowed_by=()),
}
"""Label of the variable, and the metric that has all of its values."""


def _always(base: str, *, one_cluster: bool) -> list[DatasourceVariable | ConstantVariable | QueryVariable]:
    # One cluster at a time: queries aggregate by broker or topic, and several clusters have the same names.
    # If Prometheus has no such label, the variable is empty and selects the series without it.
    cluster = _query("cluster", "label_values(kafka_warden_build_info, cluster)")
    if not one_cluster:
        cluster = _with_all(cluster)
    return [
        DatasourceVariable("datasource").label("Prometheus").type("prometheus"),
        ConstantVariable(BASE).label("Address before alerts/runbooks/").value(base),
        cluster.label("Cluster"),
    ]


def _choice(name: str) -> QueryVariable:
    variable = _query(name, f"label_values({VARIABLES[name]}, {name})").label(name.capitalize())
    return _with_all(variable)


def _with_all(variable: QueryVariable) -> QueryVariable:
    # All is not a list: deleted topics and series without the label are shown, too.
    # Without a current value Grafana would choose the first one.
    everything = VariableOption(selected=True, text=["All"], value=["$__all"])
    return variable.multi(True).include_all(True).all_value(".*").current(everything)


def _query(name: str, query: str) -> QueryVariable:
    variable = QueryVariable(name).datasource(SOURCE).query(query)
    return variable.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED).sort(VariableSort.NATURAL_ASC)
