"""Changes that several scenarios and the random tests make to what an exporter serves. Times in seconds."""

import math
from typing import Final

from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, age, during, ramp

FENCING: Final = 18.0
"""Until the controller fences a broker that sends no heartbeats."""
LOG_DIRS: Final = 180.0
"""Three requests for log directories that a broker does not answer, until a snapshot leaves them out."""
STILL: Final = 1e12
"""Bytes that a move still has to copy."""

ENDS: Final = [(20 * MINUTE, HOUR)]
"""From 20 min on no exporter runs."""


def broker_down(
    exporter: Exporter,
    broker: int,
    start: float,
    end: float = math.inf,
    *,
    ordered: bool = False,
    replicas: float = 300.0,
    catch_up: float = 2 * MINUTE,
) -> None:
    """Stop a broker, and start it again at `end`; then its replicas need `catch_up` seconds.

    Args:
        exporter: Its series change.
        broker: Its id.
        start: When it stops.
        end: When it answers again.
        ordered: A controlled shutdown: the controller fences the broker before it stops. If not, it loses its power.
        replicas: Its followers, which leave the ISR.
        catch_up: Seconds until they are in it again.
    """
    fenced = start if ordered else start + FENCING
    for source in ("offsets", "configs", "log_dirs", "jmx"):
        exporter.set("up", during(start, end, 0, 1), source=source, broker=broker)
    exporter.set("broker_state", during(fenced, end, 0, 1), broker=broker, state="active")
    exporter.set("broker_state", during(fenced, end, 1, 0), broker=broker, state="fenced")
    exporter.set("broker_fenced_responding", during(fenced, end, 0, None), broker=broker)
    asked = None if ordered else during(start, fenced, lambda t: 1 + (t - start) // 10, after(fenced, 2, None))
    for reason, count in (
        ("timeout", asked),
        ("fenced", after(fenced, lambda t: 1 + (min(t, end) - fenced) // 10, None)),
    ):
        exporter.set("source_errors_total", count, source="offsets", broker=broker, reason=reason)
    out = during(fenced, end, replicas)
    exporter.set("broker_out_of_sync_replicas", out, broker=broker, state="offline")
    behind = during(end, end + catch_up, replicas)
    exporter.set("broker_out_of_sync_replicas", behind, broker=broker, state="recovering")
    exporter.set("broker_replica_lag_unknown_replicas", during(fenced, end, replicas), broker=broker)
    lag = (
        during(end, end + catch_up, ramp(end, end + catch_up, 1e10, 0)) if end < math.inf else during(fenced, end, None)
    )
    exporter.set("broker_sum_replica_lag_bytes", lag, broker=broker)
    exporter.add("under_replicated_partitions", lambda t: replicas if fenced <= t < end + catch_up else 0.0)
    for name, usual in (("online", 1), ("usable_bytes", 0.6e12), ("total_bytes", 1e12)):
        value = during(start + LOG_DIRS, end, None, usual)
        exporter.set(f"log_dir_{name}", value, broker=broker, log_dir="/data/a")


def rolling_restart(exporter: Exporter, start: float, *, down: float, catch_up: float, pause: float = MINUTE) -> float:
    """Restart all brokers in order, one after the other; return when the last one is in sync again."""
    for broker in exporter.brokers:
        broker_down(exporter, broker, start, start + down, ordered=True, replicas=500, catch_up=catch_up)
        start += down + catch_up + pause
    return start - pause


def cluster_down(exporter: Exporter, start: float, end: float = math.inf) -> None:
    """Let no broker answer."""
    exporter.set("cluster_reachable", during(start, end, 0, 1))
    exporter.set("controller_reachable", during(start, end, None, 1))
    for source in ("metadata", "reassignments", "configs", "fenced_brokers", "quorum"):
        exporter.set("up", during(start, end, 0, 1), source=source, broker="")
    for broker in exporter.brokers:
        for source in ("offsets", "configs", "log_dirs", "jmx"):
            exporter.set("up", during(start, end, 0, 1), source=source, broker=broker)
    exporter.set("snapshot_timestamp_seconds", stopped(start, end))


def stopped(start: float, end: float = math.inf) -> Value:
    """The time of the snapshot when polls fail from `start` on: it stays for three intervals, and is withdrawn."""
    return during(start, end, during(start, start + 30, start - 10, None), lambda t: t)


def moving(exporter: Exporter, value: Value = 10, remaining: Value = STILL, eta: Value = 1800) -> None:
    """Let partitions move: their number, the bytes that are left, and the seconds until the end."""
    exporter.set("reassigning_partitions", value)
    exporter.set("reassignment_total_bytes_remaining", remaining)
    exporter.set("reassignment_total_eta_seconds", eta)


def stuck(exporter: Exporter, value: Value, cause: str = "no_progress", since: float = 0.0, broker: int = 2) -> None:
    """Let the move of one partition to a broker be stuck; `since` is when its bytes last shrank."""
    where = {"topic": "orders", "partition": 0, "broker": broker}
    exporter.set("reassignment_stuck", value, **where, cause=cause)
    exporter.set("reassignment_stalled_seconds", age(since), **where)
    exporter.set("reassignment_bytes_remaining", STILL, **where)


def throttle_problem(exporter: Exporter, problem: str, value: Value, broker: int = 2, side: str = "leader") -> None:
    """Give the throttle of one side of a broker a problem; `value` is for how many seconds it has had it."""
    exporter.set("replication_throttle_problem_seconds", value, broker=broker, side=side, problem=problem)
    exporter.set("replication_throttle_bytes_per_second", 1e6, broker=broker, side=side)


def mutations(exporter: Exporter, tokens: Value, quota: Value = 5, burst: Value = 55, user: str = "ci") -> None:
    """Give a client of the controller a mutation quota, and what it has left of its tokens."""
    client = {"user": user, "client_id": ""}
    exporter.set("controller_mutation_tokens", tokens, **client)
    exporter.set("controller_mutation_quota_per_second", quota, **client)
    exporter.set("controller_mutation_burst_tokens", burst, **client)


def every(
    period: float, *, first: float = 0.0, last: float = 24 * HOUR, down: float = 15.0
) -> list[tuple[float, float]]:
    """Return the outages of a process that stops every `period` seconds, and starts `down` seconds later."""
    return [(first + n * period, first + n * period + down) for n in range(int((last - first) // period) + 1)]
