"""The job `forecast`: the day on which partitions, bytes in and disks reach their limits, with an interval."""

from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it
from pyspark.sql.pandas.types import to_arrow_schema

from kafka_warden.config import values
from kafka_warden.pipeline import incremental
from kafka_warden.pipeline.forecast_model import METHOD, forecast
from kafka_warden.pipeline.forecast_trend import Kind
from kafka_warden.pipeline.job import Flags, Request, of_flags
from kafka_warden.pipeline.landing import AHEAD
from kafka_warden.pipeline.marts import FORECAST_PATHS, FORECASTS, SERIES_DAYS, parsed
from kafka_warden.pipeline.rollup import SERIES
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import of_mart
from kafka_warden.pipeline.timeline import DAY

ALL: Final = "cluster_id IS NOT NULL"
"""SQL condition on the rows that are replaced: forecasts depend on options, so those of all clusters are new."""
MOST_DAYS: Final = 366
"""The longest horizon: beyond it, intervals are too wide to use."""
LEAST_SHARE: Final = 0.75
"""Of the median number of hours with a value per day: 18 of 24, or 3 of 4 with one poll in six hours."""
GONE: Final = 7
"""Days without a value, up to the newest day of the store, after which a broker, log directory or cluster is gone."""
LAST_BASELINE: Final = 366 * 1000
"""Days after 1970 up to which the straight line is followed."""
KINDS: Final = {"partitions": Kind.COUNT, "replicas": Kind.COUNT, "bytes_in": Kind.FLOW, "disk_bytes": Kind.STOCK}

_PATH: Final = "path array<struct<day: timestamp, seen: double, median: double, low: double, high: double>>"
SCHEMA: Final = f"{FORECASTS.ddl}, {_PATH}"
"""The mart, and what was measured or is forecast on each day."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may choose. A limit that is None is taken from the history."""

    horizon: int = 90
    """Days."""
    level: float = 0.9
    """Of the interval, above 0 and below 1."""
    network: float | None = None
    """Bytes per second of one broker."""
    max_broker_partitions: int | None = None
    max_partitions: int | None = None
    disk_share: float = 1.0
    """Of a disk's size."""
    seed: int = 1


def run(request: Request[Options]) -> None:
    """Replace the marts `forecasts` and `forecast_paths` of all clusters, from the series by day.

    Raises:
        StoreError: the store cannot be used.
    """
    options = request.options
    with (
        incremental.working(request, JOB.name) as work,
        persisted(forecast_series(series(_days(request), options), options)) as rows,
    ):
        with request.progress.step("forecast: days to limits"):
            incremental.replace(work, FORECASTS, rows, ALL)
        with request.progress.step("forecast: paths"):
            paths = rows.select("cluster_id", "subject", "what", F.inline("path"))
            incremental.replace(work, FORECAST_PATHS, paths, ALL)


def _days(request: Request[Options]) -> DataFrame:
    first, after = (seconds / DAY for seconds in request.span)
    day = F.unix_date("day")
    # A clock that ran ahead made days that are still to come.
    mine = (day > first - 1) & (day < after) & (F.col("day") <= F.lit(request.store.today() + timedelta(seconds=AHEAD)))
    return request.store.read(of_mart(SERIES_DAYS)).where(mine)


def series(days: DataFrame, options: Options) -> DataFrame:
    """Return the days of all series, counted since 1970, their values, null if unknown, and the last limit.

    `days`: the mart `series_day`. Columns: `SERIES`, `day`, `value` and `limit`.

    A day's value is the maximum of its hours, since limits are reached at the busiest hour. A rate's hour is the mean
    of its polls, so that a burst is not growth. A day with too few hours may lack its busiest one and is left out,
    often the last day. The threshold depends on the usual number of hours, since history may be sampled. A series
    whose last day is `GONE` days before the newest one is left out.
    """
    last = F.max("day").over(Window.partitionBy("cluster_id", "subject", "what"))
    newest = F.broadcast(days.agg(F.max("day").alias("newest")))
    usual = F.percentile_approx("hours", 0.5).over(Window.partitionBy("cluster_id", "subject", "what"))
    value = F.when(F.col("hours") >= LEAST_SHARE * usual, F.col("value"))
    return (
        days.withColumn("limit", _limit(options))
        .where("hours > 0")
        .withColumn("last", last)
        .join(newest, F.date_add("last", GONE) > F.col("newest"))
        .select(*SERIES, F.unix_date("day").cast("bigint").alias("day"), value.alias("value"), "limit")
    )


