"""The tables follow the model: nothing in a poll is without a decision, nothing changes without a new version."""

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from docs import history_schema
from kafka_warden.derive import Derived
from kafka_warden.formulas.law import Window
from kafka_warden.history.column import Role, Table, annotation_at, leaves
from kafka_warden.history.column_types import column_type_of
from kafka_warden.history.notes import NOTES
from kafka_warden.history.schema import (
    BY_NAME,
    COMMON,
    FINGERPRINTS,
    LEFT_OUT,
    TABLES,
    VERSION,
    build,
    columns_of,
    count,
    ddl,
    fingerprint,
)
from kafka_warden.model import Parameters, Snapshot
from tests.history.anything import histories
from tests.history.replay import polls, scene_polls

ROOT = Path(__file__).parents[2]
PLACES = (*leaves(Snapshot, "snapshot."), *leaves(Derived, "derived."))
HELD = {source for table in TABLES for column in columns_of(table) for source in column.sources}

tables = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def holds(source: str, place: str) -> bool:
    """Whether a place is this one or a part of it."""
    return place == source or place.startswith((f"{source}.", f"{source}[]."))


def undecided(places: tuple[str, ...]) -> list[str]:
    """Places that no column holds and that nobody left out."""
    return [
        place for place in places if not any(holds(source.removesuffix("[]"), place) for source in HELD | {*LEFT_OUT})
    ]


def test_nothing_in_a_poll_is_forgotten() -> None:
    """Every place of a snapshot and of a judgement is in a column, or left out with a reason."""
    assert undecided(PLACES) == []
    assert all(LEFT_OUT.values())


def test_a_new_field_would_be_noticed() -> None:
    """The test above fails for a field that nobody decided about, wherever it stands."""

    @dataclass(frozen=True)
    class Grown(Snapshot):
        news: int = 0

    assert undecided(leaves(Grown, "snapshot.")) == ["snapshot.news"]
    assert undecided(("snapshot.replicas.news",)) == ["snapshot.replicas.news"]
    assert undecided(("derived.lag.sum_bytes.news",)) == ["derived.lag.sum_bytes.news"]


def test_what_is_named_exists() -> None:
    """Every place that a column or a reason names is there."""
    for source in HELD | {*LEFT_OUT}:
        annotation_at(source)
        assert any(holds(source.removesuffix("[]"), place) for place in PLACES), source


def test_every_part_of_a_structure_is_described() -> None:
    """A field that is added to a class of the model that goes into a column needs a unit and a meaning."""
    parts = {f"{each.make.__name__}.{name}" for each in history_schema.structures() for name, _ in each.fields}
    assert parts - NOTES.keys() == set()
    assert NOTES.keys() - parts == set()
    for each in history_schema.structures():
        assert [name for name, _ in each.fields] == [field.name for field in fields(each.make)]


def test_version_grows_with_the_tables() -> None:
    """The columns are those that this version has: when they change, VERSION and FINGERPRINTS change with them."""
    assert max(FINGERPRINTS) == VERSION
    assert FINGERPRINTS[VERSION] == fingerprint(), "set VERSION to the next one, and add its fingerprint"
    assert len(set(FINGERPRINTS.values())) == len(FINGERPRINTS)


def test_the_design_has_its_tables() -> None:
    """The six of the design are there, in its words."""
    assert {"partitions", "replicas", "brokers", "moves", "quotas", "configs"} <= BY_NAME.keys()


@tables
def test_columns_are_well_formed(table: Table[Any]) -> None:
    """Names are told once and spelled alike, keys exist, everything is described, types are Spark's."""
    columns = columns_of(table)
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z_]*", name) for name in names)
    assert {*table.key} == {column.name for column in table.columns if column.role is Role.KEY}
    assert all(column.help and not column.help.endswith(".") for column in columns)
    for column in columns:
        words = set(re.findall(r"[a-z]+(?=[,>]|$)", re.sub(r"\w+:", "", str(column.type))))
        assert words <= {"boolean", "int", "bigint", "double", "string"}, column.type
    assert ddl(table).startswith("`schema_version` int, `cluster_id` string, ")


@tables
def test_rows_fit_their_columns(table: Table[Any]) -> None:
    """Every column of the scene has a value a row, no key twice, and the rows are counted without being made."""
    for poll in scene_polls():
        built = build(table, poll)
        assert {len(values) for values in built.columns.values()} == {built.rows}
    poll = scene_polls()[-1]
    assert count(poll) == sum(build(each, poll).rows for each in TABLES)


def test_types_without_a_decision_are_refused() -> None:
    """A type that the model did not have so far is an error that says where to go."""
    assert str(column_type_of(Window)) == "struct<samples:bigint,size:double>"
    with pytest.raises(TypeError, match="add one in exporter/kafka_warden/history"):
        column_type_of(complex)


def test_schema_document_is_current() -> None:
    """docs/history-schema.md is what `make docs` makes of the tables as they stand."""
    assert (ROOT / "docs" / "history-schema.md").read_text() == history_schema.render(), "run make docs"


def test_schema_document_has_every_column() -> None:
    """Each column stands in its table's section, those of every table in the first one."""
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", history_schema.render(), re.MULTILINE | re.DOTALL))
    assert [c.name for c in COMMON] == re.findall(r"^\| `(\w+)`", sections["Every table"], re.MULTILINE)
    for table in TABLES:
        named = re.findall(r"^\| `(\w+)`", sections[f"`{table.name}`"], re.MULTILINE)
        assert named == [column.name for column in table.columns]


@settings(max_examples=60)
@given(histories())
def test_rows_are_counted_as_they_would_be_made(history: list[Snapshot]) -> None:
    """However a table counts them, for any mixture of the known and the unknown."""
    for poll in polls(history, Parameters()):
        assert [table.count(poll) for table in TABLES] == [len(table.rows(poll)) for table in TABLES]
