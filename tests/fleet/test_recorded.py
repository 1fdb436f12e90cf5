"""The recording `fleet/recorded`: readable, evaluated again alike, like its truth, without machine names.

Where its verdicts differ as a formula was changed on purpose, record it again: docs/fleet.md says how.
"""

import itertools
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import fleet
from kafka_warden.history.parquet.reader import polls, read
from kafka_warden.history.schema import TABLES
from sandbox.record import NEUTRAL
from tests.history.replay import differences, in_order_of, replay, rows, written

RECORDED = Path(fleet.__file__).parent / "recorded"
HISTORY = RECORDED / "history"
MOST_BYTES = 500_000
POLL_SECONDS = 2.0
RESTART_SECONDS = 10.0
PATHS = re.compile(r"(?<![\w/])/[\w.-]+/[\w./-]+")
HOSTS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")


@cache
def kept(table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read(HISTORY, table).to_pylist()
    return sorted(found, key=lambda row: row["time"])


def truth(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDED / "truth" / f"{name}.json").read_text().splitlines()]


def younger() -> set[tuple[str, str]]:
    """Tables and columns that came after the recording, so that it has them as null."""
    found = set()
    for table in TABLES:
        for file in HISTORY.glob(f"{table.name}/*/*/*.parquet"):
            had = set(pq.read_schema(file).names)
            found |= {(table.name, column) for column in read(HISTORY, table.name).column_names if column not in had}
    return found


def test_it_is_small_and_names_no_machine() -> None:
    files = [file for file in RECORDED.rglob("*") if file.is_file()]
    text = " ".join(str(read(HISTORY, table.name).to_pylist()) for table in TABLES)

    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    assert PATHS.findall(text)
    assert all(path.startswith(f"{NEUTRAL}/kafka-warden-sandbox-") for path in PATHS.findall(text))
    assert set(HOSTS.findall(text)) == {"127.0.0.1"}


def test_polls_judged_again_give_the_same() -> None:
    before = [written(tables) for tables in polls(HISTORY)]
    after = [rows(poll) for poll in replay(before)]
    since = younger()

    assert len({tables["polls"]["run"][0] for tables in before}) == 2
    for was, now in zip(before, after, strict=True):
        changed = differences(was, in_order_of(was, now), but=("schema_version",))
        assert [each for each in changed if each not in since] == []


def test_no_poll_was_late() -> None:
    found = kept("polls")
    times = [row["time"] for row in found]
    gaps = sorted(later - earlier for earlier, later in itertools.pairwise(times))

    assert [row["remembered"] for row in found if row["sequence"] == 0] == ["nothing", "restored"]
    assert gaps[-1] <= RESTART_SECONDS
    assert gaps[-2] <= 2 * POLL_SECONDS
    assert all(row["reassignments_known"] and row["lists_known"] for row in found)
