"""Writes the page where the marts are: into a folder, or by Hadoop's file systems to an address."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from kafka_warden.errors import MartError
from kafka_warden.pipeline.storage import Storage

FILE: Final = "report.html"


def save(spark: SparkSession, text: str, output: Path | str) -> str:
    """Replace the page in a folder, made if need be, and return its place. Who reads meets the old one or the new one.

    Raises:
        MartError: It cannot be written there.
    """
    address = urlsplit(str(output))
    if address.scheme in {"", "file"}:
        return _to_folder(text, Path(unquote(address.path)) if address.scheme else Path(output))
    place = f"{str(output).rstrip('/')}/{FILE}"
    Storage(spark).write(place, text)
    return place


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
