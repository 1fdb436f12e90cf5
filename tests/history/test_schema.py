"""The tables and the model: every field is stored or left out on purpose, and changes need a new version."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings

from docs import history_schema
from kafka_warden.derive import Derived
from kafka_warden.derive.law import Window
from kafka_warden.history.column import HistoryColumn, HistoryTable, described_at, python_values
from kafka_warden.history.column_types import ListOf, MapOf, Struct, column_type_of, fields_of
from kafka_warden.history.schema import (
    BY_NAME,
    COMMON,
    TABLES,
    VERSION,
    build,
    columns_of,
    count,
    ddl,
)
from kafka_warden.model import Parameters, Snapshot, TopicConfig
from tests.history.anything import histories
from tests.history.replay import polls, scene_polls


def leaves(owner: Any, prefix: str) -> list[str]:
    """Every path below a dataclass or named tuple, also in entries of mappings and of others that have them."""
    found: list[str] = []
    for name, field in fields_of(owner).items():
        *_, entry = (None, *(each for each in get_args(field.type) if each is not ...))
        if has_fields(field.type):
            found += leaves(field.type, f"{prefix}{name}.")
        elif has_fields(entry):
            found += leaves(entry, f"{prefix}{name}[].")
        else:
            found.append(f"{prefix}{name}")
    return found


def has_fields(type_: Any) -> bool:
    return is_dataclass(type_) or hasattr(type_, "_fields")


def stored(path: str, type_: Any) -> list[str]:
    """The paths that a column at a path holds: of structures of the model only the described fields."""
    entry = type_.item if isinstance(type_, ListOf) else type_.value if isinstance(type_, MapOf) else type_
    if not isinstance(entry, Struct) or entry.make.__module__.startswith("kafka_warden.history"):
        return [path]
    below = path if entry is type_ else f"{path.removesuffix('[]')}[]"
    return [place for name, field in entry.fields for place in stored(f"{below}.{name}", field)]


def paths(column: HistoryColumn) -> list[str]:
    return [path for source in column.sources for path in stored(source, column.type)]


PLACES = (*leaves(Snapshot, "snapshot."), *leaves(Derived, "derived."))
HELD = {
    path
    for table in TABLES
    for path in (*table.sources, *(held for column in columns_of(table) for held in paths(column)))
}

LEFT_OUT = {
    "snapshot.partitions.leader_row": "computed from `partitions.leader` and `replicas.position`",
    "snapshot.partitions.topic": "a row number: `partitions` has the topic",
    "snapshot.replicas.partition": "a row number: `replicas` has topic and partition",
    "snapshot.broker_beans[].left_out": "`kafka_warden_dropped_series` counts it",
    "snapshot.broker_beans[].every": "it says only how long the beans are shown",
    "snapshot.controller_beans[].left_out": "`kafka_warden_dropped_series` counts it",
    "snapshot.controller_beans[].every": "it says only how long the beans are shown",
    **dict.fromkeys(
        (
            "snapshot.not_available",
            "snapshot.ever_answered",
            "snapshot.cluster_reachable",
            "snapshot.controller_reachable",
            "snapshot.fenced_responding",
            "snapshot.throttle_seconds",
            "snapshot.undescribed_topics",
            "snapshot.jmx_source",
            "snapshot.jmx_child_starts",
        ),
        "nothing is computed from it: it is for `/metrics` and the state file",
    ),
    "derived.cluster.hidden": "the rows whose `partitions.leader` is -2",
    "derived.cluster.min_isr_unknown": "the partitions of topics without a row in `configs`",
    "derived.candidates": "computed from `partitions.leader`, `replicas.in_isr` and `replicas.eligible`",
    "derived.indexed": "computed from the snapshot alone",
    "derived.lag.estimate": "state of a fold, which a replay computes again",
    "derived.throttles.limits": "equal to `configs.broker_config.limits`",
    "derived.throttles.lists": "parsed from `configs.topic_config`",
    "derived.throttles.lists_known_by_topic": "topics with `configs.topic_config`",
    "derived.throttles.held": "computed from `replicas.leader_listed` and `replicas.follower_listed`",
    "derived.throttles.last_held": "the same by the last known lists, which a replay has in its memory",
    "derived.throttles.lasting": "the headroom at mean inbound rates, which a replay computes again",
    "derived.moves[].row": "a row number: `moves` has topic, partition and broker",
    "derived.moves[].lasting": "computed from the column `stuck` of `moves` in this and earlier polls",
}
"""Paths in a poll that no column holds, and why."""

FINGERPRINTS = {
    1: "19457b5b6e6700f3",
    2: "687b9884b41a9291",
    3: "5454af53ce401569",
    4: "1c7f6acbfcb0e183",
    5: "bbca392acd32dfad",
}
"""Version of the tables to their fingerprint."""

tables = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def holds(source: str, place: str) -> bool:
    return place == source or place.startswith((f"{source}.", f"{source}[]."))


def undecided(places: Iterable[str]) -> list[str]:
    return [
        place for place in places if not any(holds(source.removesuffix("[]"), place) for source in HELD | {*LEFT_OUT})
    ]


def test_every_field_of_a_poll_is_stored_or_left_out() -> None:
    assert undecided(PLACES) == []
    assert all(LEFT_OUT.values())


def test_a_new_field_is_noticed() -> None:
    """The test above fails for a new field at any level."""

    @dataclass(frozen=True)
    class Grown(Snapshot):
        news: int = 0

    assert undecided(leaves(Grown, "snapshot.")) == ["snapshot.news"]
    assert undecided(["snapshot.topic_configs[].news"]) == ["snapshot.topic_configs[].news"]
    assert undecided(("snapshot.replicas.news",)) == ["snapshot.replicas.news"]
    assert undecided(("derived.lag.sum_bytes.news",)) == ["derived.lag.sum_bytes.news"]


def test_named_paths_exist() -> None:
    for source in HELD | {*LEFT_OUT}:
        described_at(source)


def fingerprint() -> str:
    text = "\n".join(f"{table.name} ({', '.join(table.key)}): {ddl(table)}" for table in TABLES)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_version_grows_with_the_tables() -> None:
    assert max(FINGERPRINTS) == VERSION
    assert FINGERPRINTS[VERSION] == fingerprint(), "set VERSION to the next one, and add its fingerprint"
    assert len(set(FINGERPRINTS.values())) == len(FINGERPRINTS)


@tables
def test_columns_are_well_formed(table: HistoryTable) -> None:
    columns = columns_of(table)
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z_]*", name) for name in names)
    assert {*table.key} == {column.name for column in table.columns if column.name in table.key}
    assert all(column.help and not column.help.endswith(".") for column in columns)
    for column in columns:
        words = set(re.findall(r"[a-z]+(?=[,>]|$)", re.sub(r"\w+:", "", str(column.type))))
        assert words <= {"boolean", "int", "bigint", "double", "string"}, column.type
    assert ddl(table).startswith("`schema_version` int, `cluster_id` string, ")


def test_values_by_topic_are_in_the_rows_of_topics() -> None:
    """A value that is unknown is null, and so are all in rows of brokers and of topics that metadata does not list."""
    poll = scene_polls()[-1]
    configs = {"payments": TopicConfig(min_insync_replicas=3), "gone": TopicConfig()}
    (poll,) = polls([replace(poll.snapshot, topic_configs=configs)])
    columns = {name: python_values(values) for name, values in build(BY_NAME["configs"], poll).columns.items()}
    names = ("offline_partitions", "under_min_isr_partitions", "log_bytes", "messages_in", "isr_shrinks")
    found = dict(zip(columns["topic"], zip(*(columns[name] for name in names), strict=True), strict=True))
    assert found["payments"] == (0, 1, 27_020_000.0, None, 0)
    assert found["quiet"] == (1, None, 200_000.0, None, 0)
    assert found["gone"] == found[None] == (None,) * len(names)


def test_types_without_a_column_type_are_refused() -> None:
    assert str(column_type_of(Window)) == "struct<samples:bigint,size:double>"
    with pytest.raises(TypeError, match="add one in exporter/kafka_warden/history"):
        column_type_of(complex)


def test_schema_document_has_every_column() -> None:
    found = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", history_schema.render(), re.MULTILINE | re.DOTALL)
    cells = {title: re.findall(r"^\|(`.*?)\|", text, re.MULTILINE) for title, text in found}
    named = {title: [name.strip("`") for cell in each for name in cell.split(", ")] for title, each in cells.items()}
    assert named["Every table"] == [column.name for column in COMMON]
    assert named["Keys"] == ["topic", "topic_id", "partition", "broker"], named["Keys"]
    for table in TABLES:
        own, names = named[f"`{table.name}`"], {column.name for column in table.columns}
        assert len(own) == len(set(own))
        assert set(own) <= names <= {*own, *named["Keys"]}


@settings(max_examples=60)
@given(histories())
def test_rows_fit_their_columns_and_are_counted_without_making_them(history: list[Snapshot]) -> None:
    for poll in polls(history, Parameters()):
        made = [build(table, poll) for table in TABLES]
        assert [table.count(poll) for table in TABLES] == [each.rows for each in made]
        assert count(poll) == sum(each.rows for each in made)
        assert all(len(values) == each.rows for each in made for values in each.columns.values())
