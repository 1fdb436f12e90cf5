"""What the job `forecast` writes."""

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
    "One row per thing that grows: the day on which it reaches its limit. A day is null where it is not within the"
    " horizon, or not known; `outcome` tells which.",
    (
        *_SERIES,
        Field("broker", "int", "", "broker id, null of the cluster"),
        Field("log_dir", "string", "", "log directory, null of all but disks"),
        Field("outcome", "string", "", "`reached`, `within`, `beyond`, `unlimited`, `limit_unknown` or `too_short`"),
        Field("limit", "double", "of `what`", "the limit; infinite where there is none, null where nobody tells"),
        Field("now", "double", "of `what`", "greatest value of the last day"),
        Field("growth_per_day", "double", "of `what`", "of the trend as it is now"),
        Field(
            "day", "timestamp", "", "day by which the limit is as likely reached as not; of what is, the last such day"
        ),
        Field("day_low", "timestamp", "", "the early end of the interval"),
        Field("day_high", "timestamp", "", "the late end of the interval"),
        Field("baseline_day", "timestamp", "", "when a straight line through all days reaches it, however far away"),
        Field("last_day", "timestamp", "", "last day of the history, where the horizon begins"),
        Field("history_days", "int", "", "days with a value that this stands on"),
        Field("horizon_days", "int", "", "days that were looked at"),
        Field("level", "double", "ratio", "of the interval"),
        Field("method", "string", "", "how it was forecast; null where it was not"),
    ),
    _KEY,
)

FORECAST_PATHS: Final = Mart(
    "forecast_paths",
    "One row per thing that grows and day: what was seen of it, then what is expected.",
    (
        *_SERIES,
        Field("day", "timestamp", "", "midnight, UTC, at which the day begins"),
        Field("seen", "double", "of `what`", "greatest value of that day; null after the last one"),
        Field("median", "double", "of `what`", "as likely above as below; null up to the last day that was seen"),
        Field("low", "double", "of `what`", "the lower end of the interval of that day by itself"),
        Field("high", "double", "of `what`", "the upper end"),
    ),
    (*_KEY, "day"),
)

MARTS: Final = (FORECASTS, FORECAST_PATHS)
