"""Jobs on a store in a bucket, as real processes that a request of theirs can stop or kill."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.fs as pafs

from tests.pipeline.commands import ROOT, SMALL
from tests.support.s3 import BUCKET, ENTRY, Bucket

STORE: Final = f"s3a://{BUCKET}/store"
LANDING: Final = f"s3a://{BUCKET}/landing"


def nightly(jars: Path, jobs: str = "ingest,rollup", landing: str = LANDING, store: str = STORE) -> list[str]:
    """What runs each night, in one process."""
    flags = [*SMALL, "--conf", "spark.hadoop.fs.s3a.path.style.access=true"]
    # Without `ingest` nothing has an input.
    source = ["--input", landing] if "ingest" in jobs else []
    job = ["pipeline", jobs, *source, "--store", store, "--jars", str(jars), *flags]
    return [sys.executable, "-m", "kafka_warden.cli", *job]


def environment(bucket: Bucket | None) -> dict[str, str]:
    return {**os.environ, **(bucket.environment() if bucket else {})}


@contextmanager
def running(command: list[str], bucket: Bucket | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a process group of its own, JVM included, and kill all of it at the end."""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(bucket), stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@dataclass
class At:
    """A hook of a bucket: acts once at the put of a log entry, counted from 1 since this was made."""

    number: int
    act: Callable[[], None]
    matches: Callable[[str], bool] = lambda _: True

    def __post_init__(self) -> None:
        self._left = self.number
        self._lock = threading.Lock()

    def __call__(self, method: str, path: str) -> None:
        if method == "PUT" and ENTRY.search(path) and self.matches(path):
            with self._lock:
                self._left -= 1
                now = self._left == 0
            if now:
                self.act()


def system(bucket: Bucket) -> pafs.S3FileSystem:
    """The bucket for pyarrow."""
    return pafs.S3FileSystem(
        access_key="tests", secret_key="tests", region="us-east-1", endpoint_override=bucket.address
    )


def make(bucket: Bucket) -> None:
    pafs.S3FileSystem(
        access_key="tests",
        secret_key="tests",
        region="us-east-1",
        endpoint_override=bucket.address,
        allow_bucket_creation=True,
    ).create_dir(BUCKET)


def upload(bucket: Bucket, folder: Path, place: str) -> None:
    pafs.copy_files(str(folder), f"{BUCKET}/{place}", destination_filesystem=system(bucket))


def download(bucket: Bucket, place: str, folder: Path) -> Path:
    """Copy a part of the bucket to a disk. A Delta table is the same at another place."""
    folder.mkdir(parents=True)
    pafs.copy_files(f"{BUCKET}/{place}", str(folder), source_filesystem=system(bucket))
    return folder
