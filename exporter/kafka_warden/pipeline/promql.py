"""Evaluates expressions of Prometheus over arrays, for all evaluations of a span at once.

Only what the rules use: other functions, operators and modifiers raise `PromqlError`. The evaluations are `step`
seconds apart, and each series is scraped or recorded at each of them. A sample that is missing there is stale. The
value NaN is a missing sample, while Prometheus keeps such samples. Ranges include both ends, as in Prometheus 2.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

import numpy as np
import promql_parser

from kafka_warden.errors import PromqlError

Labels = Mapping[str, str]
"""Without the name of the metric, and without empty values."""
Scalar = np.ndarray
"""(T,) a number at each evaluation."""
EPSILON: Final = 1e-6
"""Seconds: times are floats."""
LOOKBACK: Final = 300.0
"""Seconds for which Prometheus uses the last sample; evaluations are closer together."""


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Series at all evaluations."""

    labels: Sequence[Labels]
    """(S,)"""
    values: np.ndarray
    """(S, T); NaN where there is no sample."""

    def rows(self) -> dict[frozenset[tuple[str, str]], np.ndarray]:
        """Return the values of each series by its labels."""
        return {frozenset(each.items()): values for each, values in zip(self.labels, self.values, strict=True)}


@dataclass(frozen=True, slots=True)
class Grid:
    """The times of the evaluations."""

    start: float
    """Unix s."""
    step: float
    count: int

    @property
    def times(self) -> Scalar:
        """(T,) Unix s."""
        return self.start + self.step * np.arange(self.count)

    def at(self, place: int) -> float:
        """Return the time of an evaluation, Unix s."""
        return self.start + place * self.step

    def steps(self, seconds: float) -> int:
        """Return how many steps are as long as this, rounded down."""
        return int((seconds + EPSILON) // self.step)


Read = Callable[[str], Iterable[tuple[Vector, bool]]]
"""Finds the series of a name. True: the rule that makes them comes later, so those of the evaluation are missing."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Any:
    """Parse an expression."""
    try:
        return promql_parser.parse(text)
    except ValueError as failure:
        raise PromqlError(f"{failure}: {text}") from None


def children(node: Any) -> list[Any]:
    """List the expressions in an expression."""
    names = ("expr", "lhs", "rhs", "vector_selector")
    found = [getattr(node, name) for name in names if getattr(node, name, None) is not None]
    return [*found, *getattr(node, "args", ())]


def kind(node: Any) -> str:
    """Name the class of an expression, such as `BinaryExpr`."""
    return type(node).__name__


def selectors(node: Any) -> list[Any]:
    """List the vector selectors in an expression."""
    own = [node] if kind(node) == "VectorSelector" else []
    return own + [each for child in children(node) for each in selectors(child)]


def look_back(node: Any) -> float:
    """Return the longest range or offset in an expression, in seconds."""
    own = (getattr(node, name, None) for name in ("range", "offset"))
    return max(0.0, *(_seconds(each) for each in own), *map(look_back, children(node)))


def matches(selector: Any, labels: Labels) -> bool:
    """Return whether a selector selects these labels."""
    return all(_matches(each, labels.get(each.name, "")) for each in selector.matchers.matchers)


def _matches(matcher: Any, value: str) -> bool:
    operator = str(matcher.op).rpartition(".")[2]
    if operator in {"Equal", "NotEqual"}:
        return bool(value == matcher.value) is (operator == "Equal")
    return (re.fullmatch(matcher.value, value) is not None) is (operator == "Re")


def empty(grid: Grid) -> Vector:
    """Return no series."""
    return Vector((), np.empty((0, grid.count)))


def shifted(values: np.ndarray, steps: int, fill: float = np.nan) -> np.ndarray:
    """Return (S, T) values `steps` evaluations later."""
    if steps == 0:
        return values
    later = np.full_like(values, fill)
    later[:, steps:] = values[:, :-steps]
    return later


def last_index(present: np.ndarray) -> np.ndarray:
    """Return (S, T) the index of the last true value until then, or -1."""
    return np.maximum.accumulate(np.where(present, np.arange(present.shape[1]), -1), axis=1)


def at_index(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return (S, T) the values at these indices; NaN at negative ones."""
    return np.where(index < 0, np.nan, np.take_along_axis(values, np.maximum(index, 0), axis=1))


def _windowed(values: np.ndarray, size: int, operation: np.ufunc, neutral: float) -> np.ndarray:
    """Combine the last `size` values of each row, by windows whose lengths are powers of two."""
    found, done = np.full_like(values, neutral), 0
    block, length, size = values, 1, min(size, values.shape[1])
    while size:
        if size & 1:
            found, done = operation(found, shifted(block, done, neutral)), done + length
        size >>= 1
        if size:
            block, length = operation(block, shifted(block, length, neutral)), 2 * length
    return found


def _count(values: np.ndarray, size: int) -> np.ndarray:
    count = _windowed((~np.isnan(values)).astype(float), size, np.add, 0.0)
    return np.where(count > 0, count, np.nan)


def _sum(values: np.ndarray, size: int) -> np.ndarray:
    found = _windowed(np.where(np.isnan(values), 0.0, values), size, np.add, 0.0)
    return np.where(np.isnan(_count(values, size)), np.nan, found)


def _extreme(operation: np.ufunc, neutral: float) -> Callable[[np.ndarray, int], np.ndarray]:
    def combine(values: np.ndarray, size: int) -> np.ndarray:
        found = _windowed(np.where(np.isnan(values), neutral, values), size, operation, neutral)
        return np.where(np.isnan(_count(values, size)), np.nan, found)

    return combine


def _ends(values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (S, T) the indices of the first and the last sample of each window; -1 where it has none."""
    place = np.arange(values.shape[1])
    present = ~np.isnan(values)
    last = last_index(present)
    last = np.where(last > place - size, last, -1)
    following = values.shape[1] - 1 - last_index(present[:, ::-1])[:, ::-1]
    first = np.take_along_axis(following, np.broadcast_to(np.maximum(place - size + 1, 0), values.shape), axis=1)
    return np.where(last < 0, -1, first), last


def _last(values: np.ndarray, size: int) -> np.ndarray:
    return at_index(values, _ends(values, size)[1])


def _total(values: np.ndarray, size: int, added: np.ndarray) -> np.ndarray:
    """Sum (S, T) what is added at each sample, without that of the first sample of the window."""
    first, _ = _ends(values, size)
    return np.where(first < 0, np.nan, _windowed(added, size, np.add, 0.0) - at_index(added, first))


def _before(values: np.ndarray) -> np.ndarray:
    """Return (S, T) the value of the sample before."""
    return shifted(at_index(values, last_index(~np.isnan(values))), 1)


def _changes(values: np.ndarray, size: int) -> np.ndarray:
    before = _before(values)
    return _total(values, size, (~np.isnan(values) & ~np.isnan(before) & (values != before)).astype(float))


def _increase(values: np.ndarray, size: int) -> np.ndarray:
    """Extrapolate the growth of counters to the window, as Prometheus does; a decrease is a reset."""
    before = _before(values)
    resets = np.where(values < before, before, 0.0)
    first, last = _ends(values, size)
    grown = at_index(values, last) - at_index(values, first) + _total(values, size, resets)
    between = (last - first).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = between / (_count(values, size) - 1)
        until_zero = np.where(grown > 0, between * at_index(values, first) / grown, np.inf)
        start = np.minimum(first - (np.arange(values.shape[1]) - size + 1), until_zero)
        end = np.arange(values.shape[1]) - last
        more = sum(np.where(each < 1.1 * mean, each, mean / 2) for each in (start, end))
        return np.where(between > 0, grown * (between + more) / between, np.nan)


_RANGES: Final[Mapping[str, Callable[[np.ndarray, int], np.ndarray]]] = {
    "avg_over_time": lambda values, size: _sum(values, size) / _count(values, size),
    "changes": _changes,
    "count_over_time": _count,
    "increase": _increase,
    "last_over_time": _last,
    "max_over_time": _extreme(np.maximum, -np.inf),
    "min_over_time": _extreme(np.minimum, np.inf),
    "sum_over_time": _sum,
}
"""Functions of a window: (S, T) values and the number of evaluations in it."""
_AGGREGATIONS: Final[Mapping[str, tuple[np.ufunc, float]]] = {
    "count": (np.add, 0.0),
    "max": (np.maximum, -np.inf),
    "min": (np.minimum, np.inf),
    "sum": (np.add, 0.0),
}
_ARITHMETIC: Final = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_COMPARISONS: Final = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _keys(labels: Iterable[Labels], names: Sequence[str] | None) -> list[Hashable]:
    """Return what identifies each series: the values of some labels, or all labels."""
    if names is None:
        return [frozenset(each.items()) for each in labels]
    return [tuple(each.get(name, "") for name in names) for each in labels]


def grouped(
    keys: Sequence[Hashable], values: np.ndarray, operation: Callable[..., Any], neutral: float
) -> tuple[dict[Hashable, int], np.ndarray]:
    """Combine the rows of equal keys; return the row of each key, and the rows."""
    rows: dict[Hashable, int] = {}
    index = np.array([rows.setdefault(key, len(rows)) for key in keys], np.intp)
    found = np.full((len(rows), values.shape[1]), neutral, values.dtype)
    for row, place in enumerate(index.tolist()):
        operation(found[place], values[row], out=found[place])
    return rows, found


def merged(labels: Sequence[Labels], values: np.ndarray, names: Sequence[str] | None = None) -> Vector:
    """Return one series for the rows that agree in some labels: at each time, the last one that has a sample."""
    keys = _keys(labels, names)
    if names is None and len(set(keys)) == len(keys):
        return Vector(labels, values)
    rows, found = grouped(keys, values, _overlay, np.nan)
    return Vector([_without_empty(key, names) for key in rows], found)


def _overlay(_: np.ndarray, above: np.ndarray, out: np.ndarray) -> None:
    np.copyto(out, above, where=~np.isnan(above))


def _without_empty(key: Any, names: Sequence[str] | None) -> Labels:
    pairs = key if names is None else zip(names, key, strict=True)
    return {name: value for name, value in pairs if value}


class Evaluator:
    """Evaluates expressions over a grid."""

    def __init__(self, grid: Grid, read: Read) -> None:
        if grid.step > LOOKBACK:
            raise PromqlError(f"evaluations are {grid.step:g} s apart; at most {LOOKBACK:g} s are supported")
        self.grid, self._read = grid, read

    def vector(self, node: Any) -> Vector:
        """Evaluate an expression whose result is a vector."""
        found = self.evaluate(node)
        if not isinstance(found, Vector):
            raise PromqlError(f"expected a vector: {node}")
        return found

    def evaluate(self, node: Any) -> Vector | Scalar:
        """Evaluate an expression."""
        evaluate = getattr(self, f"_{kind(node)}", None)
        if evaluate is None:
            raise PromqlError(f"{kind(node)} is not supported: {node}")
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Vector | Scalar = evaluate(node)
        return found

    def _ParenExpr(self, node: Any) -> Vector | Scalar:  # noqa: N802  # named after the parser's classes
        return self.evaluate(node.expr)

    def _NumberLiteral(self, node: Any) -> Scalar:  # noqa: N802
        return np.full(self.grid.count, float(node.val))

    def _UnaryExpr(self, node: Any) -> Vector | Scalar:  # noqa: N802
        found = self.evaluate(node.expr)
        return Vector(found.labels, -found.values) if isinstance(found, Vector) else -found

    def _VectorSelector(self, node: Any) -> Vector:  # noqa: N802
        return self._joined((vector.labels, shifted(vector.values, steps)) for vector, steps in self._selected(node))

    def _selected(self, node: Any) -> list[tuple[Vector, int]]:
        """Return the series of a selector, and by how many evaluations their samples are late."""
        seconds = _seconds(node.offset)
        if node.at is not None or seconds < 0:
            raise PromqlError(f"modifier @ and negative offsets are not supported: {node}")
        steps = -int(-(seconds - EPSILON) // self.grid.step) if seconds else 0
        found = []
        for series, is_later in self._read(node.name):
            rows = [row for row, labels in enumerate(series.labels) if matches(node, labels)]
            vector = Vector([series.labels[row] for row in rows], series.values[rows])
            found.append((vector, min(max(steps, int(is_later)), self.grid.count)))
        return found

    def _joined(self, parts: Iterable[tuple[Sequence[Labels], np.ndarray]]) -> Vector:
        found = list(parts)
        labels = [each for part, _ in found for each in part]
        return merged(labels, np.concatenate([values for _, values in found])) if labels else empty(self.grid)

    def _AggregateExpr(self, node: Any) -> Vector:  # noqa: N802
        name = str(node.op)
        if name not in _AGGREGATIONS or (node.modifier and str(node.modifier.type).rpartition(".")[2] != "By"):
            raise PromqlError(f"this aggregation is not supported: {node}")
        of, names = self.vector(node.expr), list(node.modifier.labels) if node.modifier else []
        operation, neutral = _AGGREGATIONS[name]
        present = ~np.isnan(of.values)
        values = present.astype(float) if name == "count" else np.where(present, of.values, neutral)
        keys = _keys(of.labels, names)
        rows, found = grouped(keys, values, operation, neutral)
        _, some = grouped(keys, present, np.logical_or, neutral=False)
        return Vector([_without_empty(key, names) for key in rows], np.where(some, found, np.nan))

    def _BinaryExpr(self, node: Any) -> Vector | Scalar:  # noqa: N802
        operator, modifier = str(node.op), node.modifier
        matching = modifier.matching if modifier else None
        if matching is not None and str(matching.type).rpartition(".")[2] != "Include":
            raise PromqlError(f"ignoring is not supported: {node}")
        names = None if matching is None else list(matching.labels)
        left, right = self.evaluate(node.lhs), self.evaluate(node.rhs)
        as_bool = modifier is not None and modifier.return_bool
        if not isinstance(left, Vector) and not isinstance(right, Vector):
            return _combined(operator, left, right, left, as_bool=as_bool)
        if not isinstance(left, Vector) or not isinstance(right, Vector):
            one, other = (each.values if isinstance(each, Vector) else each[None, :] for each in (left, right))
            kept, labels = (one, left.labels) if isinstance(left, Vector) else (other, self.vector(node.rhs).labels)
            return Vector(labels, _combined(operator, one, other, kept, as_bool=as_bool))
        if operator in {"and", "or", "unless"}:
            return _set(operator, left, right, names)
        card = str(modifier.card).rpartition(".")[2] if modifier else "OneToOne"
        if card not in {"OneToOne", "ManyToOne"}:
            raise PromqlError(f"this matching is not supported: {node}")
        return _matched(operator, left, right, names, many=card == "ManyToOne", as_bool=as_bool)

    def _Call(self, node: Any) -> Vector | Scalar:  # noqa: N802, PLR0911  # a function each
        name, args = node.func.name, node.args
        if name == "rate":
            found = self._ranged(_increase, args[0])
            return Vector(found.labels, found.values / _seconds(args[0].range))
        if name in _RANGES:
            return self._ranged(_RANGES[name], args[0])
        if name == "time":
            return self.grid.times
        if name == "vector":
            return Vector([{}], self.evaluate(args[0])[None, :])  # type: ignore[index]
        if name == "timestamp" and kind(args[0]) == "VectorSelector":
            parts = self._selected(args[0])
            times = [np.where(np.isnan(vector.values), np.nan, self.grid.times) for vector, _ in parts]
            return self._joined(
                (vector.labels, shifted(each, steps)) for (vector, steps), each in zip(parts, times, strict=True)
            )
        of = self.vector(args[0])
        present = ~np.isnan(of.values)
        if name == "label_replace":
            texts = [each.val for each in args[1:]]
            return merged([_replaced(labels, *texts) for labels in of.labels], of.values)
        if name == "scalar":
            return np.where(present.sum(axis=0) == 1, np.where(present, of.values, 0.0).sum(axis=0), np.nan)
        functions: Mapping[str, Callable[[], Vector]] = {
            "abs": lambda: Vector(of.labels, np.abs(of.values)),
            "clamp_min": lambda: Vector(of.labels, np.maximum(of.values, self.evaluate(args[1])[None, :])),  # type: ignore[index]
            "timestamp": lambda: Vector(of.labels, np.where(present, self.grid.times, np.nan)),
        }
        if name not in functions:
            raise PromqlError(f"function {name} is not supported: {node}")
        return functions[name]()

    def _ranged(self, function: Callable[[np.ndarray, int], np.ndarray], node: Any) -> Vector:
        """Apply a function to the windows of a range or of a subquery."""
        if kind(node) == "SubqueryExpr":
            return self._subquery(function, node)
        size = self.grid.steps(_seconds(node.range)) + 1
        parts = []
        for vector, steps in self._selected(node.vector_selector):
            # Without offset, only the sample of this evaluation is missing: the window has one less.
            own = size - 1 if steps and not _seconds(node.vector_selector.offset) else size
            parts.append((vector.labels, function(shifted(vector.values, steps), own)))
        return self._joined(parts)

    def _subquery(self, function: Callable[[np.ndarray, int], np.ndarray], node: Any) -> Vector:
        """Evaluate at multiples of the subquery's step, where the last evaluation before is used."""
        if node.step is None or _seconds(node.offset) or node.at is not None:
            raise PromqlError(f"a subquery without step, or with a modifier, is not supported: {node}")
        of, step, grid = self.vector(node.expr), _seconds(node.step), self.grid
        size = int((_seconds(node.range) + EPSILON) // step) + 1
        place = ((grid.times + EPSILON) // step).astype(np.intp)
        asked = np.arange(place[0] - size + 1, place[-1] + 1) * step
        index = np.floor((asked - grid.start + EPSILON) / grid.step).astype(np.intp)
        if not selectors(node.expr):
            # A constant has a value before the first evaluation, too.
            index = np.maximum(index, 0)
        values = at_index(of.values, np.broadcast_to(index, (len(of.labels), len(index))))
        return Vector(of.labels, function(values, size)[:, place - place[0] + size - 1])


def _seconds(duration: timedelta | None) -> float:
    return 0.0 if duration is None else duration.total_seconds()


def _combined(operator: str, left: np.ndarray, right: np.ndarray, kept: np.ndarray, *, as_bool: bool) -> np.ndarray:
    if operator in _ARITHMETIC:
        return np.asarray(_ARITHMETIC[operator](left, right))
    if operator not in _COMPARISONS:
        raise PromqlError(f"operator {operator} is not supported")
    holds = _COMPARISONS[operator](left, right) & ~np.isnan(left) & ~np.isnan(right)
    if as_bool:
        return np.where(np.isnan(left) | np.isnan(right), np.nan, holds.astype(float))
    return np.where(holds, kept, np.nan)


def _set(operator: str, left: Vector, right: Vector, names: Sequence[str] | None) -> Vector:
    of, by = (right, left) if operator == "or" else (left, right)
    rows, some = grouped(_keys(by.labels, names), ~np.isnan(by.values), np.logical_or, neutral=False)
    there = np.zeros(of.values.shape, bool)
    for row, key in enumerate(_keys(of.labels, names)):
        if key in rows:
            there[row] = some[rows[key]]
    values = np.where(there if operator == "and" else ~there, of.values, np.nan)
    if operator == "or":
        return merged([*left.labels, *right.labels], np.concatenate([left.values, values]))
    return Vector(of.labels, values)


def _matched(
    operator: str, left: Vector, right: Vector, names: Sequence[str] | None, *, many: bool, as_bool: bool
) -> Vector:
    one = merged(right.labels, right.values, names)
    of = left if many else merged(left.labels, left.values, names)
    rows = {key: row for row, key in enumerate(_keys(one.labels, names))}
    pairs = [(row, rows[key]) for row, key in enumerate(_keys(of.labels, names)) if key in rows]
    lefts, rights = of.values[[pair[0] for pair in pairs]], one.values[[pair[1] for pair in pairs]]
    return Vector([of.labels[row] for row, _ in pairs], _combined(operator, lefts, rights, lefts, as_bool=as_bool))


def _replaced(labels: Labels, target: str, text: str, source: str, pattern: str) -> Labels:
    found = re.fullmatch(pattern, labels.get(source, ""))
    if found is None:
        return labels
    value = found.expand(re.sub(r"\$(\d+)", r"\\\1", text))
    return {**{name: each for name, each in labels.items() if name != target}, **({target: value} if value else {})}
