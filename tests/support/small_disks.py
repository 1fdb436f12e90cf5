"""Small file systems: what happens when a disk is full has to be tried on one."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import Cluster
from tests.support.processes import run

MEGABYTE = 1_000_000


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a file system of this size in a new folder; where that is not possible, skip the test and say so."""
    folder.mkdir()
    tried = run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "small", folder)
    if tried.returncode:
        folder.rmdir()
        pytest.skip(f"a small file system needs root and the right to mount: {tried.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def small_log_dir(
    cluster: Cluster, broker: int, log_dir: Path, megabytes: float
) -> Iterator[Callable[[float | None], None]]:
    """Give a log directory a small file system of its own; what is yielded leaves so much room there, None empties it.

    That takes root and the right to mount; where there is none the test is skipped and says so.
    """
    with small_disk(log_dir.with_name("probe"), 1024):
        pass
    cluster.stop(broker)
    kept = log_dir.rename(log_dir.with_name("kept"))
    log_dir.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes:g}m", "small", str(log_dir)], check=True)
    filler = log_dir / "filler.bin"

    def leave(room: float | None) -> None:
        filler.unlink(missing_ok=True)
        left = shutil.disk_usage(log_dir).free
        if room is not None:
            with filler.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, left - int(room * MEGABYTE))

    try:
        shutil.copytree(kept, log_dir, dirs_exist_ok=True)
        cluster.start(broker)
        cluster.wait_ready(broker)
        yield leave
    finally:
        filler.unlink(missing_ok=True)
        cluster.stop(broker)
        subprocess.run(["umount", str(log_dir)], check=True)
        cluster.wipe(broker)
        cluster.start(broker)
