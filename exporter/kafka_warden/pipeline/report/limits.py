"""When limits will be reached, from the marts `forecasts` and `forecast_paths`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.report.reading import by_index, floats, unix

MOST: Final = 200
"""Forecasts that are read, the soonest first."""

_DAYS: Final = ("day", "day_low", "day_high", "baseline_day", "last_day")


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
    columns = (unix(field.name) if field.name in _DAYS else F.col(field.name) for field in fields(Forecast))
    frame = forecasts.select(*columns).orderBy(*order, "cluster_id", "what", "subject")
    return [Forecast(**row.asDict()) for row in frame.limit(MOST).collect()], forecasts.count()


def paths_of(paths: DataFrame, forecasts: Sequence[Forecast]) -> dict[int, Path]:
    """Read the paths of these forecasts: index to path, for those with two days or more."""
    if not forecasts:
        return {}
    owner = F.coalesce(*(F.when(_of(forecast), F.lit(place)) for place, forecast in enumerate(forecasts)))
    owned = paths.select(owner.alias("forecast"), unix("day"), "seen", "median", "low", "high").where(
        "forecast IS NOT NULL"
    )
    columns = ("day", "seen", "median", "low", "high")
    found = by_index(owned, "forecast", "day")
    return {place: Path(*(floats(rows, name) for name in columns)) for place, rows in found.items()}


def _of(forecast: Forecast) -> Column:
    same = F.col("cluster_id") == forecast.cluster_id
    return same & (F.col("subject") == forecast.subject) & (F.col("what") == forecast.what)
