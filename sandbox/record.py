"""Records the history of a real cluster, with the truth about what was done to it beside it (docs/fleet.md).

`python -m sandbox.record --out FOLDER` takes some six minutes and leaves FOLDER/history, as the sidecar wrote it, and
FOLDER/truth. Exit code 0 when all of the scene happened and is in it, 1 when not (the folder is then as it was), 2 for
wrong options, 128 + the signal's number after Ctrl-C or SIGTERM.
"""

import argparse
import getpass
import shutil
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from fleet import truth
from kafka_warden.history.parquet.reader import read
from kafka_warden.history.schema import TABLES
from sandbox.cluster import Cluster
from sandbox.demo_signals import InterruptedDemo, interrupt_behind, listen
from sandbox.demo_table import Screen
from sandbox.errors import SandboxError
from sandbox.monitoring_sidecar import Sidecar
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from sandbox.record_scene import Scene
from sandbox.record_truth import Diary
from sandbox.record_watch import Watch
from sandbox.settings import ClusterSettings

NEUTRAL: Final = "/tmp"  # noqa: S108  # random names
"""Directory of the cluster: a recording has the paths of log directories, which must not name this machine."""
POLL: Final = {"interval": "2s", "deadline": "1500ms", "log_dirs": "2s"}
NETWORK: Final = "125MB/s"
DEADLINE: Final = "1m"
"""`moves.deadline`: short enough that a stuck move misses it within the recording."""
RUNS: Final = 2
"""Processes of the sidecar: the second one starts with the state file of the first."""


def record(out: Path, directory: Path, screen: Screen) -> None:
    """Make a recording.

    Args:
        out: gets `history` and `truth`.
        directory: for everything else; the caller removes it.
        screen: shows the progress.

    Raises:
        SandboxError: a step did not happen, or the recording names this machine.
    """
    history = directory / "history"
    screen.say("Starting a Kafka cluster: three brokers and a controller, each a process of its own")
    with Cluster(ClusterSettings(tiered=False, broker_properties=DEFAULT_QUOTA_WINDOW)) as cluster, ExitStack() as load:
        scene = Scene(cluster, Diary(cluster.cluster_id), screen.say, load)
        scene.prepare()
        with _sidecar(cluster, directory, history) as sidecar:
            watch = Watch(sidecar)
            scene.quiet(watch)
            scene.burst(watch)
            scene.healthy_and_cancelled(watch)
            scene.stuck(watch)
            screen.say("Restarting the sidecar")
        with _sidecar(cluster, directory, history) as sidecar:
            watch = Watch(sidecar)
            scene.still_stuck(watch)
            scene.raised(watch)
            scene.paused(watch)
    require_neutral(history)
    moves = read(history, "moves").select(["topic", "topic_id"]).to_pylist()
    truth.write(out / "truth", [scene.diary.truth({move["topic"]: move["topic_id"] for move in moves})])
    shutil.copytree(history, out / "history", ignore=shutil.ignore_patterns(".*"))
    screen.say(summary(out / "history"))


def _sidecar(cluster: Cluster, directory: Path, history: Path) -> Sidecar:
    settings = {
        "poll": POLL,
        "state": {"path": str(directory / "kafka-warden.state")},
        "network": {"bytes_per_second": NETWORK},
        "moves": {"deadline": DEADLINE},
        "history": {"parquet": {"path": str(history)}},
    }
    return Sidecar(directory / "sidecar", cluster, settings)


def require_neutral(history: Path) -> None:
    """Check that a history does not name the machine that it was made on.

    Raises:
        SandboxError: it does; the message has the table and the name.
    """
    names = {socket.gethostname(), str(Path.home()), str(Path.cwd()), getpass.getuser()} - {"root", "/root", "/"}
    for table in TABLES:
        text = str(read(history, table.name).to_pylist())
        if found := sorted(word for word in names if word in text):
            raise SandboxError(f"{table.name} of the recording names {', '.join(found)}: record as another user")


def summary(history: Path) -> str:
    """Summarize the recording in one line.

    Raises:
        SandboxError: a run of the sidecar is missing.
    """
    polls = read(history, "polls")
    times, runs = polls["time"].to_pylist(), set(polls["run"].to_pylist())
    if len(runs) != RUNS:
        raise SandboxError(f"the history has {len(runs)} runs of the sidecar and not {RUNS}")
    files = list(history.rglob("*.parquet"))
    size = sum(file.stat().st_size for file in files)
    return (
        f"{history}: {len(times)} polls of {len(runs)} processes in {max(times) - min(times):.0f} s,"
        f" {len(files)} files of {size / 1000:.0f} kB"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a recording and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.record", description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, required=True, help="folder for history/ and truth/")
    out: Path = parser.parse_args(arguments).out
    if any((out / name).exists() for name in ("history", "truth")):
        parser.error(f"--out: {out} already has a recording; remove it, or choose another folder")
    listen()
    tempfile.tempdir = NEUTRAL
    directory = Path(tempfile.mkdtemp(prefix="kafka-warden-record-"))
    try:
        with Screen(Console()) as screen:
            record(out, directory, screen)
    except (SandboxError, InterruptedDemo) as error:
        interrupt = interrupt_behind(error)
        shutil.rmtree(directory, ignore_errors=True)
        text: Any = "interrupted, everything is stopped" if interrupt else error
        print(f"record: {text}", file=sys.stderr)
        return interrupt.code if interrupt else 1
    shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
