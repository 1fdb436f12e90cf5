"""Every scalar formula gives on Columns what it gives on numbers and on arrays, to the last bit."""

import importlib
import inspect
import math
import pkgutil
import random
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

import kafka_warden.formulas
from kafka_warden.formulas.ops import ARRAYS, NUMBERS
from kafka_warden.pipeline.ops import COLUMNS

EDGES = (0.0, 1.0, -1.0, 0.5, -3.25, 7e9, 1e300, math.inf)
ROWS = 400
WIDTH = 6
"""Arguments of the formula that has the most."""


def scalar_formulas() -> dict[str, Callable[..., Any]]:
    """Every function of kafka_warden.formulas that takes and returns values of any engine."""
    found: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.iter_modules(kafka_warden.formulas.__path__):
        if module.name != "ops":
            loaded = importlib.import_module(f"kafka_warden.formulas.{module.name}")
            for name, function in inspect.getmembers(loaded, inspect.isfunction):
                returned = inspect.signature(function).return_annotation
                if function.__module__ == loaded.__name__ and isinstance(returned, TypeVar):
                    found[f"{module.name}.{name}"] = function
    return found


FORMULAS = scalar_formulas()


def call(function: Callable[..., Any], ops: Any, values: Any) -> Any:
    """Call a formula with as many values as it takes."""
    arguments = iter(values)
    given: dict[str, Any] = {}
    for each in inspect.signature(function).parameters.values():
        if each.name == "ops":
            given["ops"] = ops
        elif each.annotation is float:
            # A plain number on every engine.
            given[each.name] = 3600.0
        elif each.default is inspect.Parameter.empty:
            given[each.name] = next(arguments)
    return function(**given)


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Rows of arguments: edges and any numbers; NaN means unknown."""
    dice = random.Random(7)

    def one() -> float:
        kind = dice.random()
        return math.nan if kind < 0.05 else dice.choice(EDGES) if kind < 0.5 else dice.uniform(-1e6, 1e6)

    return np.array([[one() for _ in range(WIDTH)] for _ in range(ROWS)])


@pytest.fixture(scope="module")
def columns(spark: SparkSession, values: np.ndarray) -> dict[str, np.ndarray]:
    """Each formula on Columns; null and NaN as NaN."""
    rows = [
        (number, *(None if math.isnan(value) else float(value) for value in row)) for number, row in enumerate(values)
    ]
    frame = spark.createDataFrame(rows, "row int, " + ", ".join(f"v{place} double" for place in range(WIDTH)))
    given = [F.col(f"v{place}") for place in range(WIDTH)]
    made = {name: call(function, COLUMNS, given) for name, function in FORMULAS.items()}
    found = (
        frame.orderBy("row").select(*(column.alias(name.replace(".", "_")) for name, column in made.items())).collect()
    )
    return {name: np.array([row[name.replace(".", "_")] for row in found], dtype=float) for name in made}


def test_formulas_are_found() -> None:
    """The list is not empty by mistake."""
    assert {"moves.eta", "law.gross", "throttle.headroom", "mutation.admission_delay"} <= set(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_columns_are_arrays(name: str, columns: dict[str, np.ndarray], values: np.ndarray) -> None:
    """Columns give what arrays give, unknown for unknown, wherever each step on the way has a value."""
    compared = 0
    for row, given in enumerate(values):
        try:
            with np.errstate(invalid="raise", over="ignore", divide="ignore"):
                (expected,) = call(FORMULAS[name], ARRAYS, given[:, np.newaxis])
        except FloatingPointError:
            continue
        compared += 1
        np.testing.assert_array_equal(columns[name][row], expected, str(given))
    assert compared > ROWS // 2


@pytest.mark.parametrize("name", FORMULAS)
def test_columns_are_numbers(name: str, columns: dict[str, np.ndarray], values: np.ndarray) -> None:
    """Columns give what numbers give, wherever all arguments are known and the result is a number."""
    known = np.flatnonzero(~np.isnan(values).any(axis=1))
    assert len(known) > ROWS // 2
    for row in known:
        number = call(FORMULAS[name], NUMBERS, [float(value) for value in values[row]])
        if number is not None and not math.isnan(number):
            assert columns[name][row] == number, values[row]


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [(1.0, 2.0, 0.5), (1.0, 0.0, None), (0.0, 0.0, None), (math.inf, math.inf, None), (1.0, math.inf, 0.0)],
)
def test_divide(spark: SparkSession, numerator: float, denominator: float, expected: float | None) -> None:
    """A quotient without a value is null or what the caller says, and never an error."""
    frame = spark.createDataFrame([(numerator, denominator)], "a double, b double")
    plain = COLUMNS.divide(F.col("a"), F.col("b"))
    assert plain is not None
    (row,) = frame.select(
        plain.alias("plain"), COLUMNS.divide(F.col("a"), F.col("b"), F.lit(7.0)).alias("other")
    ).collect()
    assert row["plain"] == expected
    assert row["other"] == (7.0 if expected is None else expected)
