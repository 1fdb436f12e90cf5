"""The folder of a run of the demo, without Kafka: it appears whole, and replaces nothing but another run."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from sandbox import wait_for
from sandbox.demo_folder import (
    ALERTED,
    DATA,
    FOLDER_VARIABLE,
    FolderError,
    Outcome,
    Run,
    read,
    require_replaceable,
)
from sandbox.demo_keep import Recorder, keep
from sandbox.demo_signals import InterruptedDemo
from sandbox.monitoring import ALERTS, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.serving import Server

RUN = Run(1000.5, 1100.25, 1050.0, Outcome.COMPLETE, "demo", 2.0)
SHOWN = {"status.html": b"<p>", "assets/status.css": b"p {}"}


def prometheus_with(directory: Path, text: str) -> Path:
    """Make a directory like that of a Prometheus that has ended, with this text as its data."""
    for name in ("data", "rules"):
        (directory / name).mkdir(parents=True)
        (directory / name / "file").write_text(text)
    (directory / "data" / "lock").touch()
    return directory


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """The folder of a first run, alone in its directory."""
    folder = tmp_path / "at" / "demo"
    keep(RUN, prometheus_with(tmp_path / "first", "first"), folder, {})
    assert read(folder) == RUN
    return folder


def require_alone(folder: Path, text: str) -> None:
    """The folder has the run with this text, and there is no other folder beside it."""
    assert (folder / DATA / "file").read_text() == text
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [
        (None, Outcome.COMPLETE),
        (InterruptedDemo(0), Outcome.COMPLETE),
        (InterruptedDemo(130), Outcome.INTERRUPTED),
        (RuntimeError(), Outcome.FAILED),
    ],
)
def test_every_end_leaves_the_run(tmp_path: Path, raised: BaseException | None, outcome: Outcome) -> None:
    """A run that completes, is interrupted or fails is kept, with its outcome in the description."""
    prometheus, folder = prometheus_with(tmp_path / "prometheus", "seen"), tmp_path / "demo"
    said: list[str] = []
    with (
        nullcontext() if raised is None else pytest.raises(type(raised)),
        Recorder(folder, prometheus, "demo", 2.0, said.append) as recorder,
    ):
        recorder.begin()
        recorder.alert(SHOWN)
        if raised is not None:
            raise raised

    run = read(folder)
    assert run.outcome is outcome
    assert run.alerted is not None
    assert run.began <= run.alerted <= run.ended
    assert (folder / DATA / "file").read_text() == "seen"
    assert {path: (folder / ALERTED / path).read_bytes() for path in SHOWN} == SHOWN
    assert not (folder / DATA / "lock").exists()
    assert [str(folder) in line and "make demo-look" in line for line in said] == [True]


def test_a_run_replaces_the_one_before(tmp_path: Path, first: Path) -> None:
    with Recorder(first, prometheus_with(tmp_path / "empty", "nothing"), "demo", 2.0, print):
        pass
    require_alone(first, "first")
    (first / "of-the-first").touch()
    keep(RUN, prometheus_with(tmp_path / "second", "second"), first, {})
    require_alone(first, "second")
    assert not (first / "of-the-first").exists()


def test_a_run_that_cannot_be_kept_leaves_the_one_before(
    tmp_path: Path, first: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second, rename = prometheus_with(tmp_path / "second", "second"), Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if path.name == "fresh":
            raise InterruptedDemo(130)
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(InterruptedDemo):
            keep(RUN, second, first, {})
    require_alone(first, "first")
    (second / "rules").rename(tmp_path / "taken")
    with pytest.raises(FolderError, match=FOLDER_VARIABLE):
        keep(RUN, second, first, {})
    require_alone(first, "first")


def test_a_folder_without_a_run_is_not_replaced(tmp_path: Path) -> None:
    folder, prometheus = tmp_path / "mine", prometheus_with(tmp_path / "prometheus", "seen")
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    for refused in (require_replaceable, lambda folder: keep(RUN, prometheus, folder, {})):
        with pytest.raises(FolderError, match=FOLDER_VARIABLE):
            refused(folder)
    assert [file.name for file in folder.iterdir()] == ["thesis.tex"]


def test_data_of_a_running_prometheus_is_kept_at_a_signal(tmp_path: Path) -> None:
    """Samples that only the write-ahead log of Prometheus has are there after Ctrl-C."""
    directory, folder, metric = tmp_path / "prometheus", tmp_path / "demo", "kafka_warden_reassignment_stuck"
    rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), directory / "rules", 1 / 30, 10.0)

    def interrupted() -> None:
        with (
            Server(lambda *_: f"{metric} 1\n".encode()) as page,
            Recorder(folder, directory, "demo", 0.5, print) as recorder,
            Prometheus(directory, [page.address], rules, scrape_interval=0.5) as prometheus,
        ):
            wait_for(lambda: prometheus.query(metric), 60, "a scrape")
            recorder.begin()
            raise InterruptedDemo(130)

    with pytest.raises(InterruptedDemo):
        interrupted()
    assert read(folder).outcome is Outcome.INTERRUPTED
    with Prometheus(folder / DATA.parent, []) as prometheus:
        assert len(prometheus.query(f"last_over_time({metric}[10m])")) == 1
