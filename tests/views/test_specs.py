"""The columns of tables: what each writes, and what identifies a row."""

import math
from typing import Any

import pytest

from kafka_warden.views import rows
from kafka_warden.views.specs import BY_NAME
from tests.support import status_rows
from tests.support.asking import views_of


def test_rows_have_keys_and_columns_differ() -> None:
    for name, spec in BY_NAME.items():
        assert len({column.field for column in spec.columns}) == len(spec.columns)
        for make in (status_rows.troubled, status_rows.blind, status_rows.quiet, status_rows.moving):
            rows = views_of(make()).tables[spec.name].rows
            assert len({str(spec.key_of(row)) for row in rows}) == len(rows), name


MOVE = rows.Move(
    topic="a_b",
    partition=1,
    broker=3,
    adding=True,
    leader=None,
    remaining_bytes=1.5e9,
    remaining_messages=5,
    progress=0.5,
    bytes_per_second=2e6,
    eta=90.0,
    never_ends=False,
    stalled=4.0,
    cause=None,
    sentence="why_",
    runbook=None,
)


@pytest.mark.parametrize(
    ("table", "row", "texts"),
    [
        (
            "moves",
            MOVE,
            "a_b-1|copying|1 min 30 s|3|50%|1.5 GB|2 MB/s|-|4 s|why_",
        ),
        (
            "throttles",
            rows.Throttle(3, "log_dirs", math.inf, "dynamic_broker", 1200.0, 1.0, 0.5, 2e6, None, 3e6, None, None),
            "3|log dirs|unlimited|2 MB/s|50%|3 MB/s|-|1,200|dynamic broker",
        ),
        (
            "replicas",
            rows.Replica("a", 0, 1, 2, "caught_up", 60.0, 4.0, 1200, 1e3, None),
            "a-0|caught up|1 min|1|4 s|1 kB|2|1,200|-",
        ),
        (
            "clients",
            rows.Client("", "a_b", 0.125, 2.5, 50.0, math.inf, 90.0),
            "any|a_b|0.125|1 min 30 s|50|2.5|unlimited",
        ),
        (
            "sources",
            rows.SourceRow("log_dirs", "", 1.0, None, 0.0121, 1.7e9, {"timed_out": 2}),
            "log dirs|any|answered|2 timed out|2023-11-14 22:13:20 UTC|12 ms",
        ),
        ("problems", rows.Problem("critical", "kind", "a_b", 90.0, "moves", None), "critical|1 min 30 s|a_b"),
    ],
)
def test_a_number_is_written_in_the_unit_of_its_metric(table: str, row: Any, texts: str) -> None:
    assert "|".join(column.text(row) for column in BY_NAME[table].columns) == texts
