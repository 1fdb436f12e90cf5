"""The demo: what it prints, how it ends, and that no process and no file of it is left."""

import io
import math
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from sandbox import wait_for
from sandbox.demo_folder import FOLDER_VARIABLE, Outcome, read
from sandbox.demo_grafana import MARK_SCRAPES
from sandbox.demo_scene import STUCK
from sandbox.demo_table import Board, Move, Row, Screen
from sandbox.record_scene import limit_for
from tests.sandbox.demo_looking import LAST_LINE, ROOT, Looking
from tests.support.dashboards import Target, targets
from tests.support.processes import processes_with

MOVE = Move("payments", 0, source=3, target=1)
MARKER = "DEMO_UNDER_TEST"
MARK = f"{MARKER}={os.getpid()}"
ETA = ("moves", "Adding replicas", "Ends in")
FIRED = 'ALERTS{alertname="KafkaReassignmentStuck",alertstate="firing"}'


@pytest.mark.parametrize(
    ("row", "state", "until"),
    [
        (Row(MOVE), "not seen yet", ""),
        (Row(MOVE, progress=0.5, eta=33.4), "copying", "33 s"),
        (Row(MOVE, progress=0.5, eta=math.inf), "falls behind", "never"),
        (Row(MOVE, progress=0.5, eta=math.inf, cause="no_progress"), "stuck: no_progress", "never"),
        (Row(MOVE, progress=1.0, ended=True), "done", ""),
    ],
)
def test_state_of_a_row(row: Row, state: str, until: str) -> None:
    assert (row.state, row.until) == (state, until)


def test_a_move_that_is_gone_has_ended() -> None:
    board = Board([MOVE])
    assert [row.state for row in board.update([])] == ["not seen yet"]
    place = {"topic": "payments", "partition": 0, "broker": 1}
    known = {"remaining_bytes": 5, "progress": 0.5, "bytes_per_second": 2.0, "eta": "+Inf", "cause": None}
    assert [row.state for row in board.update([place | known])] == ["falls behind"]
    assert [row.state for row in board.update([])] == ["done"]


def test_details_of_several_lines_are_indented() -> None:
    out = io.StringIO()
    Screen(Console(file=out)).say("ALERT", "one\ntwo")
    assert out.getvalue() == "[0:00] ALERT\n       one\n       two\n"


def test_table_on_a_terminal() -> None:
    out = io.StringIO()
    row = Row(MOVE, remaining=30e6, progress=0.25, rate=0.2e6, eta=math.inf, cause="throttle_below_inbound")
    with Screen(Console(file=out, width=80, force_terminal=True)) as screen:
        screen.show([row])
    for text in ("payments-0", "3 -> 1", "25%", "0.20 MB/s", "never", "throttle_below_inbound"):
        assert text in out.getvalue()


def test_limit_of_the_runbook() -> None:
    assert limit_for(600_000, 300e6, 300) == 2_000_000


PLAIN: Final = ("-m", "sandbox.demo")
WITHOUT_PROMETHEUS: Final = """
import sys
from sandbox import SandboxError, demo
def tools():
    raise SandboxError("apt-get is missing")
demo.tools, demo.LOOK_SECONDS = tools, 2.0
sys.exit(demo.main())
"""


def start_demo(
    directory: Path, arguments: tuple[str, ...] = PLAIN, stdout: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start the demo with temporary files in `scratch` of this directory and the run's folder in `demo`."""
    (directory / "scratch").mkdir()
    places = {"TMPDIR": str(directory / "scratch"), FOLDER_VARIABLE: str(directory / "demo")}
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, MARKER: str(os.getpid()), **places},
    )


def require_nothing_left(directory: Path) -> None:
    """Wait until the demo's processes and its temporary files are gone."""
    scratch = directory / "scratch"
    wait_for(lambda: not processes_with(MARK) and not list(scratch.iterdir()), 20, "nothing is left")