def _limit(options: Options) -> Column:
    """Return the limit of a series: the option, or else the last one of the history."""
    what, broker = F.col("what"), F.col("broker")
    own = F.max_by("limit", "day").over(Window.partitionBy(*SERIES))
    # All brokers have the cluster's, also one that is gone.
    shared = F.max_by("limit", "day").over(Window.partitionBy("cluster_id", "what", broker.isNull()))
    given = (
        F.when(what == "partitions", F.lit(options.max_partitions))
        .when(what == "replicas", F.lit(options.max_broker_partitions))
        .when((what == "bytes_in") & broker.isNotNull(), F.lit(options.network))
    )
    history = F.when(what == "disk_bytes", own * F.lit(options.disk_share)).otherwise(shared)
    return F.coalesce(given.cast("double"), history)


def forecast_series(days: DataFrame, options: Options) -> DataFrame:
    """Forecast every series. `days`: of `series`; returns the columns of `SCHEMA`.

    A fold over the days of a series in Python, which gets one number a day however large the history is.
    """
    schema = to_arrow_schema(parsed(SCHEMA))

    def fold(rows: pa.Table) -> pa.Table:
        every = sorted(rows.to_pylist(), key=itemgetter("day"))
        one = every[0]
        known = {row["day"]: row["value"] for row in every if row["value"] is not None}
        found = forecast(
            np.array([*known], np.int64),
            np.array([*known.values()], np.float64),
            one["limit"],
            KINDS[one["what"]],
            horizon=options.horizon,
            level=options.level,
            seed=options.seed,
        )
        last, baseline = max(known, default=None), found.baseline_day
        path = [{"day": _midnight(day), "seen": value} for day, value in known.items()]
        if last is not None and found.band is not None:
            ahead = enumerate(found.band.tolist(), last + 1)
            names = ("low", "median", "high")
            path += [{"day": _midnight(day), **dict(zip(names, ends, strict=True))} for day, ends in ahead]
        row = {
            **one,
            "outcome": str(found.outcome),
            "now": found.now,
            "growth_per_day": found.growth_per_day,
            "day": _midnight(found.day),
            "day_low": _midnight(found.day_low),
            "day_high": _midnight(found.day_high),
            "baseline_day": None if baseline is None or baseline > LAST_BASELINE else _midnight(baseline),
            "last_day": _midnight(last),
            "history_days": found.history_days,
            "horizon_days": options.horizon,
            "level": options.level,
            "method": None if found.growth_per_day is None else METHOD,
            "path": path,
        }
        return pa.Table.from_pylist([row], schema)

    return days.groupBy("cluster_id", "subject", "what").applyInArrow(fold, SCHEMA)


def _midnight(day: int | None) -> int | None:
    """Return the microsecond at which a day begins. `day`: counted since 1970."""
    return None if day is None else day * DAY * 1_000_000


def _level(text: object) -> float:
    share = values.share(text)
    if share == 1:
        raise ValueError("expected less than 100%: no interval is certain")
    return share


_FLAGS: Final[Flags] = {
    "horizon": (values.days_up_to(MOST_DAYS), "DAYS", "days to look ahead (default: 90)"),
    "level": (_level, "SHARE", "of the interval (default: 90%%)"),
    "network": (values.rate, "RATE", "capacity of one broker's network (default: from the history)"),
    "max_broker_partitions": (values.whole_number, "N", "limit of replicas of a broker (default: from the history)"),
    "max_partitions": (values.whole_number, "N", "limit of partitions of the cluster (default: from the history)"),
    "disk_share": (values.share, "SHARE", "share of a disk that counts as full (default: 100%%)"),
    "seed": (values.whole_number, "N", "of the random draws (default: 1)"),
}


JOB: Final = of_flags("forecast", "the day on which limits are reached, with an interval", Options, _FLAGS, run)
