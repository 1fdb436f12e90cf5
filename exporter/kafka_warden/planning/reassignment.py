"""The JSON of kafka-reassign-partitions, version 1: a strict reader, and a writer for the rollback.

The rules are those of `ReassignPartitionsCommand.parsePartitionReassignmentData` and `parseExecuteAssignmentArgs`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.errors import PlanError
from kafka_warden.settings.strict import parse_json

VERSION: Final = 1
ANY_LOG_DIR: Final = "any"
PROPOSED: Final = "Proposed partition reassignment configuration"
"""The line of `--generate` before the assignment that it proposes."""
_LARGEST: Final = 2**31 - 1
"""Partitions and brokers are int32 in the protocol."""


@dataclass(frozen=True, slots=True)
class Target:
    """One entry of the file: the wanted replicas of a partition."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    """Broker ids, the preferred leader first."""
    log_dirs: tuple[str | None, ...] = ()
    """Path by replica, `None` if the broker chooses; empty if the entry has no log_dirs."""
    place: str = ""
    """Place in the file, for messages: `partitions[0] (orders-1)`."""

    def log_dir(self, broker: int) -> str | None:
        """Return the path for the replica on a broker, `None` if the broker chooses."""
        return self.log_dirs[self.replicas.index(broker)] if self.log_dirs and broker in self.replicas else None


def parse_reassignment(text: str) -> tuple[Target, ...]:
    """Read the text of the file.

    Raises:
        PlanError: kafka-reassign-partitions would refuse it; the message names the entry.
    """
    try:
        content = parse_json(text)
    except ValueError as failure:
        raise PlanError(_line_to_keep(text) or f"not valid JSON: {failure}") from None
    if not isinstance(content, dict):
        raise PlanError('expected {"version":1,"partitions":[...]} at the top')
    # Without one the tool takes the first version.
    version = content.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise PlanError(f'expected "version":{VERSION}, got {_shown(version)}')
    entries = content.get("partitions")
    if not isinstance(entries, list) or not entries:
        raise PlanError('"partitions" must be a list with at least one entry')
    targets = tuple(_target(entry, f"partitions[{index}]") for index, entry in enumerate(entries))
    _check_unique(targets)
    return targets


def _line_to_keep(text: str) -> str:
    """Return what to keep of an output of the tool, which the tool does not read either; empty for other text."""
    lines = [line.strip() for line in text.splitlines()]
    documents = [number for number, line in enumerate(lines, 1) if line.startswith("{") and '"partitions"' in line]
    if not documents or len(lines) == 1:
        return ""
    proposed = [number for number in documents if PROPOSED in lines[:number]]
    what_it_is = "the whole output of --generate" if proposed else "an output of the tool"
    keep = proposed[:1] or documents
    what = f"line {keep[0]}" if len(keep) == 1 else f"one of the lines {', '.join(map(str, keep))}"
    return f"this is {what_it_is}, not a file for --execute: keep only {what}" + ", the proposed one" * bool(proposed)


def to_json(targets: Iterable[Target]) -> str:
    """Write targets as kafka-reassign-partitions reads them, one partition per line."""
    lines = ",\n".join(f"  {json.dumps(_entry(target))}" for target in targets)
    return f'{{"version":{VERSION},"partitions":[\n{lines}\n]}}\n'


def _entry(target: Target) -> dict[str, Any]:
    entry: dict[str, Any] = {"topic": target.topic, "partition": target.partition, "replicas": list(target.replicas)}
    if target.log_dirs:
        entry["log_dirs"] = [path or ANY_LOG_DIR for path in target.log_dirs]
    return entry


def _target(entry: Any, place: str) -> Target:
    if not isinstance(entry, dict):
        raise PlanError(f"{place}: expected an object with topic, partition and replicas")
    topic, partition = entry.get("topic"), entry.get("partition")
    if not isinstance(topic, str) or not topic:
        raise PlanError(f"{place}: topic must be a name, got {json.dumps(topic)}")
    if not isinstance(partition, int) or not _is_id(partition):
        raise PlanError(f"{place} ({topic}): partition must be a number from 0 on, got {_shown(partition)}")
    place = f"{place} ({topic}-{partition})"
    replicas = _replicas(entry.get("replicas"), place)
    return Target(topic, partition, replicas, _log_dirs(entry.get("log_dirs"), len(replicas), place), place)


def _replicas(value: Any, place: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(_is_id(broker) for broker in value):
        raise PlanError(f"{place}: replicas must be a list of broker ids, got {_shown(value)}")
    if not value:
        raise PlanError(f"{place}: replicas is empty; a partition needs at least one replica")
    duplicates = sorted({broker for broker in value if value.count(broker) > 1})
    if duplicates:
        raise PlanError(f"{place}: replicas names broker {duplicates[0]} twice")
    return tuple(value)


def _log_dirs(value: Any, replicas: int, place: str) -> tuple[str | None, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(path, str) for path in value):
        raise PlanError(f'{place}: log_dirs must be a list of paths or "any", got {_shown(value)}')
    if len(value) != replicas:
        raise PlanError(f"{place}: log_dirs has {len(value)} entries and replicas has {replicas}")
    relative = [path for path in value if path != ANY_LOG_DIR and not path.startswith("/")]
    if relative:
        raise PlanError(f'{place}: log_dirs must have absolute paths or "any", got {_shown(relative[0])}')
    return tuple(None if path == ANY_LOG_DIR else path for path in value)


def _check_unique(targets: tuple[Target, ...]) -> None:
    seen: dict[tuple[str, int], str] = {}
    for target in targets:
        first = seen.setdefault((target.topic, target.partition), target.place)
        if first != target.place:
            raise PlanError(f"{target.place}: is already in {first.partition(' ')[0]}")


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


_LONGEST_SHOWN: Final = 60


def _shown(value: Any) -> str:
    shown = "nothing" if value is None else json.dumps(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
