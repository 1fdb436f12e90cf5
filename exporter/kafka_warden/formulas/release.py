"""Releases of Kafka, such as `4.1`."""

import re


def is_since(kafka_version: str | None, since: tuple[int, int]) -> bool:
    """Return whether a release has what came with another one. An unknown release counts as new."""
    release = re.match(r"(\d{1,4})\.(\d{1,4})(?!\d)", kafka_version or "")
    return release is None or (int(release[1]), int(release[2])) >= since
