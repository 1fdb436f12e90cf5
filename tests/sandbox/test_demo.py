"""The demo: what it prints, how it ends, and that nothing of it is left."""

import io
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sandbox import wait_for
from sandbox.demo_folder import FOLDER_VARIABLE, Outcome, read
from sandbox.demo_grafana import MARK_SCRAPES
from sandbox.demo_scene import STUCK, limit_for
from sandbox.demo_table import Move, Row, Screen
from tests.sandbox.demo_looking import LAST_LINE, Looking
from tests.support.dashboards import Target, targets

ROOT = Path(__file__).parents[2]
MOVE = Move("payments", 0, source=3, target=1)
MARKER = "DEMO_UNDER_TEST"
ETA = "kafka_warden_reassignment_eta_seconds{"
FIRED = 'ALERTS{alertname="KafkaReassignmentStuck",alertstate="firing"}'


@pytest.mark.parametrize(
    ("row", "state", "until"),
    [
        (Row(MOVE), "not on the page yet", ""),
        (Row(MOVE, progress=0.5, eta=33.4), "copying", "33 s"),
        (Row(MOVE, progress=0.5, eta=math.inf), "falls behind", "never"),
        (Row(MOVE, progress=0.5, eta=math.inf, cause="no_progress"), "stuck: no_progress", "never"),
        (Row(MOVE, progress=1.0, ended=True), "done", ""),
    ],
)
def test_state_of_a_row(row: Row, state: str, until: str) -> None:
    """A move's state says what the page says of it, and an end that never comes is told as such."""
    assert (row.state, row.until) == (state, until)


def test_plain_lines_without_a_terminal() -> None:
    """On no terminal the table is a line per move, and not again within the next seconds."""
    out = io.StringIO()
    row = Row(MOVE, remaining=30e6, progress=0.25, rate=0.2e6, eta=math.inf, cause="throttle_below_inbound")
    with Screen(Console(file=out, width=200)) as screen:
        screen.show([row])
        screen.show([row])
    (line,) = out.getvalue().splitlines()
    assert line.startswith("[0:00] payments-0  3 -> 1  #####....")
    assert " 25%  10 of 40 MB" in line
    assert line.endswith("0.20 MB/s  ETA never  stuck: throttle_below_inbound")


@pytest.mark.parametrize("width", [80, 120])
def test_table_on_a_terminal(width: int) -> None:
    """On a terminal of any usual width the whole cause can be read."""
    out = io.StringIO()
    row = Row(MOVE, remaining=30e6, progress=0.25, rate=0.2e6, eta=math.inf, cause="throttle_below_inbound")
    with Screen(Console(file=out, width=width, force_terminal=True)) as screen:
        screen.show([row])
    for text in ("payments-0", "3 -> 1", "25%", "0.20 MB/s", "never", "throttle_below_inbound"):
        assert text in out.getvalue()


def test_limit_of_the_runbook() -> None:
    """The limit that the demo sets is the example of the runbook: 0.6 MB/s in, 300 MB to go in 300 s, over 0.8."""
    assert limit_for(600_000, 300e6, 300) == 2_000_000


def test_stuck_move_can_never_end() -> None:
    """The stuck move's throttle is below what comes in even with the burst that Kafka lets through."""
    burst_per_second = (1 << 20) / 11
    assert STUCK.limit + burst_per_second < STUCK.inbound


def processes() -> list[str]:
    """Command lines of processes whose environment carries the marker."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARKER}={os.getpid()}".encode() in (directory / "environ").read_bytes().split(b"\0"):
                found.append((directory / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def start_demo(directory: Path) -> subprocess.Popen[str]:
    """Start the demo with temporary files in `scratch` of this directory; what it leaves behind goes to `demo`."""
    (directory / "scratch").mkdir()
    places = {"TMPDIR": str(directory / "scratch"), FOLDER_VARIABLE: str(directory / "demo")}
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox.demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, MARKER: str(os.getpid()), **places},
    )


def require_nothing_left(directory: Path) -> None:
    """Wait until the demo's processes and its temporary files are gone."""
    scratch = directory / "scratch"
    wait_for(lambda: not processes() and not list(scratch.iterdir()), 20, "nothing is left")


