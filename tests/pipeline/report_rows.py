"""Marts made by hand for the report: two clusters, one with names that would do harm if they were markup."""

import datetime as dt
import math
import random
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.report_sections import MART_OF

EVIL = "<script>window.harmed=1</script>"
TOPIC = 'orders"><img src=x onerror="window.harmed=2">$x$'
BEGIN = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
HOURS = 72
CLUSTERS = (EVIL, "q3Vb5hX2Tz6nYw0fKpLmRg")
NAMES = (
    *("moves", "move_samples", "reassignments", "cluster_hour", "replica_hour"),
    *("rules", "alarms", "forecasts", "forecast_paths"),
)

Row = dict[str, Any]
Rows = Mapping[str, list[Row]]


def at(seconds: float) -> dt.datetime:
    return BEGIN + dt.timedelta(seconds=seconds)


def frame(spark: SparkSession, name: str, rows: Iterable[Row]) -> DataFrame:
    """Rows of a mart; columns that a row lacks are null."""
    mart = MART_OF[name]
    return of_rows(spark, [[row.get(column) for column in mart.names] for row in rows], mart.ddl)


def marts(spark: SparkSession, moves: int = 40) -> dict[str, DataFrame]:
    chance = random.Random(7)
    found = {**_moves(chance, moves), **_rollup(chance), **_alarms(chance), **_forecasts()}
    # These are looked at often.
    return {name: frame(spark, name, found[name]).cache() for name in NAMES}


