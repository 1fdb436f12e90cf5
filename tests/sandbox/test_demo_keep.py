"""What a run of the demo leaves behind, without Kafka: when, where, and that nothing else is lost for it."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from sandbox import wait_for
from sandbox.demo_folder import (
    DATA,
    DESCRIPTION,
    FOLDER_VARIABLE,
    RULES,
    FolderError,
    Outcome,
    Run,
    default_folder,
    read,
    require_replaceable,
)
from sandbox.demo_keep import Recorder, keep
from sandbox.demo_signals import InterruptedDemo
from sandbox.monitoring import ALERTS, Prometheus
from sandbox.monitoring_rules import shorten_files
from tests.sandbox.demo_data import GOLDEN

ROOT = Path(__file__).parents[2]
RUN = Run(1000.5, 1100.25, 1050.0, Outcome.COMPLETE, "demo", 2.0)


class Page(http.server.BaseHTTPRequestHandler):
    """The page of tests/golden."""

    def do_GET(self) -> None:
        """Serve it."""
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0")
        self.end_headers()
        self.wfile.write(GOLDEN.read_bytes())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the standard library's
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    """Address of a server with that page."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def prometheus_with(directory: Path, text: str) -> Path:
    """A directory like that of a Prometheus that has ended, with this as its data."""
    for name in ("data", "rules"):
        (directory / name).mkdir(parents=True)
        (directory / name / "file").write_text(text)
    (directory / "data" / "lock").touch()
    return directory


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
    """A run that comes to its end, is interrupted or fails is kept, and its folder says which it was."""
    prometheus, folder = prometheus_with(tmp_path / "prometheus", "seen"), tmp_path / "demo"
    said: list[str] = []
    with (
        nullcontext() if raised is None else pytest.raises(type(raised)),
        Recorder(folder, prometheus, "demo", 2.0, said.append) as recorder,
    ):
        recorder.begin()
        recorder.alert()
        if raised is not None:
            raise raised

    run = read(folder)
    assert run.outcome is outcome
    assert run.alerted is not None
    assert run.began <= run.alerted <= run.ended
    assert (folder / DATA / "file").read_text() == "seen"
    assert not (folder / DATA / "lock").exists()
    assert [str(folder) in line and "make demo-look" in line for line in said] == [True]


def test_a_run_without_data_leaves_the_one_before(tmp_path: Path) -> None:
    """A run that ends before Prometheus has scraped anything changes nothing."""
    prometheus, folder = prometheus_with(tmp_path / "prometheus", "seen"), tmp_path / "demo"
    keep(RUN, prometheus, folder)
    with Recorder(folder, prometheus_with(tmp_path / "next", "nothing"), "demo", 2.0, print):
        pass
    assert read(folder) == RUN
    assert (folder / DATA / "file").read_text() == "seen"


def test_a_run_replaces_the_one_before(tmp_path: Path) -> None:
    """The next run takes the folder's place, and no other folder is left beside it."""
    (tmp_path / "at").mkdir()
    folder = tmp_path / "at" / "demo"
    keep(RUN, prometheus_with(tmp_path / "first", "first"), folder)
    (folder / "of-the-first").touch()
    keep(RUN, prometheus_with(tmp_path / "second", "second"), folder)
    assert (folder / DATA / "file").read_text() == "second"
    assert not (folder / "of-the-first").exists()
    assert list(folder.parent.iterdir()) == [folder]


def test_a_run_that_cannot_be_kept_leaves_the_one_before(tmp_path: Path) -> None:
    """When copying fails the error says what to do, and the last run is still there, alone."""
    (tmp_path / "at").mkdir()
    folder = tmp_path / "at" / "demo"
    keep(RUN, prometheus_with(tmp_path / "first", "first"), folder)
    broken = prometheus_with(tmp_path / "second", "second")
    (broken / "rules" / "file").unlink()
    (broken / "rules").rmdir()
    with pytest.raises(FolderError, match=FOLDER_VARIABLE):
        keep(RUN, broken, folder)
    assert (folder / DATA / "file").read_text() == "first"
    assert list(folder.parent.iterdir()) == [folder]


