"""The jar that lets S3 decide which of two drivers commits (docs/pipeline-store.md, *One writer*).

Its only class, `PutIfAbsent.java`, is compiled here by Janino: Spark compiles queries by it, so it is always there.
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
JAR: Final = "kafka-warden-put-if-absent.jar"
TIMEOUT: Final = 120
"""Seconds."""

_SOURCE: Final = Path(__file__).with_name("PutIfAbsent.java")
_COMPILER: Final = "org.codehaus.commons.compiler.samples.CompilerDemo"
"""Janino's command line."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def build(folder: Path) -> None:
    """Put the jar into a folder that has those of S3.

    Raises:
        ConfigError: there is no Java, or it failed.
    """
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder) as scratch:
        _compile(folder, Path(scratch))
        file = Path(CLASS.replace(".", "/")).with_suffix(".class")
        with zipfile.ZipFile(Path(scratch) / JAR, "w") as jar:
            # Without the time, the same source makes the same jar.
            jar.writestr(zipfile.ZipInfo(str(file), _EPOCH), (Path(scratch) / file).read_bytes())
        (Path(scratch) / JAR).replace(folder / JAR)


def _compile(folder: Path, to: Path) -> None:
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin{os.pathsep}{os.environ.get('PATH', '')}")
    if java is None:
        raise ConfigError("java is not on the PATH, nor in JAVA_HOME: install a JRE 17 or newer")
    spark = Path(pyspark.__file__).parent / "jars"
    compiler = [str(file) for name in ("janino-*.jar", "commons-compiler-*.jar") for file in spark.glob(name)]
    libraries = os.pathsep.join(map(str, folder.glob("*.jar")))
    command = [java, "-cp", os.pathsep.join(compiler), _COMPILER, "-d", str(to), "-classpath", libraries, str(_SOURCE)]
    # No shell, and nothing of it is from outside.
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)  # noqa: S603
    if done.returncode or not (to / CLASS.replace(".", "/")).with_suffix(".class").is_file():
        raise ConfigError(f"{_SOURCE.name}: not compiled: {(done.stdout + done.stderr).strip()[:500] or 'no message'}")
