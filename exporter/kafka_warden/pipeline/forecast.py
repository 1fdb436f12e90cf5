"""The job `forecast`: the day on which partitions, bytes in and disks reach their limits, with an interval.

A day's value is the maximum of its hours, since limits are reached at the busiest hour. A rate's hour is the mean of
its polls, so that a burst is not growth. A day with too few hours may lack its busiest one and is left out, often the
last day. The threshold depends on the usual number of hours, since history may be sampled.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.config import values
from kafka_warden.config.options import read_values
from kafka_warden.pipeline import marks
from kafka_warden.pipeline.forecast_model import METHOD, Forecast, forecast
from kafka_warden.pipeline.forecast_trend import Kind
from kafka_warden.pipeline.ingest.batch import AHEAD
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.marts import FORECAST_PATHS, FORECASTS, SERIES_DAYS
from kafka_warden.pipeline.rollup_series import SERIES
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import of_mart
from kafka_warden.pipeline.timeline import DAY

LEAST_SHARE: Final = 0.75
"""Of the median number of hours with a value per day: 18 of 24, or 3 of 4 with one poll in six hours."""

COLUMNS: Final = (*SERIES, "day", "value", "limit")
"""Columns of `series`: strings, int, string, bigint days since 1970, double, double."""


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


def series(days: DataFrame, options: Options) -> DataFrame:
    """Return the days of all series: `COLUMNS`. All days have the last limit. `days`: the mart `series_day`."""
    usual = F.percentile_approx("hours", 0.5).over(Window.partitionBy("cluster_id", "subject", "what"))
    value = F.when(F.col("hours") >= LEAST_SHARE * usual, F.col("value"))
    return (
        days.withColumn("limit", _limit(options))
        .where("hours > 0")
        .select(*SERIES, F.unix_date("day").cast("bigint").alias("day"), value.alias("value"), "limit")
    )


def _limit(options: Options) -> Column:
    """Return the limit of a series: the option, or else the last one of the history."""
    own = F.max_by("limit", "day").over(Window.partitionBy(*SERIES))
    # All brokers have the cluster's, also one that is gone.
    shared = F.max_by("limit", "day").over(Window.partitionBy("cluster_id", "what", F.col("broker").isNull()))
    of_broker = F.col("broker").isNotNull()
    given = {"partitions": options.max_partitions, "replicas": options.max_broker_partitions}
    limit = F.when(F.col("what") == "disk_bytes", own * F.lit(options.disk_share))
    for what, number in given.items():
        if number is not None:
            limit = limit.when(F.col("what") == what, F.lit(number).cast("double"))
    if options.network is not None:
        limit = limit.when((F.col("what") == "bytes_in") & of_broker, F.lit(options.network))
    return limit.otherwise(shared)


KINDS: Final = {"partitions": Kind.COUNT, "replicas": Kind.COUNT, "bytes_in": Kind.FLOW, "disk_bytes": Kind.STOCK}

_DAYS: Final = ("day", "day_low", "day_high", "baseline_day", "last_day")
_OF_SERIES: Final = (
    "cluster_id string, subject string, what string, broker int, log_dir string, outcome string, `limit` double,"
    " now double, growth_per_day double, day bigint, day_low bigint, day_high bigint, baseline_day bigint,"
    " last_day bigint, history_days int"
)
_OF_PATH: Final = "at bigint, seen double, median double, low double, high double"
SCHEMA: Final = f"{_OF_SERIES}, {_OF_PATH}"
"""A row of the series, then one for each day of its path: `at` is null in the first."""

LAST_BASELINE: Final = 366 * 1000
"""Days after 1970 up to which the straight line is followed."""


def forecast_series(days: DataFrame, options: Options) -> DataFrame:
    """Forecast every series. `days`: columns of `series.COLUMNS`; returns those of `SCHEMA`."""
    return days.groupBy("cluster_id", "subject", "what").applyInPandas(_fold(options), SCHEMA)


def forecasts(rows: DataFrame, options: Options) -> DataFrame:
    """Return the mart `forecasts`."""
    given = {
        "horizon_days": F.lit(options.horizon),
        "level": F.lit(options.level),
        "method": F.when(F.col("growth_per_day").isNotNull(), F.lit(METHOD)),
    }
    return rows.where(F.col("at").isNull()).withColumns({**{name: _midnight(name) for name in _DAYS}, **given})


def paths(rows: DataFrame) -> DataFrame:
    """Return the mart `forecast_paths`."""
    return rows.where(F.col("at").isNotNull()).withColumn("day", _midnight("at"))


def _midnight(name: str) -> Column:
    return F.timestamp_seconds(F.col(name) * DAY)


def _fold(options: Options) -> Callable[[Any], Any]:
    def fold(rows: Any) -> Any:
        first = rows.iloc[0]
        known = rows[rows["value"].notna()].sort_values("day")
        days, values = known["day"].to_numpy(np.int64), known["value"].to_numpy(np.float64)
        limit = None if pd.isna(first["limit"]) else float(first["limit"])
        kind = KINDS[first["what"]]
        found = forecast(days, values, limit, kind, horizon=options.horizon, level=options.level, seed=options.seed)
        head = {name: first[name] for name in SERIES} | _head(found, limit, days)
        key = {name: head[name] for name in SERIES}
        past = [{**key, "at": day, "seen": value} for day, value in zip(days.tolist(), values.tolist(), strict=True)]
        return _frame([head, *past, *_ahead(key, found)])

    return fold


def _head(found: Forecast, limit: float | None, days: Any) -> dict[str, Any]:
    baseline = found.baseline_day
    same = ("now", "growth_per_day", "day", "day_low", "day_high", "history_days")
    return {name: getattr(found, name) for name in same} | {
        "outcome": str(found.outcome),
        "limit": limit,
        "baseline_day": None if baseline is None or baseline > LAST_BASELINE else baseline,
        "last_day": int(days[-1]) if len(days) else None,
    }


def _ahead(key: dict[str, Any], found: Forecast) -> list[dict[str, Any]]:
    band = found.band
    if band is None:
        return []
    columns = zip(*(part.tolist() for part in (band.days, band.median, band.low, band.high)), strict=True)
    return [{**key, "at": day, "median": median, "low": low, "high": high} for day, median, low, high in columns]


def _frame(rows: list[dict[str, Any]]) -> Any:
    """Build the frame with nullable integers: Arrow refuses floats for them."""
    types = {"bigint": "Int64", "int": "Int32", "double": "float64", "string": "object"}
    columns = {}
    for column in SCHEMA.split(", "):
        name, kind = column.replace("`", "").split(" ")
        columns[name] = (
            pd.array([row.get(name) for row in rows], types[kind])
            if kind != "double"
            else [np.nan if row.get(name) is None else row[name] for row in rows]
        )
    return pd.DataFrame(columns)


ALL: Final = "cluster_id IS NOT NULL"
"""SQL condition on the rows that are replaced: forecasts depend on options, so those of all clusters are new."""
MOST_DAYS: Final = 366
"""The longest horizon: beyond it, intervals are too wide to use."""


def run(request: Request[Options]) -> None:
    """Replace the marts `forecasts` and `forecast_paths` of all clusters, from the series by day.

    Raises:
        StoreError: the store cannot be used.
    """
    store, options = request.store, request.options
    with (
        marks.working(store, JOB.name) as work,
        persisted(forecast_series(series(_days(request), options), options)) as rows,
    ):
        with request.progress.step("forecast: days to limits"):
            marks.replace(work, FORECASTS, forecasts(rows, options), ALL)
        with request.progress.step("forecast: paths"):
            marks.replace(work, FORECAST_PATHS, paths(rows), ALL)


def _days(request: Request[Options]) -> DataFrame:
    first, after = (seconds / DAY for seconds in request.span)
    day = F.unix_date("day")
    # A clock that ran ahead made days that are still to come.
    mine = (day > first - 1) & (day < after) & (F.col("day") <= F.lit(request.store.today() + timedelta(seconds=AHEAD)))
    return request.store.read(of_mart(SERIES_DAYS)).where(mine)


def _add_flags(command: ArgumentParser) -> None:
    add = command.add_argument
    add("--horizon", default="90", metavar="DAYS", help="days to look ahead (default: 90)")
    add("--level", default="90%", metavar="SHARE", help="of the interval (default: 90%%)")
    add("--network", metavar="RATE", help="capacity of one broker's network (default: from the history)")
    add("--max-broker-partitions", metavar="N", help="limit of replicas of a broker (default: from the history)")
    add("--max-partitions", metavar="N", help="limit of partitions of the cluster (default: from the history)")
    add("--disk-share", default="100%", metavar="SHARE", help="share of a disk that counts as full (default: 100%%)")
    add("--seed", default="1", metavar="N", help="of the random draws (default: 1)")


def _read_flags(parsed: Namespace) -> Options:
    return Options(**read_values(vars(parsed), _FLAGS))


def _level(text: object) -> float:
    share = values.share(text)
    if share == 1:
        raise ValueError("expected less than 100%: no interval is certain")
    return share


_FLAGS: Final[Mapping[str, Callable[[object], Any]]] = {
    "horizon": values.days_up_to(MOST_DAYS),
    "level": _level,
    "network": values.rate,
    "max_broker_partitions": values.whole_number,
    "max_partitions": values.whole_number,
    "disk_share": values.share,
    "seed": values.whole_number,
}

JOB: Final = Job("forecast", "the day on which limits are reached, with an interval", _add_flags, _read_flags, run)