def test_an_interrupted_replacement_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal between the two renames of a replacement puts the last run back."""
    (tmp_path / "at").mkdir()
    folder, rename = tmp_path / "at" / "demo", Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if path.name == "fresh":
            raise InterruptedDemo(130)
        return rename(path, target)

    keep(RUN, prometheus_with(tmp_path / "first", "first"), folder)
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(InterruptedDemo):
        keep(RUN, prometheus_with(tmp_path / "second", "second"), folder)
    assert (folder / DATA / "file").read_text() == "first"
    assert list(folder.parent.iterdir()) == [folder]


def test_what_is_no_run_is_not_replaced(tmp_path: Path) -> None:
    """A folder with anything else in it is refused, before a run and after it, and stays as it is."""
    folder, prometheus = tmp_path / "mine", prometheus_with(tmp_path / "prometheus", "seen")
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    for refused in (require_replaceable, lambda folder: keep(RUN, prometheus, folder)):
        with pytest.raises(FolderError, match=FOLDER_VARIABLE):
            refused(folder)
    assert [file.name for file in folder.iterdir()] == ["thesis.tex"]


def test_new_and_empty_folders_are_taken(tmp_path: Path) -> None:
    """A folder that does not exist yet, with its parents, or that is empty can take a run."""
    require_replaceable(tmp_path)
    require_replaceable(tmp_path / "not" / "yet")
    keep(RUN, prometheus_with(tmp_path / "prometheus", "seen"), tmp_path / "not" / "yet")
    assert read(tmp_path / "not" / "yet") == RUN


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", json.dumps({"began": 2, "ended": 1}), '{"began": "then", "ended": 1, "alerted": null}'],
)
def test_a_broken_description_says_what_to_do(tmp_path: Path, text: str) -> None:
    """A description that cannot be read is an error that names the file and what to run."""
    folder = tmp_path / "demo"
    keep(RUN, prometheus_with(tmp_path / "prometheus", "seen"), folder)
    (folder / DESCRIPTION).write_text(text)
    with pytest.raises(FolderError, match=r"run\.json cannot be used .*remove .*make demo"):
        read(folder)


@pytest.mark.parametrize("part", [DATA, RULES])
def test_a_missing_part_says_what_to_do(tmp_path: Path, part: Path) -> None:
    """A run without its data or its rules is an error that names them and what to run."""
    folder = tmp_path / "demo"
    keep(RUN, prometheus_with(tmp_path / "prometheus", "seen"), folder)
    (folder / part).rename(tmp_path / "taken")
    with pytest.raises(FolderError, match=rf"{part} is missing or empty: remove .*make demo"):
        read(folder)


def test_the_folder_is_ignored_by_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default it is `demo` beside the Makefile, which git ignores and `make clean` removes; a variable moves it."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert default_folder() == ROOT / "demo"
    assert {"/demo/", "/.demo-*/"} <= set((ROOT / ".gitignore").read_text().split())
    clean = (ROOT / "Makefile").read_text().partition("\nclean:")[2].partition("\n\n")[0]
    assert {"demo", ".demo-*"} <= set(clean.split())
    monkeypatch.setenv(FOLDER_VARIABLE, "elsewhere")
    assert default_folder() == Path.cwd() / "elsewhere"


def test_what_a_prometheus_scraped_until_a_signal_is_kept(page: str, tmp_path: Path) -> None:
    """Samples that only the write-ahead log of a running Prometheus has are there after Ctrl-C."""
    directory, folder = tmp_path / "prometheus", tmp_path / "demo"
    rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), directory / "rules", 1 / 30, 10.0)

    def interrupted() -> None:
        with (
            Recorder(folder, directory, "demo", 0.5, print) as recorder,
            Prometheus(directory, [page], rules, scrape_interval=0.5, target_labels={"cluster": "demo"}) as prometheus,
        ):
            wait_for(lambda: prometheus.query("kafka_warden_reassignment_eta_seconds"), 60, "a scrape")
            recorder.begin()
            raise InterruptedDemo(130)

    with pytest.raises(InterruptedDemo):
        interrupted()
    assert read(folder).outcome is Outcome.INTERRUPTED
    with Prometheus(folder / DATA.parent, []) as prometheus:
        answer = prometheus.query("last_over_time(kafka_warden_reassignment_eta_seconds[10m])")
    assert {sample.value for sample in answer} == {97.47350932656597, float("inf")}
