"""Jars of Kafka and of its tools: Maven resolves them once per version into the cache directory.

The cache is `.cache/kafka-<version>` and `.cache/tools-<version>` below the repository; the environment variable
SANDBOX_CACHE names another directory in place of `.cache`. Maven compares every jar with the sum beside it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.settings import TIERED_JAR_UNTIL, TIERED_SINCE, release

CACHE_VARIABLE = "SANDBOX_CACHE"
MAVEN_TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class _Wanted:
    """What Maven resolves.

    Attributes:
        name: For people.
        folder: In the cache, before the version.
        pom: Its dependencies.
        setting: The property of the pom that is the version.
    """

    name: str
    folder: str
    pom: Path
    setting: str


KAFKA = _Wanted("Kafka", "kafka", Path(__file__).with_name("pom.xml"), "kafka.version")
TOOLS = _Wanted("Kafka's tools", "tools", Path(__file__).with_name("tools.xml"), "kafka.version")

OLD_NAME = Path(__file__).with_name("LogContext.java")
"""What LocalTieredStorage needs to run in a broker after `TIERED_JAR_UNTIL`."""

AGENTS = _Wanted("jmx_exporter's agent", "agents", Path(__file__).with_name("agents.xml"), "jmx_exporter.version")


def cache_directory() -> Path:
    """The directory for downloads that take long."""
    configured = os.environ.get(CACHE_VARIABLE)
    return Path(configured) if configured else Path(__file__).resolve().parent.parent / ".cache"


def class_path(version: str) -> str:
    """The class path of Kafka `version`, resolved on first use.

    Raises:
        SandboxError: Maven is missing or could not resolve the version.
    """
    return os.fspath(jars(version) / "*")


def jars(version: str) -> Path:
    """The directory with the jars of Kafka `version`: complete whenever it exists, resolved on first use.

    Raises:
        SandboxError: Maven is missing or could not resolve the version.
    """
    return _directory(KAFKA, version)


def tools(version: str) -> Path:
    """The directory with the jars of the command-line tools of Kafka `version`, resolved on first use.

    Raises:
        SandboxError: Maven is missing or could not resolve the version.
    """
    return _directory(TOOLS, version)


def agents(version: str) -> Path:
    """The directory with the jars of the agents, that of jmx_exporter in this version, resolved on first use.

    Raises:
        SandboxError: Maven is missing or could not resolve the version.
    """
    return _directory(AGENTS, version)


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """A directory of the cache, complete whenever it exists; `make` fills it on first use, one process at a time.

    `make` gets the path of a directory that does not exist yet, in a scratch directory of its own.
    """
    directory = cache_directory() / name
    if directory.is_dir():
        return directory
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.is_dir():
            with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=directory.parent) as scratch:
                made = Path(scratch) / "made"
                make(made)
                made.rename(directory)
    return directory


def _directory(wanted: _Wanted, version: str) -> Path:
    return cached(f"{wanted.folder}-{version}", lambda made: _resolve(wanted, version, made))


def _resolve(wanted: _Wanted, version: str, directory: Path) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version):
        raise SandboxError(f"{wanted.name} version {version!r} is not a version such as 4.1.1")
    if shutil.which("mvn") is None:
        raise SandboxError(f"mvn is not on the PATH: install Maven, it resolves the jars of {wanted.name}")
    command = ["mvn", "-q", "-B", "-C", "-f", os.fspath(wanted.pom), "dependency:copy-dependencies"]
    command += [f"-D{wanted.setting}={version}", f"-DoutputDirectory={directory}", "-DincludeScope=runtime"]
    if wanted is KAFKA and release(version) >= TIERED_SINCE:
        command += ["-Ptiered", f"-Dtiered.version={min(version, TIERED_JAR_UNTIL, key=release)}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"Maven took more than {MAVEN_TIMEOUT_SECONDS} s for {wanted.name} {version}") from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise SandboxError(f"Maven could not resolve {wanted.name} {version}: {' '.join(lines[:1]) or 'no message'}")
    if wanted is KAFKA and release(version) > release(TIERED_JAR_UNTIL):
        _compile(OLD_NAME, directory)


def _compile(source: Path, jars_of_kafka: Path) -> None:
    """Add a jar with one class that is compiled against the other jars of the directory."""
    with tempfile.TemporaryDirectory() as classes:
        command = ["javac", "--release", "17", "-cp", f"{jars_of_kafka}/*", "-d", classes, os.fspath(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SandboxError(f"javac could not compile {source.name}: {done.stderr.strip()[:500]}")
        shutil.make_archive(os.fspath(jars_of_kafka / source.stem), "zip", classes)
    (jars_of_kafka / f"{source.stem}.zip").rename(jars_of_kafka / f"{source.stem}.jar")
