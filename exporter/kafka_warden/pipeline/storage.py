"""File operations that Spark does not offer, on any file system of Hadoop's."""

import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def address(folder: Path | str) -> str:
    """Return a folder as Spark expects it: with a scheme, without a final slash."""
    text = str(folder).rstrip("/")
    # Not `as_uri`: Hadoop does not decode `%20`.
    return text if "://" in text else f"file://{Path(text).absolute()}"


def literal(place: str) -> str:
    """Escape a path for Spark, which reads `[1]` and `{a,b}` as patterns."""
    return re.sub(r"([][{}*?\\])", r"\\\1", place)


class Storage:
    """Hadoop's file systems. Addresses have a scheme."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        jvm: Any = context._jvm  # noqa: SLF001  # pyspark has no other way to Hadoop's file systems
        settings: Any = context._jsc  # noqa: SLF001  # the same
        self._path = jvm.org.apache.hadoop.fs.Path
        self._settings = settings.hadoopConfiguration()

    def exists(self, place: str) -> bool:
        """Return whether a file or a folder exists."""
        path, system = self._find(place)
        return bool(system.exists(path))

    def names(self, folder: str) -> list[str]:
        """List the names in a folder; none if it does not exist."""
        path, system = self._find(folder)
        return sorted(entry.getPath().getName() for entry in system.listStatus(path)) if system.exists(path) else []

    def delete(self, place: str) -> None:
        """Delete a file, or a folder and its contents, if it exists."""
        path, system = self._find(place)
        system.delete(path, True)  # noqa: FBT003  # recursive; Java has no keywords

    def replace(self, new: str, old: str) -> bool:
        """Move `new` to `old`; return whether that succeeded.

        Hadoop has no atomic exchange: `old` is first renamed to `.OLD.old`, then deleted, and is absent between the two
        renames.
        """
        aside = self._beside(old, "old")
        source, system = self._find(new)
        target, _ = self._find(old)
        was, _ = self._find(aside)
        self.delete(aside)
        if system.exists(target) and not system.rename(target, was):
            return False
        done = bool(system.rename(source, target))
        self.delete(aside)
        return done

    def read(self, file: str) -> str:
        """Read a text."""
        path, system = self._find(file)
        stream = system.open(path)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, file: str, text: str) -> None:
        """Write a text; readers never see half of it."""
        beside = self._beside(file, "tmp")
        path, system = self._find(beside)
        stream = system.create(path, True)  # noqa: FBT003  # overwrite; Java has no keywords
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.replace(beside, file)

    @staticmethod
    def _beside(place: str, ending: str) -> str:
        folder, _, name = place.rpartition("/")
        return f"{folder}/.{name}.{ending}"

    def _find(self, place: str) -> tuple[Any, Any]:
        path = self._path(place)
        return path, path.getFileSystem(self._settings)
