"""`make demo-look`: what a run left is served as it was, and nothing is left of serving it."""

import hashlib
import json
import signal
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
import yaml

from alerts.thresholds import seconds
from kafka_warden.catalogue import CATALOGUE
from sandbox import wait_for
from sandbox.demo_archive import QUERIES
from sandbox.demo_folder import DATA, DESCRIPTION, RULES, Run
from tests.sandbox.demo_looking import LAST_LINE, Looking
from tests.support.dashboards import targets
from tests.support.processes import run as run_program
from tests.support.promql import metrics

ETA: Final = "max by (topic, partition, broker) (kafka_warden_reassignment_eta_seconds{cluster="


def contents(folder: Path) -> dict[str, str]:
    """Digest by path of everything in a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_old_data_answers_the_dashboards(looking: Looking, kept: tuple[Path, Run]) -> None:
    """Every query of the dashboard Moves is answered at the time of the run, and the ETAs are those of the page."""
    at = kept[1].ended
    of_moves = [target for target in targets() if target.board == "moves"]
    answered = {str(target): looking.ask("query", query=target.filled(cluster="demo"), time=at) for target in of_moves}
    (eta,) = [target for target in of_moves if target.expr.startswith(ETA)]
    values = {float(row["value"][1]) for row in answered[str(eta)]["result"]}
    assert values == {97.47350932656597, float("inf")}
    assert sum(bool(answer["result"]) for answer in answered.values()) > len(answered) / 2


def test_nothing_is_added(looking: Looking, kept: tuple[Path, Run]) -> None:
    """Prometheus has the rules of the run but evaluates none, scrapes nothing and deletes nothing."""
    groups = looking.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    files = [yaml.safe_load(file.read_text()) for file in (kept[0] / RULES).iterdir()]
    expected = [rule for file in files for group in file["groups"] for rule in group["rules"]]
    assert sorted(rule["name"] for rule in rules) == sorted(rule.get("alert") or rule["record"] for rule in expected)
    assert {rule["lastEvaluation"] for rule in rules} == {"0001-01-01T00:00:00Z"}
    # It evaluates at multiples of the interval since 1970, shifted by less than one: not in the first of them.
    assert min(group["interval"] for group in groups) > time.time()
    assert looking.ask("status/runtimeinfo")["storageRetention"] == "100y"
    assert looking.ask("targets")["activeTargets"] == []
    assert looking.ask("query", query='{__name__=~".+"}')["result"] == []


def test_queries_are_of_what_is_served() -> None:
    """The queries ask for metrics of the catalogue, or for alerts, and each has a title."""
    served = {metric.name for metric in CATALOGUE}
    for title, expr in QUERIES:
        assert title
        assert {name for name, _ in metrics(expr)} <= served
        assert metrics(expr) or "ALERTS" in expr


def test_queries_are_drawn_over_the_run(looking: Looking, kept: tuple[Path, Run]) -> None:
    """Each link of Prometheus covers the run, less than a minute more, and what it draws is there."""
    run, drawn = kept[1], 0
    assert len(looking.links("/graph")) == len(QUERIES)
    for path, query in looking.links("/graph"):
        end = datetime_of(query["g0.end_input"])
        start = end - seconds(query["g0.range_input"])
        assert path == "/graph"
        assert run.ended <= end < run.ended + 60
        assert run.began - 1 < start <= run.began
        drawn += bool(looking.ask("query_range", query=query["g0.expr"], start=start, end=end, step=2)["result"])
    # The golden page knows no Prometheus that fired.
    assert drawn == len(QUERIES) - 1


def datetime_of(text: str) -> float:
    """Seconds since 1970 of a time in the forms of Prometheus' pages, which are of UTC."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(number: signal.Signals, kept: tuple[Path, Run], tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM end it with exit code 0, no process and no file left, and the run as it was."""
    before = contents(kept[0])
    with Looking(kept[0], tmp_path / "scratch", "--port", "0", "--no-grafana") as looking:
        looking.until(LAST_LINE)
        assert len(looking.processes()) == 3
        assert looking.end(number) == 0
    wait_for(lambda: not looking.processes(), 20, "no process is left")
    assert list(looking.scratch.iterdir()) == []
    assert contents(kept[0]) == before


def failing(folder: Path, scratch: Path, *arguments: str) -> str:
    """What it says when it cannot serve a folder; exit code 1, nothing left."""
    looking = Looking(folder, scratch, "--no-grafana", *(arguments or ("--port", "0")))
    printed, _ = looking.process.communicate(timeout=60)
    assert looking.process.returncode == 1, printed
    assert list(scratch.iterdir()) == []
    assert "Traceback" not in printed
    return printed


def copied(kept: tuple[Path, Run], folder: Path) -> Path:
    """A run of one's own."""
    run_program("cp", "-r", kept[0], folder)
    return folder


def test_no_run_says_what_to_do(tmp_path: Path) -> None:
    """Without a folder the message names it and the command that makes it."""
    printed = failing(tmp_path / "demo", tmp_path / "scratch")
    assert f"there is no run of the demo in {tmp_path / 'demo'}: run `make demo`" in printed


def test_broken_data_says_what_to_do(kept: tuple[Path, Run], tmp_path: Path) -> None:
    """Data that Prometheus cannot open, or that is not of the run, is an error that says how to get another."""
    folder = copied(kept, tmp_path / "demo")
    (index,) = (folder / DATA).glob("*/index")
    index.write_bytes(b"\0" * 100)
    assert f"remove {folder} and run `make demo`" in failing(folder, tmp_path / "scratch")

    folder = copied(kept, tmp_path / "other")
    description = json.loads((folder / DESCRIPTION).read_text())
    (folder / DESCRIPTION).write_text(json.dumps(description | {"began": 1e9, "ended": 1e9 + 60, "alerted": None}))
    assert "has nothing of the time of its run: remove" in failing(folder, tmp_path / "scratch")


def test_a_taken_port_says_what_to_do(kept: tuple[Path, Run], tmp_path: Path) -> None:
    """A port that somebody listens on is named with the way to take another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        printed = failing(kept[0], tmp_path / "scratch", "--port", str(port))
    assert f"port {port} of 127.0.0.1 is taken" in printed
    assert "make demo-look ARGS='--port 0 --grafana-port 0'" in printed


@pytest.mark.parametrize("text", ["-1", "65536", "http"])
def test_a_wrong_port_is_refused(text: str) -> None:
    """What is no port is refused by name, with exit code 2."""
    done = run_program(sys.executable, "-m", "sandbox.demo_look", "--port", text)
    assert done.returncode == 2
    assert f"{text!r} is no port" in done.stderr or "expected one argument" in done.stderr
