"""Addresses of folders and files, as Spark reads them."""

import re
from pathlib import Path


def address(folder: Path | str) -> str:
    """Return a folder as Spark expects it: with a scheme, without a final slash."""
    text = str(folder).rstrip("/")
    # Not `as_uri`: Hadoop does not decode `%20`.
    return text if "://" in text else f"file://{Path(text).absolute()}"


def literal(place: str) -> str:
    """Escape a path for Spark, which reads `[1]` and `{a,b}` as patterns."""
    return re.sub(r"([][{}*?\\])", r"\\\1", place)
