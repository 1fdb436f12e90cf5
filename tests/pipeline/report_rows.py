"""Marts made by hand for the report: a fleet of two clusters whose names would do harm if they were markup."""

import datetime as dt
import math
import random
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

EVIL = "<script>window.harmed=1</script>"
TOPIC = 'orders"><img src=x onerror="window.harmed=2">$x$'
BEGIN = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
HOURS = 72
CLUSTERS = (EVIL, "q3Vb5hX2Tz6nYw0fKpLmRg")

SCHEMAS: Mapping[str, str] = {
    "moves": (
        "cluster_id string, topic string, topic_id string, partition int, broker int, kind string, leader int,"
        " began timestamp, ended timestamp, seconds double, outcome string, bytes_at_start double, bytes_copied double,"
        " rate_mean double, rate_max double, limit_mean double, use_mean double, stalled_seconds double,"
        " stuck_seconds double, causes map<string,double>, never_seconds double, predicted_seconds double,"
        " eta_first double, eta_error double"
    ),
    "move_samples": (
        "cluster_id string, time timestamp, kind string, topic string, partition int, broker int, began timestamp,"
        " rate double, limit double, stuck string"
    ),
    "reassignments": (
        "cluster_id string, began timestamp, ended timestamp, seconds double, planned_seconds double, replicas bigint,"
        " completed bigint, cancelled bigint, waves bigint, bytes_copied double, stuck_seconds double,"
        " bottleneck_broker int, bottleneck_side string"
    ),
    "cluster_hour": (
        "cluster_id string, start timestamp, polls bigint, brokers_max bigint, partitions_max bigint,"
        " under_replicated_max bigint"
    ),
    "replica_hour": (
        "cluster_id string, start timestamp, topic string, topic_id string, partition int, broker int, samples bigint,"
        " states map<string,bigint>, out_of_sync_samples bigint"
    ),
    "rules": (
        "cluster_id string, rule string, threshold double, what_if boolean, unit string, for_seconds double,"
        " alarms bigint, short bigint, alarm_seconds double, true_alarms bigint, false_alarms bigint, events bigint,"
        " missed bigint, delay_seconds double"
    ),
    "alarms": (
        "cluster_id string, rule string, threshold double, what_if boolean, subject map<string,string>,"
        " began timestamp, ended timestamp, seconds double,"
        " would_fire boolean, true_alarm boolean"
    ),
    "forecasts": (
        "cluster_id string, subject string, what string, outcome string, limit double, now double,"
        " growth_per_day double,"
        " day timestamp, day_low timestamp, day_high timestamp, baseline_day timestamp,"
        " last_day timestamp, history_days int, level double, method string"
    ),
    "forecast_paths": (
        "cluster_id string, subject string, what string, day timestamp, seen double, median double, low double,"
        " high double"
    ),
}


def marts(spark: SparkSession, moves: int = 40) -> dict[str, DataFrame]:
    chance = random.Random(7)
    made, samples = _moves(chance, moves)
    rows = {
        "moves": made,
        "reassignments": REASSIGNMENTS,
        "move_samples": samples,
        **_rollup(chance),
        **_alarms(chance),
        **_forecasts(),
    }
    # Rows from Python cross over to the JVM at every look at them; these are looked at often.
    return {name: spark.createDataFrame(rows[name], schema).cache() for name, schema in SCHEMAS.items()}


def _at(seconds: float) -> dt.datetime:
    return BEGIN + dt.timedelta(seconds=seconds)


REASSIGNMENTS = [
    (CLUSTERS[0], _at(600), _at(4200), 3600.0, 3000.0, 12, 11, 1, 2, 4e11, 300.0, 3, "leader"),
    (CLUSTERS[0], _at(90_000), None, 1800.0, None, 2, 0, 0, 1, None, 0.0, 5, "follower"),
    (CLUSTERS[1], _at(900), _at(1000), 100.0, 90.0, 1, 1, 0, 1, 1e9, 0.0, None, None),
]


def _moves(chance: random.Random, number: int) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    moves: list[tuple[object, ...]] = []
    samples: list[tuple[object, ...]] = []
    for place in range(number):
        outcome = chance.choices(("completed", "cancelled", "running"), (8, 1, 1))[0]
        predicted = math.exp(chance.uniform(4, 9.5))
        stuck = 0.3 * predicted if place % 9 == 0 else 0.0
        seconds = predicted * math.exp(chance.gauss(0.05, 0.15)) + stuck
        limit = math.inf if place % 11 == 0 else float(chance.choice((10e6, 50e6, 100e6)))
        rate = min(limit, 80e6) * chance.uniform(0.3, 0.98)
        began = chance.uniform(0, HOURS * 3000)
        topic = TOPIC if place % 7 == 0 else f"payments.ledger.eu-west-1.events.v{place % 5}"
        cluster = CLUSTERS[place % 2]
        key = (cluster, topic, "id", place, place % 6)
        ended = None if outcome == "running" else _at(began + seconds)
        causes = {"throttle_below_inbound" if place % 2 else "target_down": stuck} if stuck else {}
        use = None if math.isinf(limit) else rate / limit
        error = None if outcome == "running" else predicted / seconds - 1
        moves.append(
            (*key, "reassignment", (place + 1) % 6, _at(began), ended, seconds, outcome, 0.0, rate * seconds, rate,
             rate * 1.1, limit, use, stuck, stuck, causes, 0.0, predicted, predicted, error)
        )  # fmt: skip
        if place < 60:
            samples += _samples(chance, key, began, seconds, rate, limit, stuck)
    return moves, samples


