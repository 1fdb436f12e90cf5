"""Forecasts every series with `kafka_warden.pipeline.forecast.forecast`, a fold over its days in Python.

A series has one number per day, so Python gets little data however large the history is.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.forecast.forecast import METHOD, Forecast, forecast
from kafka_warden.pipeline.forecast.trend import Kind
from kafka_warden.pipeline.jobs.forecast.series import Options
from kafka_warden.pipeline.rollup.series import SERIES
from kafka_warden.pipeline.timeline import DAY

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