def ask(looking: Looking, target: Target, scrapes: int = 1) -> list[dict[str, Any]]:
    """The answer to a query of a dashboard over the run, to its last scrape, in steps of so many scrapes."""
    run = read(looking.folder)
    step = scrapes * run.scrape_seconds
    over = {"start": run.began // step * step, "end": math.ceil(run.ended / step) * step, "step": step}
    query = target.filled(cluster=run.cluster, __interval=f"{step:g}s")
    rows: list[dict[str, Any]] = looking.ask("query_range", query=query, **over)["result"]
    return rows


def of_moves(title: str) -> Target:
    """The first query of a panel, or of an annotation, of the dashboard Moves."""
    return next(target for target in targets() if (target.board, target.panel) == ("moves", title))


@pytest.mark.full_kafka
@pytest.mark.cluster
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C or SIGTERM while the cluster starts: exit code 128 + signal, no process and no file left."""
    with start_demo(tmp_path) as demo:
        wait_for(lambda: sum(line.startswith("java ") for line in processes()) == 4, 120, "all nodes are starting")
        demo.send_signal(number)
        assert demo.wait(60) == 128 + number
    require_nothing_left(tmp_path)
    assert not (tmp_path / "demo").exists()


@pytest.mark.cluster
@pytest.mark.full_kafka
def test_an_interrupted_demo_can_be_looked_at(tmp_path: Path) -> None:
    """After Ctrl-C during the moves what Prometheus has seen of them is served again."""
    with start_demo(tmp_path) as demo:
        assert demo.stdout is not None
        # The first of these lines that has numbers: the move is on the page, and Prometheus has scraped it.
        line = next(line for line in demo.stdout if re.search(r"payments-0 .* of \d+ MB", line))
        demo.send_signal(signal.SIGINT)
        code, printed = demo.wait(60), demo.stdout.read()
    assert code == 128 + signal.SIGINT, line + printed
    assert "make demo-look" in printed
    require_nothing_left(tmp_path)
    assert read(tmp_path / "demo").outcome is Outcome.INTERRUPTED
    with Looking(tmp_path / "demo", tmp_path / "look", "--port", "0", "--no-grafana") as looking:
        looking.until(LAST_LINE)
        rows = ask(looking, of_moves("Bytes to copy, by replica"))
    assert "payments" in {row["metric"]["topic"] for row in rows}


@pytest.mark.cluster
@pytest.mark.full_kafka
def test_the_whole_demo(tmp_path: Path) -> None:
    """The demo ends by itself with exit code 0, having shown the alert with its cause, both ends and the all-clear.

    What it leaves behind shows the same: the ETA that was never, the alert, and the marks at start and end.
    """
    with start_demo(tmp_path) as demo:
        printed, _ = demo.communicate(timeout=360)
    assert demo.returncode == 0, printed
    order = [
        "ALERT in Alertmanager: KafkaReassignmentStuck",
        "cause throttle_below_inbound",
        "Raising the throttle",
        "Both moves have ended and the alert has resolved",
        "make demo-look",
    ]
    positions = [printed.index(text) for text in order]
    assert positions == sorted(positions)
    for text in ("orders has moved", "payments has moved", "RESOLVED in Alertmanager"):
        assert text in printed
    require_nothing_left(tmp_path)

    run = read(tmp_path / "demo")
    assert run.outcome is Outcome.COMPLETE
    with Looking(tmp_path / "demo", tmp_path / "look", "--port", "0", "--no-grafana") as looking:
        looking.until(LAST_LINE)
        eta = next(target for target in targets() if target.board == "moves" and ETA in target.expr)
        by_topic = {row["metric"]["topic"]: {value for _, value in row["values"]} for row in ask(looking, eta)}
        never = looking.ask("query", query=eta.filled(cluster=run.cluster), time=run.alerted)["result"]
        marks = [ask(looking, of_moves(title), MARK_SCRAPES) for title in ("Moves started", "All moves ended")]
        fired = looking.ask("query", query=f"last_over_time({FIRED}[10m])", time=run.ended)["result"]
    assert by_topic.keys() == {"orders", "payments"}
    assert any(math.isfinite(float(value)) for value in by_topic["orders"])
    assert {row["metric"]["topic"]: row["value"][1] for row in never}["payments"] == "+Inf"
    assert all(marks)
    assert {row["metric"]["topic"] for row in fired} == {"payments"}
