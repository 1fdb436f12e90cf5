"""`top` without an exporter: it polls by itself, and shows what `run` would serve."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from kafka_warden.api_client import read
from kafka_warden.config import load
from kafka_warden.top import command
from kafka_warden.web.rows import RowSite
from tests.building import known
from tests.support.asking import differences_from, shown_of, views_of
from tests.support.row_values import differences, rows_of
from tests.support.scripted import ScriptedCluster


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
