"""`forecast`: the day on which partitions, bytes in and disks reach their limits, with an interval."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.config import values
from kafka_warden.config.options import read_values
from kafka_warden.pipeline import marks
from kafka_warden.pipeline.ingest.batch import AHEAD
from kafka_warden.pipeline.job import Job, Request
from kafka_warden.pipeline.jobs.forecast.fold import forecast_series, forecasts, paths
from kafka_warden.pipeline.jobs.forecast.series import Options, series
from kafka_warden.pipeline.marts.forecast import FORECAST_PATHS, FORECASTS
from kafka_warden.pipeline.marts.rollup import SERIES_DAYS
from kafka_warden.pipeline.session import persisted
from kafka_warden.pipeline.store import of_mart
from kafka_warden.pipeline.timeline import DAY

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
