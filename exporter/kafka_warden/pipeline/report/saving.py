"""Writes a page to the folder of the store, a path or an address."""

from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from kafka_warden.errors import StoreError
from kafka_warden.history.parquet.reader import file_system


def save(text: str, folder: Path | str, name: str) -> str:
    """Replace a page as a whole, create its folder if it is missing, and return its place.

    Raises:
        ConfigError: the address cannot be used.
        StoreError: the page cannot be written.
    """
    system, path, start = file_system(folder)
    place = f"{path}/{name}"
    # An object store shows nothing of an object before it is complete.
    written = f"{path}/.{name}.tmp" if isinstance(system, pafs.LocalFileSystem) else place
    try:
        system.create_dir(path)
        # A browser shows an object of this type, and saves one without a type. A disk ignores it.
        with system.open_output_stream(written, metadata={"Content-Type": "text/html; charset=utf-8"}) as stream:
            stream.write(text.encode())
        if written != place:
            system.move(written, place)
    except (OSError, pa.ArrowException) as failure:
        raise StoreError(f"{folder}/{name}: cannot be written: {failure}; check the folder's permissions") from failure
    return f"{start}/{name}".removeprefix("file://")
