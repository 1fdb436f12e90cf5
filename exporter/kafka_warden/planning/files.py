"""The files of a plan: the wanted reassignment, the rollback, and inbound rates (docs/reference/plan.md).

`kafka-warden pipeline plan` writes inbound rates, and `kafka-warden plan` reads them.
"""

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from kafka_warden.errors import ConfigError, PlanError
from kafka_warden.history.poll import topic_id_text
from kafka_warden.model import Snapshot
from kafka_warden.planning.inbound import Percentile
from kafka_warden.planning.reassignment import Target, parse_reassignment
from kafka_warden.settings.strict import parse_json, read_file, reason, special_file

LARGEST: Final = 256 << 20
"""Bytes: ten times what 200,000 partitions need."""


def read_targets(file: Path) -> tuple[Target, ...]:
    """Read a reassignment in the format of kafka-reassign-partitions.

    Raises:
        PlanError: it cannot be read or planned; the message names the file.
    """
    try:
        return parse_reassignment(read_text(file))
    except OSError as failure:
        raise PlanError(f"{file}: cannot read the file: {reason(failure)}") from None
    except (PlanError, ValueError) as failure:
        raise PlanError(f"{file}: {failure}") from None


def write_rollback(file: Path | None, text: str) -> None:
    """Write the rollback, if a file is given. A file with another assignment stays: it may be from before the move.

    Raises:
        ConfigError: it has another assignment, or cannot be written.
    """
    if file is None:
        return
    try:
        if not file.exists():
            replace_file(file, text)
        elif read_text(file) != text:
            raise ConfigError(
                f"--rollback: {file} has another assignment, perhaps the one before the move; rename it, or use another"
                " file"
            )
    except (OSError, ValueError) as failure:
        raise ConfigError(f"--rollback: cannot write {file}: {reason(failure)}") from None


def read_text(file: Path) -> str:
    """Read a file of text.

    Raises:
        OSError: it cannot be read, or is no regular file.
        ValueError: it is too large, or not UTF-8.
    """
    content = read_file(file, LARGEST)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None


def replace_file(file: Path, text: str) -> None:
    """Write a file as a whole: a reader, or the next run, finds all of it or nothing.

    Raises:
        OSError: it cannot be written, or is no regular file.
        ValueError: the path has a NUL.
    """
    # For root, a rename would replace /dev/null itself.
    if special_file((file,)) is not None:
        raise OSError("not a regular file")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as beside:
        # Not the temporary file of `tempfile`: other users, such as that of the tool, may read this one.
        written = Path(beside) / file.name
        with written.open("w", encoding="utf-8") as content:
            content.write(text)
            content.flush()
            os.fsync(content.fileno())
        written.replace(file)


FORMAT: Final = 1
"""Increased when a key changes its meaning or is removed."""
PERCENT: Final = 100.0

_Partition = tuple[str, str, int]
"""Topic, its id as Kafka's tools print it, and number."""
_WHOLE: Final[Mapping[str, type]] = {
    "format": int,
    "cluster_id": str,
    "percentile": float,
    "polls": int,
    "first": float,
    "last": float,
    "partitions": list,
}
_ENTRY: Final[Mapping[str, type]] = {"topic": str, "topic_id": str, "partition": int, "bytes_per_second": float}
_EXPECTED: Final = {int: "a whole number from 0 on", float: "a number from 0 on", str: "text", list: "a list"}


@dataclass(frozen=True, slots=True)
class InboundFile:
    """A percentile of the inbound rates of one cluster."""

    cluster_id: str
    share: float
    polls: int
    first: float
    """Unix s of the first poll."""
    last: float
    rates: Mapping[_Partition, float]
    """Bytes per second."""

    def of(self, snapshot: Snapshot) -> Percentile:
        """Return the rates in the rows of a snapshot; those of a topic's former id do not count.

        Raises:
            ConfigError: the snapshot is of another cluster.
        """
        if snapshot.cluster_id != self.cluster_id:
            raise ConfigError(f"--inbound: has the rates of cluster {self.cluster_id}, not of {snapshot.cluster_id}")
        rates = [self.rates.get(key, math.nan) for key in _keys(snapshot)]
        return Percentile(self.share, np.array(rates), self.polls, self.first, self.last)


def write_inbound(file: Path, snapshot: Snapshot, inbound: Percentile) -> None:
    """Write the known rates of a cluster, one partition per line.

    Raises:
        ConfigError: the file cannot be written.
    """
    entries = (
        json.dumps({**dict(zip(_ENTRY, key, strict=False)), "bytes_per_second": rate})
        for key, rate in zip(_keys(snapshot), inbound.rates.tolist(), strict=True)
        if math.isfinite(rate)
    )
    of_all = (FORMAT, snapshot.cluster_id, PERCENT * inbound.share, inbound.polls, inbound.first, inbound.last)
    head = dict(zip(_WHOLE, of_all, strict=False))
    lines = ",\n".join(f"  {entry}" for entry in entries)
    try:
        replace_file(file, f'{json.dumps(head)[:-1]}, "partitions": [\n{lines}\n]}}\n')
    except (OSError, ValueError) as failure:
        raise ConfigError(f"--inbound: cannot write {file}: {reason(failure)}") from None


def read_inbound(file: Path) -> InboundFile:
    """Read the file.

    Raises:
        ConfigError: it cannot be used; the message names the place in it.
    """
    try:
        return _parsed(read_text(file))
    except OSError as failure:
        raise ConfigError(f"--inbound: {file}: cannot read the file: {reason(failure)}") from None
    except ValueError as failure:
        raise ConfigError(f"--inbound: {file}: {failure}") from None


def _parsed(text: str) -> InboundFile:
    version, cluster, percentile, polls, first, last, entries = _checked(parse_json(text), _WHOLE, "the file")
    if version != FORMAT:
        raise ValueError(f"expected format {FORMAT}, got {version}; write it again with this version")
    if not 0 < percentile <= PERCENT or first > last:
        raise ValueError("expected a percentile above 0 and up to 100, and first before last")
    rates: dict[_Partition, float] = {}
    for index, entry in enumerate(entries):
        topic, topic_id, number, rate = _checked(entry, _ENTRY, f"partitions[{index}]")
        if (topic, topic_id, number) in rates:
            raise ValueError(f"partitions[{index}]: {topic}-{number} appears twice")
        rates[topic, topic_id, number] = rate
    return InboundFile(cluster, percentile / PERCENT, polls, first, last, rates)


def _keys(snapshot: Snapshot) -> list[_Partition]:
    named = [(topic, topic_id_text(uid)) for topic, uid in zip(snapshot.topics, snapshot.topic_ids, strict=True)]
    partitions = snapshot.partitions
    rows = zip(partitions.topic.tolist(), partitions.number.tolist(), strict=True)
    return [(*named[topic], number) for topic, number in rows]


def _checked(content: Any, kinds: Mapping[str, type], place: str) -> tuple[Any, ...]:
    """Return the values in the order of their kinds.

    Raises:
        ValueError: a key is missing, unknown or of another kind.
    """
    if not isinstance(content, dict) or content.keys() != kinds.keys():
        raise ValueError(f"{place}: expected an object with the keys {', '.join(kinds)}")
    for name, kind in kinds.items():
        value = content[name]
        fits = isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
        if not fits or (isinstance(value, int | float) and value < 0):
            raise ValueError(f"{place}: {name}: expected {_EXPECTED[kind]}, got {json.dumps(value)[:60]}")
    return tuple(content[name] for name in kinds)
