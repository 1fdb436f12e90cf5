"""The recorder: what it writes down, what it refuses, and one whole recording."""

import json
import sys
from pathlib import Path

import pytest

from kafka_warden.history.parquet.reader import read
from sandbox.errors import SandboxError
from sandbox.record import require_neutral, summary
from sandbox.record_scene import COMPLETES, STUCK
from sandbox.record_truth import Diary
from tests.history.places import write
from tests.history.replay import scene_polls
from tests.support.processes import checked

ROOT = Path(__file__).parents[2]
IDS = {COMPLETES.topic: "id-1", STUCK.topic: "id-2"}


def test_what_is_done_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of a move lasts from its begin until the throttle is raised; everything is in the order of time."""
    clock = iter(float(second) for second in range(100, 200, 10))
    monkeypatch.setattr("sandbox.record_truth.time.time", lambda: next(clock))
    diary = Diary("cluster")
    diary.begin(STUCK, {0: 5})
    diary.begin_stuck(STUCK, "throttle_below_inbound")
    with diary.calm("burst", topic="events", partition=0):
        pass
    diary.raised(STUCK, 1000)
    with diary.fault("broker_down", broker=3):
        pass
    diary.over(STUCK, 0, "completed")

    found = diary.truth(IDS)
    assert [(fault.kind, fault.began, fault.ended, fault.topic, fault.broker) for fault in found.faults] == [
        ("throttle_below_inbound", 100, 130, STUCK.topic, STUCK.target),
        ("broker_down", 140, 150, None, 3),
    ]
    assert [(calm.kind, calm.began, calm.ended) for calm in found.calm] == [("burst", 110, 120)]
    (move,) = found.moves
    assert (move.topic_id, move.began, move.ended, move.outcome) == ("id-2", 100, 160, "completed")
    assert (move.bytes_at_start, move.limit, move.raised_to, move.raised_at) == (5, STUCK.limit, 1000, 130)


def test_a_history_that_names_a_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, scene_polls()[:1])
    host = read(tmp_path, "brokers")["host"].to_pylist()[0]
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere.example")
    require_neutral(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: host)
    with pytest.raises(SandboxError, match=f"brokers of the recording names {host}"):
        require_neutral(tmp_path)
    with pytest.raises(SandboxError, match="has 1 runs of the sidecar and not 2"):
        summary(tmp_path)


@pytest.mark.cluster
@pytest.mark.full_pipeline
def test_a_whole_recording(tmp_path: Path) -> None:
    printed = checked(sys.executable, "-m", "sandbox.record", "--out", tmp_path / "out", cwd=ROOT, timeout=None)
    assert {folder.name for folder in (tmp_path / "out").iterdir()} == {"history", "truth"}
    faults = [json.loads(line)["kind"] for line in (tmp_path / "out/truth/faults.json").read_text().splitlines()]
    assert faults == ["throttle_below_inbound", "broker_down"]
    assert "polls of 2 processes" in printed
