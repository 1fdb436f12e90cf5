"""The command for scripts: text, JSON, exit codes, pipes, and without Textual."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_warden import cli
from kafka_warden.exposition import Page
from kafka_warden.model import Broker, BrokerConfig, Limit, Origin, Parameters, Side, Snapshot
from kafka_warden.top import command
from kafka_warden.top.output import cell
from kafka_warden.views.plain import plain
from kafka_warden.views.specs import BY_NAME
from tests.building import Partition, snapshot
from tests.support import status_rows
from tests.support.asking import views_of
from tests.web.conftest import Served

COMMAND = [sys.executable, "-m", "kafka_warden.cli", "top"]
Top = Callable[..., str]


@pytest.fixture
def top(serve: Callable[..., Served], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Top:
    # A sidecar answers with what it made from the page before, for a second.
    monkeypatch.setattr("kafka_warden.web.rows.FRESH_SECONDS", 0.0)
    served = serve()

    def run(page: Page, *arguments: str, code: int = 0) -> str:
        served.holder.page = page
        assert cli.main(["top", "--url", f"http://127.0.0.1:{served.port}", *arguments]) == code
        return capsys.readouterr().out

    return run


def _json(top: Top, page: Page, *arguments: str, code: int = 0) -> Any:
    return json.loads(top(page, "--json", *arguments, code=code))


def _count(severity: str) -> int:
    return sum(row.severity == severity for row in views_of(status_rows.troubled()).tables["problems"].rows)


def test_the_tables_are_printed_once(top: Top) -> None:
    text = top(status_rows.troubled())
    lines = text.splitlines()

    counts = f"■ {_count('critical')} critical · ▲ {_count('warning')} warnings · ○ {_count('info')} info"
    assert lines[0] == f"kafka-warden · cluster orders-prod · {counts}"
    assert "Moves: 2" in lines
    assert re.sub(" +", " ", lines[lines.index("Moves: 2") + 2]) == (
        "▲ orders-1 stuck never 3 0% 271 MB 0 B/s 2 1 min 30 s Producers write more than the throttle lets through."
    )
    assert "\x1b" not in text
    assert text == top(status_rows.troubled(), "--once")
    assert top(status_rows.troubled(), "--table", "problems", "--rows", "1").splitlines()[0] == lines[0]
    quiet = top(status_rows.quiet())
    assert "Moves" not in quiet
    assert top(status_rows.quiet(), "--table", "moves").splitlines()[-2:] == [
        "Moves: 0",
        "No reassignment is in progress, or none is known.",
    ]


def test_the_document_has_the_rows_of_the_api(top: Top) -> None:
    page = status_rows.moving()
    found, views = _json(top, page), views_of(page)

    for name, table in found["tables"].items():
        expected = views.tables[name]
        assert (table["data"], table["total"]) == (plain(expected.rows), expected.total), name
    assert (found["cluster"], found["exporter"]) == (plain(views.cluster), plain(views.sidecar))
    assert (found["version"], found["fresh"], found["time"]) == (1, True, views.time)
    assert len(found["tables"]["moves"]["data"]) == 3000
    assert list(_json(top, page, "--table", "moves")["tables"]) == ["moves"]


def test_rows_are_chosen_and_ordered(top: Top) -> None:
    page = status_rows.moving()
    moves = views_of(page).tables["moves"].rows

    def data(*arguments: str) -> tuple[list[Any], int]:
        found = _json(top, page, "--table", "moves", *arguments)["tables"]["moves"]
        return found["data"], found["total"]

    rows, total = data("--sort", "progress", "--rows", "3")
    assert [row["progress"] for row in rows] == sorted((row.progress or 0.0 for row in moves), reverse=True)[:3]
    assert total == 3000
    rows, _ = data("--sort", "progress", "--rows", "3", "--reverse")
    assert [row["progress"] for row in rows] == sorted(row.progress for row in moves if row.progress is not None)[:3]
    rows, total = data("--filter", "PAYMENTS broker=5", "--rows", "2")
    expected = [row for row in moves if row.topic == "payments.settled.v2" and row.broker == 5]
    assert [row["partition"] for row in rows] == [row.partition for row in expected[:2]]
    assert total == len(expected)
    assert data("--filter", "broker=99") == ([], 0)
    assert "  and 2,997 more" in top(page, "--rows", "3")


def test_a_name_is_cut_in_the_middle() -> None:
    (move, *_), columns = views_of(status_rows.moving()).tables["moves"].rows, BY_NAME["moves"].columns
    row = replace(move, topic="n" * 249, partition=12345, sentence="s" * 300)
    assert cell(columns[0], row, 60) == "n" * 13 + "…-12345"
    assert cell(columns[0], row, 1) == "nnnnn…-12345"
    assert cell(columns[-1], row, 60) == "s" * 300


def test_throttles_in_use_are_counted_and_shown(top: Top) -> None:
    """Also that of the last of many brokers. Sides that limit, copy and list nothing are no rows."""
    unlimited = {side: Limit(math.inf, Origin.UNSET) for side in (Side.LEADER, Side.FOLLOWER)}

    def poll(clock: float) -> Snapshot:
        move = Partition(replicas=(1, 60), adding=(60,), end=1_000_000, lag={60: 900_000 - int(clock) * 10_000})
        brokers = {each: Broker(each, f"broker-{each}.example", 9092) for each in range(1, 61)}
        configs = dict.fromkeys(brokers, BrokerConfig(limits=unlimited))
        return snapshot({"t": [move]}, clock=clock, brokers=brokers, broker_configs=configs)

    page = status_rows.page(poll, Parameters(poll_interval=10.0))
    whole = top(page)
    lines = whole[whole.index("Throttles: ") :].splitlines()[:4]
    assert lines[0] == "Throttles: 2"
    assert [line.split()[:3] for line in lines[2:]] == [["1", "leader", "unlimited"], ["60", "follower", "unlimited"]]
    table = top(page, "--table", "throttles")
    assert table.splitlines()[-4:] == lines


def test_without_fresh_data(top: Top, capsys: pytest.CaptureFixture[str]) -> None:
    text = top(status_rows.blind(), code=command.NO_DATA)
    assert text.splitlines()[1].startswith("No fresh data. Last data of 2023-11-14 22:14:50 UTC")
    topics = top(status_rows.blind(), "--table", "topics", code=command.NO_DATA)
    assert topics.splitlines()[-2:] == ["Topics at risk", "No fresh data."]
    jmx = top(status_rows.blind(), "--table", "sources", "--filter", "nothing", code=command.NO_DATA)
    assert jmx.splitlines()[-1] == "No row matches."
    assert "jmx" in text
    assert _json(top, status_rows.blind(), code=command.NO_DATA)["cluster"] is None
    assert cli.main(["top", "--url", "http://127.0.0.1:1", "--json"]) == cli.INCOMPLETE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "kafka-warden: http://127.0.0.1:1: nothing listens there: connection refused\n"


def _run(script: str, port: int, **environment: str) -> subprocess.CompletedProcess[str]:
    # Without a buffer, Python drops what a closed pipe did not take, and reports no error.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    line = script.replace("TOP", " ".join([*COMMAND, "--url", f"http://127.0.0.1:{port}"]))
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        text=True,
        check=False,
        env={**kept, **environment},
        timeout=300,
    )


def test_a_reader_that_has_enough_is_no_failure(serve: Callable[..., Served]) -> None:
    """`head` closes the pipe; nothing is written to stderr."""
    served = serve()
    served.holder.page = status_rows.moving()
    done = _run("TOP --once --rows 3000 | head -1", served.port)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "kafka-warden · cluster cluster · ▲ 3 warnings · ○ 1 info\n"
    assert _run("TOP --json | head -1", served.port).stderr == ""


def test_a_terminal_without_the_characters(serve: Callable[..., Served]) -> None:
    served = serve()
    served.holder.page = status_rows.troubled()
    done = _run("TOP", served.port, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")
    assert f"? {_count('critical')} critical" in done.stdout


def test_scripts_need_no_textual(
    serve: Callable[..., Served], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = serve()
    served.holder.page = status_rows.troubled()
    hidden = (
        "import sys; sys.modules.update(textual=None, rich=None); from kafka_warden.cli import main; sys.exit(main())"
    )
    (tmp_path / "main.py").write_text(hidden)
    arguments = [sys.executable, str(tmp_path / "main.py"), "top", "--url", f"http://127.0.0.1:{served.port}"]

    for flag, start in (("--once", "kafka-warden ·"), ("--json", "{")):
        done = subprocess.run([*arguments, flag], capture_output=True, text=True, check=True, timeout=300)
        assert done.stdout.startswith(start)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "textual", None)
        patched.setattr("sys.stdout.isatty", lambda: True, raising=False)
        patched.setattr("sys.stdin.isatty", lambda: True, raising=False)
        patched.setattr("sys.stderr.isatty", lambda: True, raising=False)
        assert cli.main(["top"]) == cli.BAD_CONFIGURATION
    assert "needs textual, which is not installed: in a checkout pip install '.[top]'" in capsys.readouterr().err


def test_an_error_of_the_screen_has_the_exit_code_of_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual prints the traceback, and its own code for it is 1."""

    class Crashed:
        return_code = 1

        def __init__(self, *_: object) -> None:
            """Take what the screen takes."""

        def run(self, *, mouse: bool) -> None:
            """Return no code."""

    monkeypatch.setattr("kafka_warden.top.screen.Top", Crashed)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)

    assert cli.main(["top"]) == 70
