"""Marts made by hand for the report: two clusters, one with names that would do harm if they were markup."""

import datetime as dt
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.pipeline.marts import of_rows
from kafka_warden.pipeline.report import MART_OF

EVIL = "<script>window.harmed=1</script>"
TOPIC = 'orders"><img src=x onerror="window.harmed=2">$x$'
BEGIN = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
HOURS = 72
CLUSTERS = (EVIL, "q3Vb5hX2Tz6nYw0fKpLmRg")
Row = dict[str, Any]
Rows = Mapping[str, list[Row]]


def at(seconds: float) -> dt.datetime:
    return BEGIN + dt.timedelta(seconds=seconds)


def frame(spark: SparkSession, name: str, rows: Iterable[Row]) -> DataFrame:
    """Rows of a mart; columns that a row lacks are null."""
    mart = MART_OF[name]
    return of_rows(spark, [[row.get(column) for column in mart.names] for row in rows], mart.ddl)


def marts(spark: SparkSession, moves: int = 40) -> dict[str, DataFrame]:
    found = {**_moves(moves), **_rollup(), **_alarms(), **_forecasts()}
    # These are looked at often.
    return {name: frame(spark, name, rows).cache() for name, rows in found.items()}


def _moves(number: int) -> Rows:
    moves, samples = [], []
    for place in range(number):
        outcome = ("completed", "completed", "cancelled", "completed", "running")[place % 5]
        eta, began = math.exp(4 + place % 11 / 2), 3600.0 * place
        stuck = 0.3 * eta if place % 9 == 0 else 0.0
        seconds = eta * (1 + 0.2 * math.sin(place)) + stuck
        limit = math.inf if place % 11 == 0 else (10e6, 50e6, 100e6)[place % 3]
        rate = min(limit, 80e6) * (0.6 + 0.3 * math.cos(place))
        key: Row = {"cluster_id": CLUSTERS[place % 2], "kind": "reassignment", "partition": place, "broker": place % 6}
        key |= {"topic": f"payments.ledger.eu-west-1.events.v{place % 5}" if place % 7 else TOPIC, "began": at(began)}
        move = {"outcome": outcome, "seconds": seconds, "bytes_copied": rate * seconds, "rate_mean": rate}
        move |= {"limit_mean": limit, "stuck_seconds": stuck, "predicted_seconds": eta, "eta_first": eta}
        move |= {"eta_error": eta / seconds - 1 if outcome == "completed" else None, "use_mean": rate / limit}
        moves.append({**key, **move, "causes": {"target_down": stuck} if stuck else {}})
        for after in (seconds * step / 50 for step in range(50)):
            is_stuck = seconds * 0.4 < after < seconds * 0.4 + stuck
            sample = {"rate": 0.0 if is_stuck else rate, "limit": limit, "stuck": "target_down" if is_stuck else None}
            samples.append({**key, **sample, "time": at(began + after)})
    counts = {"cluster_id": EVIL, "replicas": 12, "completed": 11, "cancelled": 1, "waves": 2, "stuck_seconds": 300.0}
    ended = {"began": at(600), "ended": at(4200), "seconds": 3600.0, "planned_seconds": 3000.0}
    running = {"began": at(90_000), "seconds": 1800.0, "bottleneck_broker": 5, "bottleneck_side": "follower"}
    return {"moves": moves, "move_samples": samples, "reassignments": [{**counts, **ended}, {**counts, **running}]}


def _rollup() -> Rows:
    cluster, replica = [], []
    for name, hour in itertools.product(CLUSTERS, range(HOURS)):
        faulty, window = 20 <= hour < 26, {"cluster_id": name, "start": at(hour * 3600)}
        sizes = {"brokers_max": 6, "partitions_max": 1200, "under_replicated_max": hour if faulty else 0}
        cluster.append({**window, **sizes, "polls": 360, "name_last": "shop-eu" if name == CLUSTERS[1] else None})
        for place in range(8):
            states = {"in_sync": 300, "slow": 10} | ({"offline": 200, "recovering": 60} if faulty else {})
            states |= {"moving": 250, "bootstrapping": 40, "throttled": 30} if 40 <= hour < 50 and place < 4 else {}
            of = {"topic": f"topic-{place}" if place else TOPIC, "partition": place, "broker": 1}
            replica.append({**window, **of, "states": states, "out_of_sync_samples": 60})
    return {"cluster_hour": cluster, "replica_hour": replica}


def _alarms() -> Rows:
    trials = (
        ("out_of_sync_by_messages", 4000.0, False, "messages", 131, 9, 122, 11, 2),
        ("out_of_sync_by_messages", 20000.0, True, "messages", 20, 8, 12, 11, 3),
        ("out_of_sync_by_messages", 4000.0, True, "messages", 131, 9, 122, 11, 2),
        ("out_of_sync_by_time", None, False, "s", 11, 11, 0, 11, 0),
        ("KafkaReassignmentStuck", None, False, "", 4, 3, 1, 4, 1),
        ("KafkaPartitionLimit", 0.8, False, "ratio", 0, 0, 0, 0, 0),
    )
    names = ("rule", "threshold", "what_if", "unit", "alarms", "true_alarms", "false_alarms", "events", "missed")
    rules: list[Row] = [{"cluster_id": EVIL, **dict(zip(names, trial, strict=True))} for trial in trials]
    alarms = []
    for place, rule in enumerate(rules):
        rule |= {"delay_seconds": 90.0 * place, "short": place, "for_seconds": 300.0, "alarm_seconds": 60.0}
        for alarm in range(rule["alarms"]):
            span = {"began": at(1900 * alarm), "ended": at(1900 * alarm + 1200), "seconds": 1200.0, "would_fire": True}
            about = {"subject": {"topic": TOPIC, "partition": str(alarm)}, "true_alarm": alarm < rule["true_alarms"]}
            alarms.append({**rule, **span, **about})
    return {"rules": rules, "alarms": alarms}


def _forecasts() -> Rows:
    day, forecasts, paths = 86400.0, [], []
    limits = (("cluster", "partitions", 200_000.0), ("3", "replicas", 4000.0), ("2:/var/lib/kafka", "disk_bytes", 2e12))
    for cluster, (place, (subject, what, limit)) in itertools.product(CLUSTERS, enumerate(limits)):
        key = {"cluster_id": cluster, "subject": subject, "what": what}
        now, until = limit * (0.8 - 0.1 * place), 12.0 + 17 * place
        growth = (limit - now) / until
        reached, low, high, straight = (at(day * (2 + until * share)) for share in (1, 0.8, 1.3, 1.1))
        days = {"day": reached, "day_low": low, "day_high": None if place == 2 else high, "baseline_day": straight}
        sizes = {"limit": limit, "now": now, "growth_per_day": growth, "history_days": 45, "last_day": at(2 * day)}
        forecasts.append({**key, **days, **sizes, "broker": 3 if subject == "3" else None, "outcome": "within"})
        for ahead in range(-45, 60):
            middle, spread = now + growth * ahead, abs(growth * ahead) * 0.2
            seen = {"seen": middle + spread * math.sin(ahead)}
            expected = {"median": middle, "low": middle - spread, "high": middle + spread}
            paths.append({**key, "day": at(day * (2 + ahead)), **(seen if ahead <= 0 else expected)})
    never = {"cluster_id": CLUSTERS[1], "subject": "5", "what": "bytes_in", "outcome": "unlimited", "limit": math.inf}
    return {"forecasts": [*forecasts, never], "forecast_paths": paths}
