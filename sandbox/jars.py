"""Kafka's jars: Maven resolves them once per version into the cache directory.

The cache is `.cache/kafka-<version>` below the repository; the environment variable SANDBOX_CACHE names another
directory in place of `.cache`.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from sandbox.errors import SandboxError

CACHE_VARIABLE = "SANDBOX_CACHE"
POM = Path(__file__).with_name("pom.xml")
MAVEN_TIMEOUT_SECONDS = 600


def cache_directory() -> Path:
    """The directory that holds what is expensive to fetch."""
    configured = os.environ.get(CACHE_VARIABLE)
    return Path(configured) if configured else Path(__file__).resolve().parent.parent / ".cache"


def class_path(version: str) -> str:
    """The class path of Kafka `version`, resolved on first use.

    Raises:
        SandboxError: Maven is missing or could not resolve the version.
    """
    return os.fspath(jars(version) / "*")


def jars(version: str) -> Path:
    """The directory with the jars of Kafka `version`: complete whenever it exists, resolved on first use."""
    directory = cache_directory() / f"kafka-{version}"
    if not directory.is_dir():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with (directory.parent / f"kafka-{version}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not directory.is_dir():
                _resolve(version, directory)
    return directory


def _resolve(version: str, directory: Path) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version):
        raise SandboxError(f"Kafka version {version!r} is not a version such as 4.1.1")
    if shutil.which("mvn") is None:
        raise SandboxError("mvn is not on the PATH: install Maven, it resolves Kafka's jars")
    with tempfile.TemporaryDirectory(prefix=f"kafka-{version}.", dir=directory.parent) as scratch:
        resolved = Path(scratch) / "jars"
        command = ["mvn", "-q", "-B", "-f", os.fspath(POM), "dependency:copy-dependencies"]
        command += [f"-Dkafka.version={version}", f"-DoutputDirectory={resolved}", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise SandboxError(f"Maven took more than {MAVEN_TIMEOUT_SECONDS} s for Kafka {version}") from error
        if done.returncode:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            raise SandboxError(f"Maven could not resolve Kafka {version}: {' '.join(lines[:1]) or 'no message'}")
        resolved.rename(directory)