@pytest.mark.full_kafka
@pytest.mark.cluster
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(number: signal.Signals, tmp_path: Path) -> None:
    with start_demo(tmp_path) as demo:
        wait_for(
            lambda: sum(line.startswith("java ") for line in processes_with(MARK).values()) == 4,
            120,
            "all nodes are starting",
        )
        demo.send_signal(number)
        assert demo.wait(60) == 128 + number
    require_nothing_left(tmp_path)
    assert not (tmp_path / "demo").exists()


@pytest.mark.cluster
@pytest.mark.full_kafka
def test_the_whole_demo(tmp_path: Path) -> None:
    """The demo ends with exit code 0 after the alert with its cause, the end of both moves, and the resolved alert.

    The folder of the run shows the same: the ETA `never`, the alert, and the marks at start and end.
    """
    with start_demo(tmp_path) as demo:
        printed, _ = demo.communicate(timeout=600)
    assert demo.returncode == 0, printed
    order = [
        "Status page   http://",
        "Metrics       http://",
        "STUCK on the status page: payments.events",
        "Producers write more than the throttle lets through",
        "ALERT in Alertmanager: KafkaReassignmentStuck",
        "kafka-reassign-partitions.sh --bootstrap-server $B $CC --execute --additional",
        "Raising the throttle",
        "Both moves have ended and the alert has resolved",
        "make demo-look",
    ]
    positions = [printed.index(text) for text in order]
    assert positions == sorted(positions)
    for text in ("orders has moved", "payments.events has moved", "RESOLVED in Alertmanager"):
        assert text in printed
    assert re.search(
        r"payments\.events-0 .* \d+%  \d+ of \d+ MB .*MB/s .*ETA never  stuck: throttle_below_inbound", printed
    )
    require_nothing_left(tmp_path)

    run = read(tmp_path / "demo")
    assert run.outcome is Outcome.COMPLETE
    with Looking(tmp_path / "demo", tmp_path / "look", "--port", "0", "--no-grafana") as looking:
        looking.until(LAST_LINE)

        def over_the_run(target: Target, scrapes: int = 1) -> list[dict[str, Any]]:
            step = scrapes * run.scrape_seconds
            times = {"start": run.began // step * step, "end": math.ceil(run.ended / step) * step, "step": step}
            query = target.filled(cluster=run.cluster, __interval=f"{step:g}s")
            rows: list[dict[str, Any]] = looking.ask("query_range", query=query, **times)["result"]
            return rows

        of_moves = [target for target in targets() if target.board == "moves"]
        eta = next(target for target in of_moves if target.key == ETA)
        by_topic = {row["metric"]["topic"]: {value for _, value in row["values"]} for row in over_the_run(eta)}
        never = looking.ask("query", query=eta.filled(cluster=run.cluster), time=run.alerted)["result"]
        titles = ("Moves started", "All moves ended")
        marks = {target.panel: over_the_run(target, MARK_SCRAPES) for target in of_moves if target.panel in titles}
        fired = looking.ask("query", query=f"last_over_time({FIRED}[10m])", time=run.ended)["result"]
    assert by_topic.keys() == {"orders", "payments.events"}
    assert any(math.isfinite(float(value)) for value in by_topic["orders"])
    assert {row["metric"]["topic"]: row["value"][1] for row in never}["payments.events"] == "+Inf"
    assert [bool(marks[title]) for title in titles] == [True, True]
    assert {row["metric"]["broker"] for row in fired} == {str(STUCK.target)}


@pytest.mark.cluster
@pytest.mark.full_kafka
def test_a_terminal_without_prometheus(tmp_path: Path) -> None:
    """The demo says what is missing, goes on without an alert, and stays until Ctrl-C."""
    ours, theirs = pty.openpty()
    with (
        start_demo(tmp_path, ("-c", WITHOUT_PROMETHEUS), theirs) as demo,
        os.fdopen(ours, errors="replace") as terminal,
    ):
        printed = ""
        for line in terminal:
            printed += line
            if "Everything stays up until Ctrl-C" in line:
                break
        assert demo.poll() is None, printed
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0, printed
    os.close(theirs)
    for text in ("apt-get is missing", "STUCK on the status page", "Both moves have ended; the throttles are removed"):
        assert text in printed
    assert "ALERT" not in printed
    require_nothing_left(tmp_path)
    assert not (tmp_path / "demo").exists()
