"""Arithmetic of Spark's columns: how long a poll counts, how good a prediction was, and what is unknown."""

import math
from collections.abc import Callable

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.move_samples import growth, side_use
from kafka_warden.pipeline.moves import relative_error
from kafka_warden.pipeline.timeline import divide, greatest, held, in_order, least, silence, steady_time

INF = math.inf

Row = tuple[Callable[..., Column], tuple[float | None, ...], float | None]

CLOCKS: tuple[Row, ...] = (
    # At 100 s of the monotonic clock, with the 1000 s that both clocks usually differ by.
    (steady_time, (1100.0, 100.0, 1000.0), 1100.0),
    (steady_time, (1100.9, 100.0, 1000.0), 1100.9),
    (steady_time, (4700.0, 100.0, 1000.0), 1100.0),
    (steady_time, (500.0, 100.0, 1000.0), 1100.0),
    # The next day of the run begins at 1000 s.
    (in_order, (990.0, 1000.0), 990.0),
    (in_order, (1060.0, 1000.0), 999.0),
    (in_order, (87_000.0, 1000.0), 999.0),
    (in_order, (88_000.0, 1000.0), 88_000.0),
    (in_order, (990.0, None), 990.0),
)
HOLDING: tuple[Row, ...] = (
    (silence, (60.0, 10.0), 180.0),
    (silence, (1.0, 10.0), 30.0),
    (held, (60.0, 180.0), 60.0),
    (held, (179.0, 180.0), 179.0),
    (held, (3600.0, 180.0), 180.0),
    (held, (-5.0, 180.0), 0.0),
)
MOVES: tuple[Row, ...] = (
    (growth, (5.0, 3.0), 2.0),
    (growth, (2.0, 3.0), 0.0),
    (side_use, (3.0, 4.0, 10.0), 0.7),
    (side_use, (3.0, 4.0, INF), 0.0),
    (side_use, (3.0, 4.0, 0.0), None),
    (relative_error, (150.0, 100.0), 0.5),
    (relative_error, (50.0, 100.0), -0.5),
    (relative_error, (INF, 100.0), INF),
    (relative_error, (10.0, 0.0), None),
)
UNKNOWN: tuple[Row, ...] = (
    (divide, (1.0, 2.0), 0.5),
    (divide, (1.0, 0.0), None),
    (divide, (0.0, 0.0), None),
    (divide, (INF, INF), None),
    (divide, (1.0, INF), 0.0),
    (divide, (None, 2.0), None),
    (greatest, (1.0, 2.0), 2.0),
    (greatest, (1.0, None), None),
    (least, (1.0, 2.0), 1.0),
    (least, (None, 2.0), None),
)


@pytest.mark.parametrize("rows", [CLOCKS, HOLDING, MOVES, UNKNOWN], ids=("clocks", "holding", "moves", "unknown"))
def test_columns(spark: SparkSession, rows: tuple[Row, ...]) -> None:
    columns = [formula(*(F.lit(value).cast("double") for value in values)) for formula, values, _ in rows]

    (found,) = spark.range(1).select(*(column.alias(str(place)) for place, column in enumerate(columns))).collect()

    for place, (formula, values, expected) in enumerate(rows):
        assert found[place] == (None if expected is None else pytest.approx(expected)), (formula.__name__, values)
