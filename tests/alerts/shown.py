"""What the dashboards show while faults are on: their queries, asked of the Prometheus that watches."""

import math
import time
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from typing import Final

from grafana.quiet import zero_by_nature
from sandbox.monitoring import Prometheus
from tests.alerts.stage import CLUSTER
from tests.support.dashboards import Key, Target

STEP: Final = 2.0
"""Seconds: one scrape."""
CHOSEN: Final = {"cluster": CLUSTER, "__rate_interval": "8s", "__interval": "4s"}
"""Grafana takes four scrapes for a rate; two show moves that begin and end between polls."""
SHOWS_WITHIN: Final = 60.0


def values(prometheus: Prometheus, target: Target, began: float, ended: float) -> list[set[float]]:
    """Everything that each series of a query was between two Unix times.

    An instant query is evaluated at every moment between them, because a user may look at any of these.
    """
    expr = target.filled(**CHOSEN, __range=f"{round(1000 * (ended - began))}ms")
    # At an earlier moment the range of a panel would reach back to before the fault, unless it ends with the last one.
    first = ended if "$__range" in target.expr.replace("[$__range] @ end()", "") else began
    lines = prometheus.query_range(expr, first, ended, STEP)
    return [{value for value in line.values if not math.isnan(value)} for line in lines]


def moved(target: Target, shown: Collection[AbstractSet[float]]) -> bool:
    """Whether the values of these series prove a query.

    It left 0, or is 0 by nature and said so; of states one series has had two: two series may differ all the time.
    """
    if zero_by_nature(*target.key):
        return any(shown)
    if target.kind == "state-timeline":
        return any(len(values) > 1 for values in shown)
    return any(value != 0 for values in shown for value in values)


def those_that_moved(prometheus: Prometheus, wanted: Collection[Target], began: float) -> set[Key]:
    """Which of these queries have moved from a Unix time until now."""
    ended = time.time()
    return {target.key for target in wanted if moved(target, values(prometheus, target, began, ended))}


def until_moved(prometheus: Prometheus, wanted: Collection[Target], began: float) -> set[Key]:
    """Wait until all of these have moved since a Unix time; return those that did not, after a minute."""
    deadline, left = time.monotonic() + SHOWS_WITHIN, list(wanted)
    while left:
        there = those_that_moved(prometheus, left, began)
        left = [target for target in left if target.key not in there]
        if time.monotonic() > deadline:
            break
        time.sleep(STEP if left else 0)
    return {target.key for target in left}
