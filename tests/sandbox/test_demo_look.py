"""`make demo-look`: the run is served as it was, and its end leaves no process and no file."""

import hashlib
import json
import signal
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.rules.thresholds import seconds
from sandbox.demo_archive import QUERIES
from sandbox.demo_folder import DATA, DESCRIPTION, Run
from tests.sandbox.demo_looking import LAST_LINE, Looking
from tests.support.dashboards import targets
from tests.support.processes import processes_with
from tests.support.processes import run as run_program

ETA: Final = ("moves", "Adding replicas", "Ends in")


def contents(folder: Path) -> dict[str, str]:
    """Digest by path of every file in a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_old_data_answers_the_dashboards(looking: Looking, kept: tuple[Path, Run]) -> None:
    at = kept[1].ended
    of_moves = [target for target in targets() if target.board == "moves"]
    answered = {str(target): looking.ask("query", query=target.filled(cluster="demo"), time=at) for target in of_moves}
    (eta,) = [target for target in of_moves if target.key == ETA]
    values = {float(row["value"][1]) for row in answered[str(eta)]["result"]}
    assert values == {97.47350932656597, float("inf")}
    assert sum(bool(answer["result"]) for answer in answered.values()) > len(answered) / 2


def test_nothing_is_added(looking: Looking) -> None:
    groups = looking.ask("rules")["groups"]
    assert {rule["lastEvaluation"] for group in groups for rule in group["rules"]} == {"0001-01-01T00:00:00Z"}
    # Prometheus evaluates at multiples of the interval since 1970, shifted by less than one: not in the first of them.
    assert min(group["interval"] for group in groups) > time.time()
    assert looking.ask("status/runtimeinfo")["storageRetention"] == "100y"
    assert looking.ask("targets")["activeTargets"] == []
    assert looking.ask("query", query='{__name__=~".+"}')["result"] == []


def test_queries_are_drawn_over_the_run(looking: Looking, kept: tuple[Path, Run]) -> None:
    run, drawn = kept[1], 0
    assert len(looking.links("/graph")) == len(QUERIES)
    for path, query in looking.links("/graph"):
        end = datetime.strptime(query["g0.end_input"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()
        start = end - seconds(query["g0.range_input"])
        assert path == "/graph"
        assert run.ended <= end < run.ended + 60
        assert run.began - 1 < start <= run.began
        drawn += bool(looking.ask("query_range", query=query["g0.expr"], start=start, end=end, step=2)["result"])
    # No alert fires in the golden data.
    assert drawn == len(QUERIES) - 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(number: signal.Signals, kept: tuple[Path, Run], tmp_path: Path) -> None:
    before = contents(kept[0])
    with Looking(kept[0], tmp_path / "scratch", "--port", "0", "--no-grafana") as looking:
        looking.until(LAST_LINE)
        assert len(processes_with(looking.mark)) == 3
        looking.require_end(number)
    assert contents(kept[0]) == before


def failing(folder: Path, scratch: Path, port: int = 0) -> str:
    """The output when a folder cannot be served: exit code 1, no traceback, no file left."""
    looking = Looking(folder, scratch, "--no-grafana", "--port", str(port))
    printed, _ = looking.process.communicate(timeout=60)
    assert looking.process.returncode == 1, printed
    assert list(scratch.iterdir()) == []
    assert "Traceback" not in printed
    return printed


def test_what_cannot_be_served_says_what_to_do(kept: tuple[Path, Run], tmp_path: Path) -> None:
    scratch, broken, other = (tmp_path / name for name in ("scratch", "broken", "other"))
    for folder in (broken, other):
        run_program("cp", "-r", kept[0], folder)
    # Two blocks where the run began before the end of one.
    for index in (broken / DATA).glob("*/index"):
        index.write_bytes(b"\0" * 100)
    description = json.loads((other / DESCRIPTION).read_text())
    (other / DESCRIPTION).write_text(json.dumps(description | {"began": 1e9, "ended": 1e9 + 60, "alerted": None}))

    none = tmp_path / "demo"
    assert f"there is no run of the demo in {none}: run `make demo`" in failing(none, scratch)
    assert f"remove {broken} and run `make demo`" in failing(broken, scratch)
    assert "has nothing of the time of its run: remove" in failing(other, scratch)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        printed = failing(kept[0], scratch, port)
    assert f"port {port} of 127.0.0.1 is taken" in printed
    assert "make demo-look ARGS='--port 0 --grafana-port 0'" in printed