def _moves(chance: random.Random, number: int) -> Rows:
    moves, samples = [], []
    for place in range(number):
        outcome = chance.choices(("completed", "cancelled", "running"), (8, 1, 1))[0]
        predicted = math.exp(chance.uniform(4, 9.5))
        stuck = 0.3 * predicted if place % 9 == 0 else 0.0
        seconds = predicted * math.exp(chance.gauss(0.05, 0.15)) + stuck
        limit = math.inf if place % 11 == 0 else float(chance.choice((10e6, 50e6, 100e6)))
        rate = min(limit, 80e6) * chance.uniform(0.3, 0.98)
        began = chance.uniform(0, HOURS * 3000)
        topic = TOPIC if place % 7 == 0 else f"payments.ledger.eu-west-1.events.v{place % 5}"
        key: Row = {"cluster_id": CLUSTERS[place % 2], "kind": "reassignment", "topic": topic, "topic_id": "id"}
        key |= {"partition": place, "broker": place % 6, "began": at(began)}
        cause = "throttle_below_inbound" if place % 2 else "target_down"
        moves.append(
            {**key, "outcome": outcome, "seconds": seconds, "bytes_copied": rate * seconds, "rate_mean": rate}
            | {
                "ended": None if outcome == "running" else at(began + seconds),
                "causes": {cause: stuck} if stuck else {},
            }
            | {"limit_mean": limit, "use_mean": None if math.isinf(limit) else rate / limit, "stuck_seconds": stuck}
            | {"predicted_seconds": predicted, "eta_first": predicted}
            | {"eta_error": None if outcome == "running" else predicted / seconds - 1}
        )
        steps = int(min(seconds // 10, 100)) if place < 60 else 0
        for after in (step * seconds / steps for step in range(steps)):
            is_stuck = seconds * 0.4 < after < seconds * 0.4 + stuck
            now = 0.0 if is_stuck else rate * chance.uniform(0.85, 1.1)
            sample = {"time": at(began + after), "rate": now, "limit": limit, "stuck": cause if is_stuck else None}
            samples.append({**key, **sample})
    ended = {"cluster_id": EVIL, "began": at(600), "ended": at(4200), "seconds": 3600.0, "planned_seconds": 3000.0}
    running = {"cluster_id": EVIL, "began": at(90_000), "seconds": 1800.0, "bottleneck_broker": 5}
    counts = {"replicas": 12, "completed": 11, "cancelled": 1, "waves": 2, "stuck_seconds": 300.0}
    return {
        "moves": moves,
        "move_samples": samples,
        "reassignments": [{**ended, **counts}, {**running, **counts, "bottleneck_side": "follower"}],
    }


def _rollup(chance: random.Random) -> Rows:
    cluster, replica = [], []
    for name in CLUSTERS:
        for hour in range(HOURS):
            faulty, window = 20 <= hour < 26, {"cluster_id": name, "start": at(hour * 3600)}
            under = chance.randint(20, 60) if faulty else int(hour % 13 == 0)
            sizes = {"polls": 360, "brokers_max": 6, "partitions_max": 1200, "under_replicated_max": under}
            cluster.append({**window, **sizes})
            for place in range(8):
                states = {"in_sync": 300, "slow": chance.randint(0, 20)}
                if faulty:
                    states |= {"offline": 200, "recovering": 60}
                if 40 <= hour < 50 and place < 4:
                    states |= {"moving": 250, "bootstrapping": 40, "throttled": chance.randint(0, 60)}
                topic = TOPIC if place == 0 else f"topic-{place}"
                replica.append({**window, "topic": topic, "partition": place, "broker": 1, "states": states})
                replica[-1] |= {"samples": 360, "out_of_sync_samples": 60}
    return {"cluster_hour": cluster, "replica_hour": replica}


def _alarms(chance: random.Random) -> Rows:
    trials = (
        ("out_of_sync_by_messages", 4000.0, False, "messages", 131, 9, 122, 11, 2),
        ("out_of_sync_by_messages", 20000.0, True, "messages", 20, 8, 12, 11, 3),
        ("out_of_sync_by_messages", 4000.0, True, "messages", 131, 9, 122, 11, 2),
        ("out_of_sync_by_time", None, False, "s", 11, 11, 0, 11, 0),
        ("KafkaReassignmentStuck", None, False, "", 4, 3, 1, 4, 1),
        ("KafkaPartitionLimit", 0.8, False, "ratio", 0, 0, 0, 0, 0),
    )
    rules, alarms = [], []
    for place, (rule, threshold, what_if, unit, number, true, false, events, missed) in enumerate(trials):
        trial = {"cluster_id": EVIL, "rule": rule, "threshold": threshold, "what_if": what_if}
        counts = {"alarms": number, "true_alarms": true, "false_alarms": false, "events": events, "missed": missed}
        times = {"for_seconds": 300.0, "alarm_seconds": 60.0 * number, "delay_seconds": 90.0 * place}
        rules.append({**trial, **counts, **times, "unit": unit, "short": place})
        for alarm in range(number):
            began, lasted = chance.uniform(0, HOURS * 3600), chance.uniform(20, 2400)
            span = {"began": at(began), "ended": at(began + lasted), "seconds": lasted, "true_alarm": alarm < true}
            subject = {"topic": TOPIC, "partition": str(alarm)}
            alarms.append({**trial, **span, "subject": subject, "would_fire": True})
    return {"rules": rules, "alarms": alarms}


def _forecasts() -> Rows:
    day, forecasts, paths = 86400.0, [], []
    limits = (("cluster", "partitions", 200_000.0), ("3", "replicas", 4000.0), ("2:/var/lib/kafka", "disk_bytes", 2e12))
    for cluster in CLUSTERS:
        for place, (subject, what, limit) in enumerate(limits):
            key = {"cluster_id": cluster, "subject": subject, "what": what}
            now, until = limit * (0.8 - 0.1 * place), 12.0 + 17 * place
            growth = (limit - now) / until
            day_at, low, high, straight = (at(day * (2 + until * share)) for share in (1, 0.8, 1.3, 1.1))
            days = {"day": day_at, "day_low": low, "day_high": None if place == 2 else high, "baseline_day": straight}
            sizes = {"limit": limit, "now": now, "growth_per_day": growth, "history_days": 45, "method": "paths"}
            broker = {"broker": 3 if subject == "3" else None, "last_day": at(2 * day)}
            forecasts.append({**key, **days, **sizes, **broker, "outcome": "within"})
            for ahead in range(-45, 60):
                middle, spread = now + growth * ahead, abs(growth * ahead) * 0.2
                seen = {"seen": middle + spread * math.sin(ahead)}
                expected = {"median": middle, "low": middle - spread, "high": middle + spread}
                paths.append({**key, "day": at(day * (2 + ahead)), **(seen if ahead <= 0 else expected)})
    never = {"cluster_id": CLUSTERS[1], "subject": "5", "what": "bytes_in", "outcome": "unlimited", "limit": math.inf}
    return {"forecasts": [*forecasts, never], "forecast_paths": paths}
