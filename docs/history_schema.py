"""Generates docs/history-schema.md from the tables of history: `make docs`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from docs.column_tables import table
from kafka_warden.history.column import HistoryColumn, HistoryTable
from kafka_warden.history.column_types import ColumnType, ListOf, MapOf, Scalar, Struct, fields_of
from kafka_warden.history.schema import COMMON, TABLES, VERSION

SEVERAL: Final = 2
"""Tables from which on a key is described once, for all of them."""

INTRODUCTION: Final = f"""\
# Tables of the history

Every column of the [history](history.md), version {VERSION}.

- **Unknown is null, unlimited is infinite, a known zero is 0.** NaN is never written. A sum is null while a part is
  unknown. Types are Spark SQL's. A column without a meaning is what its name says.
- *Monotonic s* are comparable within one `run` only.
- The exporter computes *derived* values from the others.
- Rows with equal `cluster_id`, `run`, `sequence` and key are duplicates.
- A reader refuses newer versions.
"""


def render() -> str:
    """Render the whole document."""
    shared = _shared()
    parts = [INTRODUCTION, "## Every table\n", _columns(COMMON)]
    parts += ["## Keys\n", "Columns of several tables, not repeated below.\n", _columns(shared.values())]
    for each in TABLES:
        own = [column for column in each.columns if not _repeats(column, shared)]
        own.sort(key=lambda column: column.derived)
        parts += [f"## `{each.name}`\n", f"{each.about}{_key(each)}{_derived(own)}\n", _columns(own)]
    fields = table((f"{of}.{name}", type_, unit, text) for of, name, type_, unit, text in _fields())
    return "\n".join([*parts, "## Structures\n", "Types above that are not Spark SQL's.\n", fields])


def _shared() -> dict[str, HistoryColumn]:
    """Keys of several tables with one description, the first one, by name."""
    keys = [column for each in TABLES for column in each.columns if column.name in each.key]
    first = {column.name: column for column in reversed(keys)}
    times = Counter(column.name for column in keys if _repeats(column, first))
    return {each.name: first[each.name] for each in keys if times[each.name] >= SEVERAL}


def _repeats(column: HistoryColumn, shared: Mapping[str, HistoryColumn]) -> bool:
    first = shared.get(column.name)
    return first is not None and first.type == column.type and first.help.startswith(column.help)


def _key(of: HistoryTable) -> str:
    return f" Key: {', '.join(f'`{name}`' for name in of.key)}." if of.key else ""


def _derived(columns: Iterable[HistoryColumn]) -> str:
    first = next((column.name for column in columns if column.derived), None)
    return f" Derived from `{first}` on." if first else ""


def _columns(columns: Iterable[HistoryColumn]) -> str:
    return table((each.name, _type(each.type), each.unit, _more(each.name, each.help)) for each in columns)


def _more(name: str, text: str) -> str:
    """What a description says that the name does not."""
    return "" if text.lower() == name.replace("_", " ") else text


def _type(type_: ColumnType) -> str:
    if isinstance(type_, Struct):
        return str(type_.make.__name__)
    if isinstance(type_, ListOf):
        return f"array<{_type(type_.item)}>"
    if isinstance(type_, MapOf):
        return f"map<string,{_type(type_.value)}>"
    return str(type_)


def _fields() -> Iterator[tuple[str, str, str, str, str]]:
    for found in structures():
        fields = fields_of(found.make)
        for name, type_ in found.fields:
            yield found.make.__name__, name, _type(type_), fields[name].unit, _more(name, fields[name].text)


def structures() -> list[Struct]:
    """List every structure that is part of a column, by name."""
    found: dict[str, Struct] = {}
    for each in TABLES:
        for column in each.columns:
            _gather(column.type, found)
    return [found[name] for name in sorted(found)]


def _gather(type_: ColumnType, found: dict[str, Struct]) -> None:
    if isinstance(type_, Scalar):
        return
    if isinstance(type_, Struct):
        found[type_.make.__name__] = type_
        for _, part in type_.fields:
            _gather(part, found)
    else:
        _gather(type_.item if isinstance(type_, ListOf) else type_.value, found)
