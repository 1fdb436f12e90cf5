"""The jar with what Delta lacks on S3 (docs/pipeline-store.md, *Two runs at once*).

`PutIfAbsent.java` lets S3 decide which of two drivers commits, `ListFrom.java` lists no old entries of a log. They are
compiled here by Janino: Spark compiles queries by it, so it is always there.
"""

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Final

import pyspark

from kafka_warden.errors import ConfigError

CLASS: Final = "kafka_warden.PutIfAbsent"
SETTING: Final = "spark.hadoop.fs.s3a.audit.execution.interceptors"
"""S3A's list of classes that see each request to S3 before it is signed."""
LOG_STORE: Final = {"spark.delta.logStore.s3a.impl": "kafka_warden.ListFrom"}
"""Delta's setting for the class by which it lists and writes logs."""
JAR: Final = "kafka-warden-s3.jar"
TIMEOUT: Final = 120
"""Seconds."""

_SOURCES: Final = tuple(Path(__file__).with_name(f"{name}.java") for name in ("PutIfAbsent", "ListFrom"))
_COMPILER: Final = "org.codehaus.commons.compiler.samples.CompilerDemo"
"""Janino's command line."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def build(folder: Path) -> None:
    """Put the jar into a folder that has those of S3.

    Raises:
        ConfigError: there is no Java, it failed, or it took too long.
    """
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder) as scratch:
        _compile(folder, Path(scratch))
        with zipfile.ZipFile(Path(scratch) / JAR, "w") as jar:
            for name in map(_class_file, _SOURCES):
                # Without the time, the same source makes the same jar.
                jar.writestr(zipfile.ZipInfo(name, _EPOCH), (Path(scratch) / name).read_bytes())
        (Path(scratch) / JAR).replace(folder / JAR)


def _class_file(source: Path) -> str:
    return f"kafka_warden/{source.stem}.class"


def _compile(folder: Path, to: Path) -> None:
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin{os.pathsep}{os.environ.get('PATH', '')}")
    if java is None:
        raise ConfigError("java is not on the PATH, nor in JAVA_HOME: install a JRE 17 or newer")
    spark = Path(pyspark.__file__).parent / "jars"

    def of_spark(*names: str) -> list[str]:
        return [str(file) for name in names for file in spark.glob(f"{name}-*.jar")]

    compiler = os.pathsep.join(of_spark("janino", "commons-compiler"))
    libraries = os.pathsep.join([*map(str, folder.glob("*.jar")), *of_spark("hadoop-client-api", "slf4j-api")])
    command = [java, "-cp", compiler, _COMPILER, "-d", str(to), "-classpath", libraries]
    command += map(str, _SOURCES)
    try:
        # No shell, and nothing of it is from outside.
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired as late:
        raise ConfigError(f"java took more than {TIMEOUT} s to compile; start the command again") from late
    if done.returncode or not all((to / name).is_file() for name in map(_class_file, _SOURCES)):
        names = ", ".join(source.name for source in _SOURCES)
        raise ConfigError(f"{names}: not compiled: {(done.stdout + done.stderr).strip()[:500] or 'no message'}")
