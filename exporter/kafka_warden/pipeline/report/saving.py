"""Writes a page to the folder of the marts, or by Hadoop's file systems to an address."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from kafka_warden.errors import MartError
from kafka_warden.pipeline.storage import Storage


def save(spark: SparkSession, text: str, output: Path | str, name: str) -> str:
    """Replace a page atomically, create its folder if it is missing, and return its path.

    Raises:
        MartError: the page cannot be written.
    """
    address = urlsplit(str(output))
    if address.scheme in {"", "file"}:
        return _to_folder(text, (Path(unquote(address.path)) if address.scheme else Path(output)) / name)
    place = f"{str(output).rstrip('/')}/{name}"
    Storage(spark).write(place, text)
    return place


def _to_folder(text: str, place: Path) -> str:
    staged = place.with_name(f".{place.name}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(text, encoding="utf-8")
        staged.replace(place)
    except OSError as failure:
        raise MartError(f"{place}: cannot be written: {failure.strerror}; check the folder's permissions") from failure
    return str(place)
