"""The roll-up's stream as a real process, killed with SIGKILL in whatever step of a batch it is."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sandbox import wait_for
from tests.support.processes import run

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 600.0
"""Seconds until a batch has come to some step, on a machine that does much else."""
# Plans of tests run once: compiling them takes longer than running them would.
PLAIN = ("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN", "--conf", "spark.sql.codegen.wholeStage=false")

Step = Callable[[Path], set[Path]]
"""Returns, for a folder of marts, the files that a step of a batch has added."""


def rows_staged(output: Path) -> set[Path]:
    """Rows of a batch are there."""
    return set(output.glob("_rollup-stream/rows/window=*/batch=*"))


def first_mart_begun(output: Path) -> set[Path]:
    """The first mart is being written."""
    return set(output.glob("replica_minute/.spark-staging-*"))


def last_mart_begun(output: Path) -> set[Path]:
    """All marts but one are written."""
    return set(output.glob("broker_hour/.spark-staging-*"))


def books_written(output: Path) -> set[Path]:
    """The batch is done, and Spark may or may not know it."""
    return set(output.glob("_rollup-stream/books/*.json"))


def command(read: Path | str, output: Path, *flags: str) -> list[str]:
    """The command that streams a folder or a topic."""
    made = [sys.executable, "-m", "kafka_warden.cli", "pipeline", "rollup", "--stream", *flags, *PLAIN]
    return [*made, "--memory", "1g", "--master", "local[1]", "--input", str(read), "--output", str(output)]


@contextmanager
def running(read: Path | str, output: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run it in a process group of its own, JVM included, and kill all of it at the end."""
    given = command(read, output, *flags)
    with subprocess.Popen(given, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def running_in(step: Step, read: Path | str, output: Path, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run it until a batch is in a step, and kill it at the end."""
    before = step(output)
    with running(read, output, "--every", "1s", *flags) as process:
        wait_for(lambda: process.poll() is not None or bool(step(output) - before), TIME_LIMIT, step.__doc__ or "")
        assert process.poll() is None, "it ended by itself"
        yield process


def killed_in(step: Step, read: Path | str, output: Path, *flags: str) -> None:
    """Run it until a batch is in a step, and kill it there."""
    with running_in(step, read, output, *flags):
        pass


def finished(read: Path | str, output: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run it until it has taken all that is there, and return what it said."""
    return run(*command(read, output, "--until-done", *flags), cwd=ROOT, timeout=TIME_LIMIT)


def is_alive(group: int) -> bool:
    """Return whether a process of a group runs, for example a JVM whose parent has ended."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its = file.read_text().rpartition(")")[2].split()[:3]
            if int(its) == group and state != "Z":
                return True
    return False
