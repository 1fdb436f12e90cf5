"""Small things that Spark has no words for, on whatever file system Hadoop knows: is it there, move it, a text."""

import re
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def address(folder: Path | str) -> str:
    """A folder as Spark takes it: with a scheme, and no slash at its end."""
    text = str(folder).rstrip("/")
    # Not `as_uri`: Hadoop takes a path as it is written, `%20` for three characters.
    return text if "://" in text else f"file://{Path(text).absolute()}"


def literal(place: str) -> str:
    """A place as Spark reads it: one that is to be read takes `[1]` and `{a,b}` for a pattern."""
    return re.sub(r"([][{}*?\\])", r"\\\1", place)


class Storage:
    """What Spark itself writes by. Addresses have a scheme."""

    def __init__(self, spark: SparkSession) -> None:
        """Use the file systems of a session."""
        context = spark.sparkContext
        jvm: Any = context._jvm  # noqa: SLF001  # pyspark has no other way to Hadoop's file systems
        settings: Any = context._jsc  # noqa: SLF001  # the same
        self._path = jvm.org.apache.hadoop.fs.Path
        self._settings = settings.hadoopConfiguration()

    def exists(self, place: str) -> bool:
        """Tell whether a file or a folder is there."""
        path, system = self._find(place)
        return bool(system.exists(path))

    def names(self, folder: str) -> list[str]:
        """List what is in a folder; nothing when it is not there."""
        path, system = self._find(folder)
        return sorted(entry.getPath().getName() for entry in system.listStatus(path)) if system.exists(path) else []

    def delete(self, place: str) -> None:
        """Delete a file, or a folder with all that is in it; nothing happens when it is not there."""
        path, system = self._find(place)
        system.delete(path, True)  # noqa: FBT003  # Java takes it by place: with all that is in it

    def replace(self, new: str, old: str) -> bool:
        """Put one in the place of another, and tell whether it went well.

        What was there is moved aside before, as `.OLD.old`, and deleted after: Hadoop's file systems have no exchange.
        Between the two moves there is none.
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
        """Write a text; nobody ever reads half of it."""
        beside = self._beside(file, "tmp")
        path, system = self._find(beside)
        stream = system.create(path, True)  # noqa: FBT003  # Java takes it by place: over one that is left there
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
