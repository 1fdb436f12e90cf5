"""Panels with the shared settings of all dashboards: a number, lines over time, states over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from grafana_foundation_sdk.builders import stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders.common import (
    GraphThresholdsStyleConfig,
    LineStyle,
    ReduceDataOptions,
    StackingConfig,
    VizLegendOptions,
    VizTooltipOptions,
)
from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models.dashboard import DataSourceRef, DynamicConfigValue, ValueMapping
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.kit.links import naming, runbook
from grafana.kit.looks import COUNT, NO_STEPS, RATIO, Steps, thresholds

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
REF_IDS: Final = "ABCDEFGHIJK"
NO_DATA: Final = "unknown"
"""Text of a panel without data, by default: absent is unknown."""

Panel: TypeAlias = stat.Panel | timeseries.Panel | statetimeline.Panel | table.Panel
"""Any panel of a dashboard."""


@dataclass(frozen=True)
class Query:
    """One expression of a panel.

    Attributes:
        expr: PromQL.
        legend: Grafana's format of labels, such as `broker {{broker}}`.
        limit: Whether it is dashed: a limit, or a line that another one would hide.
    """

    expr: str
    legend: str
    limit: bool = False


@dataclass(frozen=True)
class About:
    """Everything of a panel except its numbers.

    Attributes:
        title: Unique on its dashboard.
        description: What it shows, and how to read it.
        runbooks: Alerts whose runbooks it links to, after those whose runbooks name it.
        see: Links to other dashboards.
        no_value: Text without data.
    """

    title: str
    description: str
    runbooks: tuple[str, ...] = ()
    see: tuple[DashboardLink, ...] = ()
    no_value: str = NO_DATA

    @property
    def links(self) -> list[DashboardLink]:
        """Runbooks first."""
        return [*map(runbook, dict.fromkeys((*naming(self.title), *self.runbooks))), *self.see]


def number_panel(
    about: About,
    query: str | Query,
    unit: str = COUNT,
    steps: Steps = NO_STEPS,
    mappings: Sequence[ValueMapping] = (),
    *,
    base: str = "green",
) -> stat.Panel:
    """The current number; with a `Query` whose legend is a name, the name instead of the number."""
    named = isinstance(query, Query)
    panel = stat.Panel().mappings(list(mappings)).reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    panel.with_target(_target(query if isinstance(query, Query) else Query(query, ""), "A", instant=True))
    panel.graph_mode(common.BigValueGraphMode.NONE).color_mode(common.BigValueColorMode.VALUE)
    panel.text_mode(common.BigValueTextMode.NAME if named else common.BigValueTextMode.VALUE)
    dress(panel, about)
    return panel.unit(unit).thresholds(thresholds(steps, base)).decimals(_decimals(unit))


def lines(
    about: About,
    queries: Sequence[Query],
    unit: str,
    steps: Steps = NO_STEPS,
    *,
    stack: bool = False,
    below_zero: bool = False,
    narrow: bool = False,
) -> timeseries.Panel:
    """Lines over time; thresholds are drawn as dashed lines.

    Args:
        about: Title and so on.
        queries: Each with its legend; limits are drawn as dashed lines.
        unit: Unit of all queries.
        steps: Thresholds.
        stack: Draw the lines on top of each other: only for parts of one sum.
        below_zero: Whether values below 0 mean something.
        narrow: Whether a table of many lines is below the graph, and not beside it.
    """
    panel = timeseries.Panel()
    for ref_id, query in zip(REF_IDS[: len(queries)], queries, strict=True):
        panel.with_target(_target(query, ref_id))
        if query.limit:
            panel.override_by_query(ref_id, _BROKEN_LINE)
    dress(panel, about)
    panel.unit(unit).thresholds(thresholds(steps)).fill_opacity(30 if stack else 0).line_width(1 if stack else 2)
    panel.show_points(common.VisibilityMode.NEVER).span_nulls(False)
    if steps:
        panel.thresholds_style(GraphThresholdsStyleConfig().mode(common.GraphThresholdsStyleMode.DASHED))
    if stack:
        panel.stacking(StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    if not below_zero:
        panel.min(0)
    many = any("{{" in query.legend for query in queries)
    panel.legend(_legend_of_many(narrow=narrow) if many else _legend().calcs(["last"])).tooltip(_tooltip())
    return panel


# Not "lastNotNull": a number from before a gap would look like the present one.
_CALCULATIONS: Final = ["last", "max"]
_BROKEN_LINE: Final = [
    DynamicConfigValue("custom.lineStyle", LineStyle().fill("dash").dash([8, 6]).build()),
    DynamicConfigValue("custom.lineWidth", 1),
]


def states(about: About, query: Query, mapping: ValueMapping) -> statetimeline.Panel:
    """States over time, one row per series; the mapping names the numbers."""
    panel = statetimeline.Panel().with_target(_target(query, "A")).mappings([mapping])
    dress(panel, about)
    panel.unit(COUNT).thresholds(thresholds(NO_STEPS)).show_value(common.VisibilityMode.NEVER)
    return panel.row_height(0.8).merge_values(True).legend(_legend()).tooltip(_tooltip())


def target_of_table(expr: str, ref_id: str) -> Dataquery:
    """A query whose current result is rows."""
    return _target(Query(expr, ""), ref_id, instant=True).format(PromQueryFormat.TABLE)


def _target(query: Query, ref_id: str, *, instant: bool = False) -> Dataquery:
    target = Dataquery().expr(query.expr).ref_id(ref_id).datasource(SOURCE).legend_format(query.legend or "__auto")
    return target.instant() if instant else target.range()


def dress(panel: Panel, about: About) -> None:
    """Give a panel its title, description, links, source and what to show without data."""
    panel.title(about.title).description(about.description).datasource(SOURCE).no_value(about.no_value)
    if about.links:
        panel.links(list(about.links))


def _decimals(unit: str) -> float:
    return {COUNT: 0, RATIO: 1}.get(unit, 1)


def _legend() -> VizLegendOptions:
    legend = VizLegendOptions().show_legend(True)
    return legend.display_mode(common.LegendDisplayMode.LIST).placement(common.LegendPlacement.BOTTOM)


def _legend_of_many(*, narrow: bool) -> VizLegendOptions:
    legend = VizLegendOptions().show_legend(True).calcs(_CALCULATIONS).sort_by("Max").sort_desc(True)
    placement = common.LegendPlacement.BOTTOM if narrow else common.LegendPlacement.RIGHT
    return legend.display_mode(common.LegendDisplayMode.TABLE).placement(placement)


def _tooltip() -> VizTooltipOptions:
    return VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING)
