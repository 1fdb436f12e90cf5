"""Tables: one row per combination of labels, with columns from labels and values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.builders.common import TableFooterOptions, TableSortByFieldState
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models.dashboard import DataTransformerConfig, DynamicConfigValue, ValueMapping

from grafana.kit.looks import NO_STEPS, RATIO, Steps, thresholds
from grafana.kit.panels import REF_IDS, About, dress, target_of_table

NO_CELL: Final = "-"
NARROW: Final = 90
"""Pixels of a column at least. Grafana's own 150 cut the last columns."""
SHORT: Final = frozenset({"partition", "broker", "side"})
"""Labels with short values."""
LONG: Final = frozenset({"topic", "log_dir", "cluster_id"})
"""Labels with long values: beside them other columns are as wide as they need."""
MODERATE: Final = {"cause": 180, "state": 130, "member_of": 100, "kafka_version": NARROW, "version": 110}
"""Pixels of labels beside a long one."""
GAUGE: Final = 180
ROWS: Final = 200
"""Rows of a table at most, unless it has one for each broker, cluster or sidecar."""


@dataclass(frozen=True)
class Value:
    """A column with the value of a query. Shared labels have the same values in all queries of a table.

    Attributes:
        title: Of the column.
        expr: PromQL, with a series per row.
        unit: Grafana's.
        steps: Colours its text.
        base: Its colour below the first step.
        mappings: Such as what to show for +Inf.
        gauge: Show it as a bar; of ratios only.
        hidden: Not shown, used for its labels only.
        width: In pixels; columns without one share the rest.
        absent: Text of a cell without a value.
        links: Links of its cells.
    """

    title: str
    expr: str
    unit: str
    steps: Steps = NO_STEPS
    mappings: Sequence[ValueMapping] = field(default=())
    gauge: bool = False
    hidden: bool = False
    base: str = "green"
    width: int = 0
    absent: str = ""
    links: Sequence[dict[str, str]] = ()


def rows(
    about: About,
    labels: dict[str, str],
    values: Sequence[Value],
    sort: Sequence[str] = (),
    label_links: Sequence[dict[str, str]] = (),
    ranked: tuple[str, str] | None = None,
) -> table.Panel:
    """A table of current values in pages, a row per combination of labels.

    Args:
        about: Title and so on.
        labels: Label to the title of its column, from the left.
        values: The columns after them.
        sort: Titles of the columns to sort by, the greatest first; by default the first value.
        label_links: Links of the cells with labels.
        ranked: Labels of a row, and a number for each row: only the `ROWS` highest are shown.
    """
    panel = table.Panel()
    dress(panel, about)
    panel.unit("string").thresholds(thresholds(NO_STEPS)).min_width(NARROW)
    for ref_id, value in zip(REF_IDS[: len(values)], values, strict=True):
        panel.with_target(target_of_table(_bounded(value.expr, ranked), ref_id))
    panel.transformations([DataTransformerConfig(id_val="merge", options={}), _organized(labels, values)])
    # The text of a table without rows is not for a single cell.
    panel.override_by_regexp(".+", [DynamicConfigValue("noValue", NO_CELL)])
    for label, title in labels.items():
        width = NARROW if label in SHORT else MODERATE.get(label, 0) if LONG & labels.keys() else 0
        properties = [DynamicConfigValue("custom.width", width)] if width else []
        if label_links:
            properties.append(DynamicConfigValue("links", list(label_links)))
        if properties:
            panel.override_by_name(title, properties)
    for value in values:
        if not value.hidden:
            panel.override_by_name(value.title, _properties(value, fitted=bool(LONG & labels.keys())))
    panel.sort_by([TableSortByFieldState().display_name(title).desc(True) for title in sort or [values[0].title]])
    panel.footer(TableFooterOptions().show(False).reducer([]).enable_pagination(True))
    return panel.show_header(True).cell_height(common.TableCellHeight.SM).filterable(ranked is not None)


def _bounded(expr: str, ranked: tuple[str, str] | None) -> str:
    return f"({expr}) and on ({ranked[0]}) topk({ROWS}, {ranked[1]})" if ranked else expr


def _organized(labels: dict[str, str], values: Sequence[Value]) -> DataTransformerConfig:
    """Order and titles; the time is the same in all rows."""
    # Grafana names the value after its query only if the table has several.
    names = [f"Value #{ref_id}" for ref_id in REF_IDS[: len(values)]] if len(values) > 1 else ["Value"]
    titles = labels | {name: value.title for name, value in zip(names, values, strict=True) if not value.hidden}
    hidden = {name: True for name, value in zip(names, values, strict=True) if value.hidden}
    options = {
        "excludeByName": {"Time": True} | hidden,
        "indexByName": {name: position for position, name in enumerate(titles)},
        "renameByName": titles,
    }
    return DataTransformerConfig(id_val="organize", options=options)


def _fitted(value: Value) -> int:
    """Pixels for its title, with the marks of its order and its filter, and for a number with a unit."""
    return max(GAUGE if value.gauge else NARROW, 8 * len(value.title) + 56)


def _properties(value: Value, *, fitted: bool) -> list[DynamicConfigValue]:
    found = [DynamicConfigValue("unit", value.unit), DynamicConfigValue("custom.align", "right")]
    if value.steps or value.mappings:
        found.append(DynamicConfigValue("thresholds", thresholds(value.steps, value.base).build()))
        found.append(DynamicConfigValue("custom.cellOptions", common.TableColorTextCellOptions()))
    if value.mappings:
        found.append(DynamicConfigValue("mappings", list(value.mappings)))
    if value.gauge:
        cell = common.TableBarGaugeCellOptions(
            mode=common.BarGaugeDisplayMode.BASIC, value_display_mode=common.BarGaugeValueMode.TEXT
        )
        found.append(DynamicConfigValue("custom.cellOptions", cell))
        found += [DynamicConfigValue("min", 0), DynamicConfigValue("max", 1)]
    if width := value.width or (_fitted(value) if fitted else 0):
        found.append(DynamicConfigValue("custom.width", width))
    if value.absent:
        found.append(DynamicConfigValue("noValue", value.absent))
    if value.links:
        found.append(DynamicConfigValue("links", list(value.links)))
    if value.unit == RATIO:
        found.append(DynamicConfigValue("decimals", 1))
    return found
