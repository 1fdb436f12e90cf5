"""What the boards know of alerts: their thresholds, which of them fire, and the state of a cluster."""

from collections.abc import Sequence
from typing import Final

from grafana.kit import looks
from grafana.kit.links import cell_of_runbook
from grafana.kit.queries import EACH_CLUSTER, Scope, series
from grafana.kit.tables import Value
from kafka_warden.rules.thresholds import numbers

SEVERITIES: Final = ("info", "warning", "critical")
SEVERITY: Final = looks.named(("none", "text"), ("info", "blue"), ("warning", "orange"), ("critical", "red"))
RUNBOOK: Final = (cell_of_runbook("Alert"),)
"""Links of cells in a table whose column Alert has the name."""
STATE: Final = looks.named(
    ("up", "green"),
    ("info", "blue"),
    ("warning", "orange"),
    ("critical", "red"),
    ("under min ISR", "red"),
    ("offline", "red"),
    ("no controller", "red"),
    ("no data", "purple"),
    ("no broker", "red"),
)


def threshold(*names: str) -> float:
    """The sum of numbers that alerts compare with, such as a duration and its extension, in seconds or as a ratio.

    Raises:
        KeyError: No rule has such a threshold.
    """
    return sum(numbers()[name] for name in names)


LIMIT_USED: Final[looks.Steps] = ((threshold("limit_near"), "orange"), (1, "red"))
VOLUME_USED: Final[looks.Steps] = ((threshold("disk_high"), "orange"), (threshold("disk_full"), "red"))
OLD: Final[looks.Steps] = ((threshold("page_age"), "red"),)


def firing(cluster: str, severity: str = ".+") -> str:
    """Every alert of this project that fires, and no alert of others."""
    return f'ALERTS{{{cluster}, exporter="kafka-warden", alertstate="firing", severity=~"{severity}"}}'


def number_firing(by: str, severity: str, cluster: str = EACH_CLUSTER) -> str:
    """How many alerts of a severity fire; absent if none does."""
    return f"count by ({by}) ({firing(cluster, severity)})"


def severity(by: str, cluster: str) -> str:
    """The highest severity that fires, as a number for `SEVERITY`."""
    return _first_of([number_firing(by, name, cluster) for name in SEVERITIES], lowest=1)


def columns(by: str, cluster: str, links: Sequence[dict[str, str]]) -> list[Value]:
    """Columns of a table of alerts that fire: severity, number, and the time since the condition of one first held."""
    fires = f"count by ({by}) ({firing(cluster)})"
    since = f'min by ({by}) (ALERTS_FOR_STATE{{{cluster}, exporter="kafka-warden"}})'
    return [
        Value("Severity", severity(by, cluster), looks.COUNT, mappings=[SEVERITY], width=120, links=links),
        Value("Firing", fires, looks.COUNT, width=90, links=links),
        Value("For", f"time() - {since} and on ({by}) {fires}", looks.SECONDS, width=100, links=links),
    ]


def state(cluster: str = EACH_CLUSTER) -> str:
    """The worst that is known of each cluster, as a number for `STATE`: the highest one that applies."""
    most = Scope(narrowed_by=(), cluster=cluster, by="cluster").most
    snapshots = series("snapshot_timestamp_seconds", narrowed_by=(), cluster=cluster)
    known = f"max by (cluster) (max_over_time({snapshots}[$__range]))"
    conditions = [
        most("cluster_reachable"),
        *(number_firing("cluster", name, cluster) for name in SEVERITIES),
        f"({most('under_min_isr_partitions')} > 0)",
        f"({most('offline_partitions')} > 0)",
        f"({most('controller_reachable')} == 0)",
        f"({known} unless on (cluster) {most('cluster_reachable')})",
        f"({most('cluster_reachable')} == 0)",
    ]
    return _first_of(conditions)


def _first_of(conditions: list[str], lowest: int = 0) -> str:
    """The number of the last condition that has a result."""
    numbered = [f"{number} + 0 * {condition}" for number, condition in enumerate(conditions, lowest)]
    return " or ".join(reversed(numbered))
