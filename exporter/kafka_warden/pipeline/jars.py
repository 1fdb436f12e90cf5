"""`kafka-warden pipeline jars`: fetches the jars that pyspark does not have by Maven, and checks them.

`jars.txt` lists each with its SHA-256. Where Maven fetches from is in Maven's own settings.

With those of S3 comes a jar with what Delta lacks there (docs/pipeline-store.md, *Two runs at once*):
`PutIfAbsent.java` lets S3 decide which of two drivers commits, `ListFrom.java` lists no old entries of a log. They are
compiled here by Janino: Spark compiles queries by it, so it is always there.
"""

import hashlib
import os
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
from zipfile import ZipFile, ZipInfo

import pyspark

from kafka_warden.errors import ConfigError

COMMAND: Final = "jars"
ABOUT: Final = "fetch the jars of tables, of the topic and of S3 by Maven"
S3: Final = "s3"
"""The set that is fetched only if it is asked for: 49 jars of 15 MB."""
NOTICES: Final = "NOTICES.txt"
"""File beside the jars."""
TIMEOUT: Final = 900
"""Seconds for Maven, and for Java."""

PUT_IF_ABSENT: Final = "kafka_warden.PutIfAbsent"
INTERCEPTORS: Final = "spark.hadoop.fs.s3a.audit.execution.interceptors"
"""S3A's list of classes that see each request to S3 before it is signed."""
LOG_STORE: Final = {"spark.delta.logStore.s3a.impl": "kafka_warden.ListFrom"}
"""Delta's setting for the class by which it lists and writes logs."""
COMPILED: Final = "kafka-warden-s3.jar"
"""The jar with both classes."""

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
_SOURCES: Final = tuple(Path(__file__).with_name(f"{name}.java") for name in ("PutIfAbsent", "ListFrom"))
_COMPILER: Final = "org.codehaus.commons.compiler.samples.CompilerDemo"
"""Janino's command line."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


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
    try:
        fetch(wanted, parsed.to)
        (parsed.to / NOTICES).write_text("\n".join(notices(wanted, parsed.to)), encoding="utf-8")
        if parsed.s3:
            build(parsed.to)
    except OSError as problem:
        raise ConfigError(f"--to: {parsed.to}: {problem.strerror or problem}") from problem
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
        OSError: the folder cannot be written.
    """
    missing = [jar for jar in wanted if not _is_right(folder / jar.file, jar)]
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    # Maven takes a relative path from the folder of the pom.
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder.absolute()) as scratch:
        _resolve(missing, Path(scratch))
        wrong = [jar.file for jar in missing if not _is_right(Path(scratch) / jar.file, jar)]
        if wrong:
            raise ConfigError(f"{', '.join(wrong)}: not the file with the SHA-256 of {_LIST.name}; nothing is kept")
        for jar in missing:
            (Path(scratch) / jar.file).replace(folder / jar.file)


def _is_right(file: Path, jar: Jar) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == jar.sha256


def _resolve(jars: Sequence[Jar], folder: Path) -> None:
    if shutil.which("mvn") is None:
        raise ConfigError("mvn is not on the PATH: install Maven, it fetches the jars (Debian: apt-get install maven)")
    entries = (_DEPENDENCY.format(*map(escape, (jar.group, jar.artifact, jar.version))) for jar in jars)
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(entries)))
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}")
    code, printed = _output("mvn", "-q", "-B", "-C", "-f", pom, *goal)
    if code:
        lines = [line for line in printed.splitlines() if "ERROR" in line]
        raise ConfigError(f"Maven could not fetch the jars: {' '.join(lines[:1]) or 'no message'}")


def build(folder: Path) -> None:
    """Put the jar `COMPILED` into a folder that has those of S3.

    Raises:
        ConfigError: there is no Java, it failed, or it took too long.
    """
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder) as scratch:
        _compile(folder, Path(scratch))
        with ZipFile(Path(scratch) / COMPILED, "w") as jar:
            for name in map(_class_file, _SOURCES):
                # Without the time, the same source makes the same jar.
                jar.writestr(ZipInfo(name, _EPOCH), (Path(scratch) / name).read_bytes())
        (Path(scratch) / COMPILED).replace(folder / COMPILED)


def _class_file(source: Path) -> str:
    return f"kafka_warden/{source.stem}.class"


def _compile(folder: Path, to: Path) -> None:
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin{os.pathsep}{os.environ.get('PATH', '')}")
    if java is None:
        raise ConfigError("java is not on the PATH, nor in JAVA_HOME: install a JRE 17 or newer")
    spark = Path(pyspark.__file__).parent / "jars"

    def path_of(*names: str) -> str:
        return os.pathsep.join(str(file) for name in names for file in spark.glob(f"{name}-*.jar"))

    libraries = os.pathsep.join([*map(str, folder.glob("*.jar")), path_of("hadoop-client-api", "slf4j-api")])
    compiler = ("-cp", path_of("janino", "commons-compiler"), _COMPILER)
    code, printed = _output(java, *compiler, "-d", to, "-classpath", libraries, *_SOURCES)
    if code or not all((to / name).is_file() for name in map(_class_file, _SOURCES)):
        names = ", ".join(source.name for source in _SOURCES)
        raise ConfigError(f"{names}: not compiled: {printed.strip()[:500] or 'no message'}")


def _output(program: str, *arguments: Path | str) -> tuple[int, str]:
    """Run a program; return its exit code and all that it printed."""
    try:
        # No shell, and nothing of it is from outside.
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as late:
        raise ConfigError(f"{Path(program).name} took more than {TIMEOUT} s; start the command again") from late
    return done.returncode, done.stdout + done.stderr
