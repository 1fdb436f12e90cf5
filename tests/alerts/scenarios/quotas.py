"""Tiered storage, quotas of the controller, and what the process of an exporter needs."""

import math

from tests.alerts.scenarios.changes import broker_down, moving, mutations, stuck
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, during, in_each, ramp

COPY, THROTTLED = "KafkaRemoteCopyHeldBack", "KafkaControllerMutationThrottled"


def tiered(
    exporter: Exporter, errors: Value = 0, copied: Value = lambda t: 1e6 * t, deletion: float = math.inf
) -> None:
    """Let broker 2 have remote storage until `deletion`, with these counts of failed copies and of copied bytes."""
    for name in ("fetch_errors", "delete_errors", "fetch_bytes"):
        exporter.set(f"remote_{name}_total", during(0, deletion, 0, None), broker=2)
    exporter.set("remote_copy_errors_total", during(0, deletion, errors, None), broker=2)
    exporter.set("remote_copy_bytes_total", during(0, deletion, copied, None), broker=2)


def overdue(exporter: Exporter, count: Value, stalled: Value = 0, topic: str = "orders") -> None:
    """Let a topic have bytes that should be in remote storage; an empty one means those of topics.deny."""
    exporter.set("topic_remote_copy_overdue_bytes", count, topic=topic)
    exporter.set("topic_remote_copy_stalled_seconds", stalled, topic=topic)


@scenario("S09b", 180)
def no_remote_storage_after_a_restart(exporter: Exporter) -> Checks:
    """Copies fail, and the broker restarts without remote storage and its beans: the alert ends within an hour."""
    broker_down(exporter, 2, HOUR, HOUR + 60, ordered=True)
    failed = after(10 * MINUTE, lambda t: (t - 600) / 5)
    tiered(exporter, errors=failed, copied=during(0, 10 * MINUTE, lambda t: 1e6 * t, 6e8), deletion=HOUR)
    return [firing(COPY, at=55, broker="2"), over(COPY, at=120)]


@scenario("S39", 8 * 60, step=60)
def morning_traffic(exporter: Exporter) -> Checks:
    """Overdue bytes follow the traffic from 1.2 to 2.2 GB in 4 h; partitions are copied every 10 min: no alert."""
    tiered(exporter)
    overdue(exporter, ramp(HOUR, 5 * HOUR, 1.2e9, 2.2e9), in_each(600, 600, lambda t: t % 600))
    return [silent(until=480)]


@scenario("S66", 180)
def retried_errors(exporter: Exporter) -> Checks:
    """The object store refuses one copy every 4 min, which is repeated with success: no alert in 3 h."""
    tiered(exporter, errors=lambda t: t // 240)
    return [silent(until=180)]


@scenario("S24", 90)
def controller_failover(exporter: Exporter) -> Checks:
    """The controller changes during a throttled client and a pending stuck move: one steady alert each, and no page."""
    change = 40 * MINUTE
    exporter.set("controller_info", during(0, change, 1, None), node=1)
    exporter.set("controller_info", after(change + 60, 1, None), node=2)
    mutations(exporter, during(change, change + 60, None, during(change + 60, change + 120, 50, -20)))
    exporter.set("up", during(change, change + 60, 0, 1), source="reassignments", broker="")
    moving(exporter, value=3, eta=None)
    stuck(exporter, after(change - 150, 1, None), since=change - 150)
    return [*steady(THROTTLED, 25, 85), firing("KafkaReassignmentStuck", at=44), silent(severity="critical", until=90)]


@scenario("S26", 90)
def quota_removed(exporter: Exporter) -> Checks:
    """A throttled client has an alert, and its quota is removed: the alert ends within 17 min."""
    change = 40 * MINUTE
    tokens, quota, burst = (during(0, change, value, math.inf) for value in (-20.0, 5.0, 55.0))
    mutations(exporter, tokens, quota, burst)
    return [firing(THROTTLED, at=39), over(THROTTLED, at=57)]
