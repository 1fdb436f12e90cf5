"""What `top` shows is what `/api/v1` and `/metrics` have of the same poll, and nothing else."""

import asyncio
import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from kafka_warden.api_client import Answer, read
from kafka_warden.config import load
from kafka_warden.errors import NoAnswerError
from kafka_warden.exposition import Page
from kafka_warden.top import command
from kafka_warden.top.output import cell
from kafka_warden.views import rows
from kafka_warden.views.specs import BY_NAME
from kafka_warden.web.rows import RowSite
from tests.building import known
from tests.support import status_rows
from tests.support.asking import differences_from, getter, shown_of, views_of
from tests.support.row_values import differences, rows_of
from tests.support.scripted import ScriptedCluster

PAGES = (status_rows.troubled, status_rows.blind, status_rows.quiet, status_rows.moving)

each_page = pytest.mark.parametrize("make", PAGES, ids=lambda each: each.__name__)


@each_page
def test_all_that_is_shown_is_what_the_page_has(make: Callable[[], Page]) -> None:
    """In every kind of trouble, without a fresh snapshot, in a healthy cluster, and with 3,000 moves."""
    assert differences_from(shown_of(getter(make)), views_of(make())) == []


@pytest.fixture
def config(brokers: ScriptedCluster, tmp_path: Path) -> Path:
    brokers.controller()
    move = {"moves": {0: {"adding": [3], "removing": [2]}}, "isr": [[1, 2]]}
    brokers.topic("orders", [[1, 2, 3]], end=100_000, rate=100.0, lag={3: 50_000}, **move)
    brokers.topic("hidden", [[1, 2, 3]], end=100_000, rate=100.0, lag={3: 50_000}, **move)
    brokers.topic("late", [[2, 1]], isr=[[2]], end=1000, rate=10.0, lag={1: 400})
    brokers.brokers({"id": 1, "config": {"leader.replication.throttled.rate": "1000000"}})
    path = tmp_path / "warden.yml"
    settings = {
        "kafka": {"bootstrap.servers": brokers.bootstrap},
        "topics": {"deny": ["hidden"], "uncounted": ["late"]},
    }
    path.write_text(
        yaml.safe_dump({**settings, "poll": {"interval": "1s"}, "state": {"path": str(tmp_path / "state")}})
    )
    return path


def test_own_polls_show_what_run_would_serve(
    config: Path, logging_as_before: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are those of its own `/metrics`, without the topics of `topics.deny`, and no state file is written."""
    made = Mock(wraps=RowSite)
    monkeypatch.setattr(command, "RowSite", made)
    with command.own_polls(load({}, {}, config), once=True) as get:
        shown = shown_of(get)
        page = known(made.call_args.args[0].page)

    assert differences_from(shown, views_of(page)) == []
    assert differences(views_of(page), page.text)[0] == []
    assert known(shown.cluster).reassigning_partitions == 2  # totals have denied topics, too, as in /metrics
    assert [row.topic for row in shown.tables["moves"].rows] == ["orders"]
    assert shown.tables["moves"].rows[0].remaining_bytes > 0
    assert {row.topic for row in rows_of(views_of(page)) if hasattr(row, "topic")} == {"orders", "late"}
    assert b'kafka_warden_uncounted_partitions{state="offline"} 0' in page.text
    assert sorted(file.name for file in config.parent.iterdir()) == ["warden.yml"]


def test_own_polls_go_on(config: Path, logging_as_before: None) -> None:
    """The timer of `run` polls, until the block ends."""
    with command.own_polls(load({}, {}, config), once=False) as get:

        async def times() -> None:
            seen: set[float | None] = set()
            while len(seen - {None}) < 3:
                seen.add((await read(get, {})).time)
                await asyncio.sleep(0.1)

        asyncio.run(asyncio.wait_for(times(), 60))


def test_two_polls_are_never_mixed() -> None:
    pages = status_rows.troubled(), status_rows.moving(40)
    for first in range(1, 20):
        turn = itertools.chain([pages[0]] * first, itertools.repeat(pages[1]))
        shown = shown_of(getter(lambda turn=turn: next(turn)))  # type: ignore[misc]  # bound in this round
        assert min(len(differences_from(shown, views_of(page))) for page in pages) == 0


def test_data_that_becomes_too_old_meanwhile_is_not_mixed() -> None:
    turn = itertools.chain([status_rows.troubled()] * 3, itertools.repeat(status_rows.blind()))
    shown = shown_of(getter(lambda: next(turn)))

    assert differences_from(shown, views_of(status_rows.blind())) == []


def test_polls_that_are_too_fast_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_warden.api_client.PAUSE", 0.0)
    # A sidecar answers with what it made from the page before, for a second: then all may be of one poll.
    monkeypatch.setattr("kafka_warden.web.rows.FRESH_SECONDS", 0.0)
    pages: Iterator[Page] = itertools.cycle([status_rows.troubled(), status_rows.moving(40)])
    with pytest.raises(NoAnswerError, match="a new poll ended"):
        shown_of(getter(lambda: next(pages)))


@pytest.mark.parametrize(
    ("change", "about"),
    [
        (lambda _: b"<html>", "JSON"),
        (lambda _: b"[]", "the whole"),
        (lambda whole: whole.update(data=[]), "ExporterRow"),
        (lambda whole: whole.update(time="now"), "time"),
        (lambda whole: whole.update(time=10**310), "JSON"),
        (lambda whole: whole.update(fresh=1), "time"),
        (lambda whole: whole["data"].update(version=7), "version"),
        (lambda whole: whole["data"].update(poll_interval="soon"), "poll_interval"),
        (lambda whole: whole["data"].update(poll_interval=[]), "poll_interval"),
        (lambda whole: whole["data"].update(history={"kafka": "yes"}), "history"),
        (lambda whole: whole["data"].update(dropped_series=[]), "dropped_series"),
    ],
)
def test_garbage_is_no_sidecar(change: Callable[[Any], bytes | None], about: str) -> None:
    document = json.loads(asyncio.run(getter(status_rows.troubled)("exporter")).body)
    body = change(document) or json.dumps(document).encode()

    async def get(path: str) -> Answer:
        return Answer(200, body, 0.0)

    with pytest.raises(NoAnswerError, match=f"{about}: is this the address of an exporter"):
        asyncio.run(read(get, {}))


def test_fields_that_a_version_lacks_are_unknown() -> None:
    async def get(path: str) -> Answer:
        answer = await getter(status_rows.troubled)(path)
        document = json.loads(answer.body)
        for row in document["data"] if isinstance(document["data"], list) else [document["data"]]:
            row.pop("remaining_bytes", None)
            row.pop("out_of_sync", None)
            row["colour"] = "red"
        return Answer(answer.status, json.dumps(document).encode(), answer.clock)

    shown = shown_of(get)

    assert [row.remaining_bytes for row in shown.tables["moves"].rows] == [None, None]
    assert known(shown.cluster).out_of_sync == {}
    assert shown.tables["moves"].rows[0].topic == "orders"


def test_rows_have_keys_and_columns_differ() -> None:
    for name, spec in BY_NAME.items():
        assert len({column.field for column in spec.columns}) == len(spec.columns)
        for make in PAGES:
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


def test_a_name_is_cut_in_the_middle() -> None:
    row = replace(MOVE, topic="n" * 249, partition=12345, sentence="s" * 300)
    columns = BY_NAME["moves"].columns
    assert cell(columns[0], row, 60) == "n" * 13 + "…-12345"
    assert cell(columns[0], row, 1) == "nnnnn…-12345"
    assert cell(columns[-1], row, 60) == "s" * 300
