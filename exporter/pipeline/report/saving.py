"""Writes the page where the marts are: into a folder, or by Hadoop's file systems to an address."""

from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from exporter.errors import MartError

FILE: Final = "report.html"


def save(spark: SparkSession, text: str, output: Path | str) -> str:
    """Replace the page in a folder, made if need be, and return its place. Who reads meets the old one or the new one.

    Raises:
        MartError: It cannot be written there.
    """
    address = urlsplit(str(output))
    if address.scheme in {"", "file"}:
        return _to_folder(text, Path(unquote(address.path)) if address.scheme else Path(output))
    return _to_address(spark, text, f"{str(output).rstrip('/')}/{FILE}")


def _to_folder(text: str, folder: Path) -> str:
    place = folder / FILE
    staged = place.with_name(f".{FILE}.tmp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staged.write_text(text, encoding="utf-8")
        staged.replace(place)
    except OSError as failure:
        raise MartError(
            f"{place}: cannot be written: {failure.strerror}; look at the rights of the folder"
        ) from failure
    return str(place)


def _to_address(spark: SparkSession, text: str, place: str) -> str:
    context = spark.sparkContext
    java: Any = context._jvm  # noqa: SLF001  # pyspark has no other way to Hadoop's file systems
    settings: Any = context._jsc  # noqa: SLF001  # the same
    path = java.org.apache.hadoop.fs.Path(place)
    stream = path.getFileSystem(settings.hadoopConfiguration()).create(path, True)  # noqa: FBT003  # Java takes it by place
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()
    return place
