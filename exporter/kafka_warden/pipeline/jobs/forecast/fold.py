"""Every series through `kafka_warden.formulas.forecast`: a series is a fold over its days, so it goes to Python whole.

That is some hundred numbers per broker, whatever the history has; all that is large stays in Spark.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # what everybody calls it

from kafka_warden.formulas.forecast import METHOD, Forecast, forecast
from kafka_warden.formulas.forecast_trend import Kind
from kafka_warden.pipeline.jobs.forecast.options import Options
from kafka_warden.pipeline.jobs.forecast.series import SERIES
from kafka_warden.pipeline.rollup.windows import DAY

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
"""Days after 1970 that a straight line is followed to: later ones are no date that anybody reads."""


def replayed(days: DataFrame, options: Options) -> DataFrame:
    """Forecast every series. `days`: columns of `series.COLUMNS`; returns those of `SCHEMA`."""
    return days.groupBy("cluster_id", "subject", "what").applyInPandas(_fold(options), SCHEMA)


def forecasts(rows: DataFrame, options: Options) -> DataFrame:
    """Pick the rows of the series, as the mart has them."""
    given = {
        "horizon_days": F.lit(options.horizon),
        "level": F.lit(options.level),
        "method": F.when(F.col("growth_per_day").isNotNull(), F.lit(METHOD)),
    }
    return rows.where(F.col("at").isNull()).withColumns({**{name: _midnight(name) for name in _DAYS}, **given})


def paths(rows: DataFrame) -> DataFrame:
    """Pick the rows of the paths, as the mart has them."""
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
        return _frame([head, *_seen(head, days, values), *_ahead(head, found)])

    return fold


def _head(found: Forecast, limit: float | None, days: Any) -> dict[str, Any]:
    baseline = found.baseline_day
    return {
        "outcome": str(found.outcome),
        "limit": limit,
        "now": found.now,
        "growth_per_day": found.growth_per_day,
        "day": found.day,
        "day_low": found.day_low,
        "day_high": found.day_high,
        "baseline_day": None if baseline is None or baseline > LAST_BASELINE else baseline,
        "last_day": int(days[-1]) if len(days) else None,
        "history_days": found.history_days,
    }


def _seen(head: dict[str, Any], days: Any, values: Any) -> list[dict[str, Any]]:
    key = {name: head[name] for name in SERIES}
    return [{**key, "at": day, "seen": value} for day, value in zip(days.tolist(), values.tolist(), strict=True)]


def _ahead(head: dict[str, Any], found: Forecast) -> list[dict[str, Any]]:
    if found.band is None:
        return []
    key, band = {name: head[name] for name in SERIES}, found.band
    columns = zip(*(part.tolist() for part in (band.days, band.median, band.low, band.high)), strict=True)
    return [{**key, "at": day, "median": median, "low": low, "high": high} for day, median, low, high in columns]


def _frame(rows: list[dict[str, Any]]) -> Any:
    """Whole numbers that may be missing as such: a float would lose them, and Arrow refuses it."""
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
