"""Marts of the job `forecast`."""

from typing import Final

from kafka_warden.pipeline.marts.mart import Field, Mart

_SERIES: Final = (
    Field("cluster_id", "string", "", "of the cluster"),
    Field("subject", "string", "", "`cluster`, a broker id, or broker id and log directory such as `1:/data`"),
    Field("what", "string", "", "`partitions`, `replicas`, `bytes_in` or `disk_bytes`"),
)
_KEY: Final = ("cluster_id", "subject", "what")

FORECASTS: Final = Mart(
    "forecasts",
    "One row per series: the day on which it reaches its limit. A day is null if it is beyond the horizon or unknown;"
    " `outcome` shows which.",
    (
        *_SERIES,
        Field("broker", "int", "", "broker id, null of the cluster"),
        Field("log_dir", "string", "", "log directory, null of all but disks"),
        Field("outcome", "string", "", "`reached`, `within`, `beyond`, `unlimited`, `limit_unknown` or `too_short`"),
        Field("limit", "double", "of `what`", "the limit; infinite if there is none, null if unknown"),
        Field("now", "double", "of `what`", "greatest value of the last day"),
        Field("growth_per_day", "double", "of `what`", "of the trend as it is now"),
        Field(
            "day",
            "timestamp",
            "",
            "day by which half of the paths reach the limit; if `reached`, the last day at or above it",
        ),
        Field("day_low", "timestamp", "", "the early end of the interval"),
        Field("day_high", "timestamp", "", "the late end of the interval"),
        Field("baseline_day", "timestamp", "", "when a straight line through all days reaches it, if ever"),
        Field("last_day", "timestamp", "", "last day of the history, where the horizon begins"),
        Field("history_days", "int", "", "days with a value"),
        Field("horizon_days", "int", "", "length of the horizon"),
        Field("level", "double", "ratio", "of the interval"),
        Field("method", "string", "", "how it was forecast; null if it was not"),
    ),
    _KEY,
)

FORECAST_PATHS: Final = Mart(
    "forecast_paths",
    "One row per series and day: first the measured values, then the forecast.",
    (
        *_SERIES,
        Field("day", "timestamp", "", "midnight, UTC, at which the day begins"),
        Field("seen", "double", "of `what`", "highest measured value of that day; null after the last day"),
        Field("median", "double", "of `what`", "median forecast; null up to the last measured day"),
        Field("low", "double", "of `what`", "lower end of that day's interval"),
        Field("high", "double", "of `what`", "upper end of that day's interval"),
    ),
    (*_KEY, "day"),
)

MARTS: Final = (FORECASTS, FORECAST_PATHS)
