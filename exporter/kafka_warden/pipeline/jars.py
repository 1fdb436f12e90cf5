"""`kafka-warden pipeline jars`: fetches the jars that pyspark does not have by Maven, and checks them.

`jars.txt` lists each with its SHA-256. Where Maven fetches from is in Maven's own settings.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape
from zipfile import ZipFile

from kafka_warden.errors import ConfigError
from kafka_warden.pipeline import put_if_absent

COMMAND: Final = "jars"
ABOUT: Final = "fetch the jars of tables, of the topic and of S3 by Maven"
S3: Final = "s3"
"""The set that is fetched only if it is asked for: 49 jars of 15 MB."""
NOTICES: Final = "NOTICES.txt"
"""File beside the jars."""
TIMEOUT: Final = 900
"""Seconds for Maven."""

_NOTICE: Final = re.compile(r"(META-INF/)?(LICENSE|NOTICE)[^/]*", re.IGNORECASE)
_LIST: Final = Path(__file__).with_name("jars.txt")
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka-warden</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY: Final = """
    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar."""

    of: str
    """Its set: `delta`, `kafka` or `s3`."""
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        """Its file name, as Maven's."""
        return f"{self.artifact}-{self.version}.jar"


def add_flags(command: ArgumentParser) -> None:
    """Add the flags of the command."""
    command.add_argument("--to", required=True, type=Path, metavar="FOLDER", help="created if missing")
    command.add_argument("--s3", action="store_true", help="also those of s3a://, 15 MB")


def run(parsed: Namespace) -> int:
    """Fetch what is missing; return the exit code.

    Raises:
        ConfigError: Maven or Java is missing or failed, or a jar is not the one of the list.
    """
    wanted = [jar for jar in listed() if jar.of != S3 or parsed.s3]
    fetch(wanted, parsed.to)
    try:
        (parsed.to / NOTICES).write_text("\n".join(notices(wanted, parsed.to)), encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"--to: {parsed.to}: {problem.strerror or problem}") from problem
    if parsed.s3:
        put_if_absent.build(parsed.to)
    return 0


def listed() -> list[Jar]:
    """Return all jars of the list."""
    text = _LIST.read_text()
    lines = (line.replace(":", " ").split() for line in text.splitlines() if not line.startswith("#"))
    return [Jar(of, group, artifact, version, sha256) for of, group, artifact, version, sha256 in lines]


def notices(jars: Iterable[Jar], folder: Path) -> Iterator[str]:
    """Yield what has to be passed on with the jars: where each is from, its licence, and the notices inside it."""
    for jar in jars:
        licence = "MIT-0" if jar.group == "org.reactivestreams" else "Apache-2.0"
        yield f"{'=' * 80}\n{jar.file}: {jar.group}:{jar.artifact}:{jar.version}, licence {licence}\n"
        with ZipFile(folder / jar.file) as inside:
            for name in filter(_NOTICE.fullmatch, inside.namelist()):
                yield f"{name}:\n{inside.read(name).decode(errors='replace')}"


def fetch(wanted: Iterable[Jar], folder: Path) -> None:
    """Fetch the jars that are not in a folder yet. A jar is there whole and checked, or not at all.

    Raises:
        ConfigError: as `run`.
    """
    missing = [jar for jar in wanted if not _is_right(folder / jar.file, jar)]
    if not missing:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Maven takes a relative path from the folder of the pom.
        with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder.absolute()) as scratch:
            _resolve(missing, Path(scratch))
            wrong = [jar.file for jar in missing if not _is_right(Path(scratch) / jar.file, jar)]
            if wrong:
                raise ConfigError(f"{', '.join(wrong)}: not the file with the SHA-256 of {_LIST.name}; nothing is kept")
            for jar in missing:
                (Path(scratch) / jar.file).replace(folder / jar.file)
    except OSError as problem:
        raise ConfigError(f"--to: {folder}: {problem.strerror or problem}") from problem


def _resolve(jars: Sequence[Jar], folder: Path) -> None:
    if shutil.which("mvn") is None:
        raise ConfigError("mvn is not on the PATH: install Maven, it fetches the jars (Debian: apt-get install maven)")
    entries = (_DEPENDENCY.format(*map(escape, (jar.group, jar.artifact, jar.version))) for jar in jars)
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(entries)))
    command = ["mvn", "-q", "-B", "-C", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    try:
        # No shell, and nothing of it is from outside.
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as late:
        raise ConfigError(f"Maven took more than {TIMEOUT} s; start the command again") from late
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise ConfigError(f"Maven could not fetch the jars: {' '.join(lines[:1]) or 'no message'}")


def _is_right(file: Path, jar: Jar) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == jar.sha256