def _samples(
    chance: random.Random,
    key: tuple[object, ...],
    began: float,
    seconds: float,
    rate: float,
    limit: float,
    stuck: float,
) -> list[tuple[object, ...]]:
    cluster, topic, _, partition, broker = key
    rows: list[tuple[object, ...]] = []
    for step in range(int(min(seconds // 10, 400))):
        after = step * seconds / min(seconds // 10, 400)
        is_stuck = seconds * 0.4 < after < seconds * 0.4 + stuck
        now = 0.0 if is_stuck else rate * chance.uniform(0.85, 1.1)
        cause = "throttle_below_inbound" if is_stuck else None
        time = _at(began + after)
        rows.append((cluster, time, "reassignment", topic, partition, broker, _at(began), now, limit, cause))
    return rows


def _rollup(chance: random.Random) -> dict[str, list[tuple[object, ...]]]:
    cluster: list[tuple[object, ...]] = []
    replica: list[tuple[object, ...]] = []
    for name in CLUSTERS:
        for hour in range(HOURS):
            faulty = 20 <= hour < 26
            under = chance.randint(20, 60) if faulty else int(hour % 13 == 0)
            cluster.append((name, _at(hour * 3600), 360, 6, 1200, under))
            for place in range(8):
                states = {"in_sync": 300, "slow": chance.randint(0, 20)}
                if faulty:
                    states |= {"offline": 200, "recovering": 60}
                if 40 <= hour < 50 and place < 4:
                    states |= {"moving": 250, "bootstrapping": 40, "throttled": chance.randint(0, 60)}
                topic = TOPIC if place == 0 else f"topic-{place}"
                replica.append(
                    (name, _at(hour * 3600), topic, "id", place, place % 6, 360, states, 360 - states["in_sync"])
                )
    return {"cluster_hour": cluster, "replica_hour": replica}


def _alarms(chance: random.Random) -> dict[str, list[tuple[object, ...]]]:
    numbers = (
        ("out_of_sync_by_messages", 4000.0, False, "messages", 131, 9, 122, 11, 2),
        ("out_of_sync_by_messages", 20000.0, True, "messages", 20, 8, 12, 11, 3),
        ("out_of_sync_by_messages", 4000.0, True, "messages", 131, 9, 122, 11, 2),
        ("out_of_sync_by_time", None, False, "s", 11, 11, 0, 11, 0),
        ("KafkaReassignmentStuck", None, False, "", 4, 3, 1, 4, 1),
        ("KafkaPartitionLimit", 0.8, False, "ratio", 0, 0, 0, 0, 0),
    )
    alarms: list[tuple[object, ...]] = []
    for rule, threshold, what_if, _, number, true, *_ in numbers:
        for place in range(number):
            began = chance.uniform(0, HOURS * 3600)
            lasted = chance.uniform(20, 2400)
            subject = {"topic": TOPIC, "partition": str(place)}
            ended = _at(began + lasted)
            alarms.append(
                (CLUSTERS[0], rule, threshold, what_if, subject, _at(began), ended, lasted, True, place < true)
            )
    rules = [
        (CLUSTERS[0], *row[:4], 0.0 if place < 4 else 300.0, row[4], place, 60.0 * row[4], *row[5:], 90.0 * place)
        for place, row in enumerate(numbers)
    ]
    return {"rules": list(rules), "alarms": alarms}


def _forecasts() -> dict[str, list[tuple[object, ...]]]:
    day = 86400.0
    last = _at(2 * day)
    whats = (
        ("cluster", "partitions", 200_000.0),
        ("3", "replicas", 4000.0),
        ("2:/var/lib/kafka/data", "disk_bytes", 2e12),
    )
    forecasts: list[tuple[object, ...]] = []
    paths: list[tuple[object, ...]] = []
    for cluster in CLUSTERS:
        for place, (subject, what, limit) in enumerate(whats):
            now, until = limit * (0.8 - 0.1 * place), 12.0 + 17 * place
            growth = (limit - now) / until
            days = [_at(day * (2 + until * share)) for share in (1, 0.8, 1.3, 1.1)]
            high = None if place == 2 else days[2]
            when = (days[0], days[1], high, days[3], last)
            forecasts.append((cluster, subject, what, "within", limit, now, growth, *when, 45, 0.9, "paths"))
            for ahead in range(-45, 60):
                middle = now + growth * ahead
                spread = abs(growth * ahead) * 0.2
                seen = (middle + spread * math.sin(ahead), None, None, None)
                expected = (None, middle, middle - spread, middle + spread)
                paths.append((cluster, subject, what, _at(day * (2 + ahead)), *(seen if ahead <= 0 else expected)))
    never = (CLUSTERS[1], "5", "bytes_in", "unlimited", math.inf, 20e6, 0.0, *[None] * 4, last, 45, 0.9, "paths")
    return {"forecasts": [*forecasts, never], "forecast_paths": paths}
