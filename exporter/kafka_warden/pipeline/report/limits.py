"""When limits will be reached, from the marts `forecasts` and `forecast_paths`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.report.reading import unix

MOST: Final = 200
"""Forecasts that are read, the soonest first."""

_DAYS: Final = ("day", "day_low", "day_high", "baseline_day", "last_day")
_PLAIN: Final = (
    "cluster_id",
    "subject",
    "what",
    "outcome",
    "limit",
    "now",
    "growth_per_day",
    "level",
    "method",
    "history_days",
)
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "forecasts": (*_PLAIN, *_DAYS),
    "forecast_paths": ("cluster_id", "subject", "what", "day", "seen", "median", "low", "high"),
}
"""Mart to the columns that are read of it."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """One limit. Days in Unix s, None: beyond the horizon or unknown, see `outcome`; amounts in the unit of `what`."""

    cluster_id: str
    subject: str
    what: str
    outcome: str
    limit: float | None
    now: float | None
    growth_per_day: float | None
    level: float | None
    method: str | None
    history_days: int | None
    day: float | None
    day_low: float | None
    day_high: float | None
    baseline_day: float | None
    last_day: float | None


@dataclass(frozen=True, slots=True)
class Path:
    """Measured and then forecast values by day (Unix s), with the interval; NaN where there is none."""

    days: tuple[float, ...]
    seen: tuple[float, ...]
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def forecasts_of(forecasts: DataFrame) -> tuple[list[Forecast], int]:
    """Read the forecasts, the soonest first, and count them all."""
    order: list[Any] = [F.asc_nulls_last(name) for name in ("day", "day_low", "baseline_day")]
    frame = forecasts.select(*_PLAIN, *(unix(name) for name in _DAYS)).orderBy(*order, "cluster_id", "what", "subject")
    return [Forecast(**row.asDict()) for row in frame.limit(MOST).collect()], forecasts.count()


def paths_of(paths: DataFrame, forecasts: Sequence[Forecast]) -> dict[int, Path]:
    """Read the paths of these forecasts: index to path, for those with two days or more."""
    if not forecasts:
        return {}
    owner = F.coalesce(*(F.when(_of(forecast), F.lit(place)) for place, forecast in enumerate(forecasts)))
    owned = paths.select(owner.alias("forecast"), unix("day"), "seen", "median", "low", "high").where(
        "forecast IS NOT NULL"
    )
    found: dict[int, list[Any]] = {}
    for row in owned.orderBy("forecast", "day").collect():
        found.setdefault(row["forecast"], []).append(row)
    return {place: _path(rows) for place, rows in found.items() if len(rows) > 1}


def _of(forecast: Forecast) -> Column:
    same = F.col("cluster_id") == forecast.cluster_id
    return same & (F.col("subject") == forecast.subject) & (F.col("what") == forecast.what)


def _path(rows: Sequence[Any]) -> Path:
    def floats(name: str) -> tuple[float, ...]:
        return tuple(float("nan") if row[name] is None else row[name] for row in rows)

    return Path(floats("day"), floats("seen"), floats("median"), floats("low"), floats("high"))
