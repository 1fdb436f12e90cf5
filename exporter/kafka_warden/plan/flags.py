"""The flags of `kafka-warden plan`, read as strictly as the configuration and by its own parsers."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from kafka_warden.config import values
from kafka_warden.errors import ConfigError
from kafka_warden.plan.command import CreationRequest, MoveRequest

T = TypeVar("T")

MEASURE: Final = "36s"
"""Three quota windows and a bit: what throttle-law.md's means are of."""
LEAST_MEASURE: Final = 2.0
"""Seconds below which two polls tell more of a batch than of a rate."""
MOST_PARTITIONS: Final = 1_000_000

_OF_MOVES: Final = ("reassignment", "deadline", "max_network_share", "measure", "rollback")
_OF_TOPICS: Final = ("topic", "partitions", "replication_factor")


def read(given: Mapping[str, Any]) -> MoveRequest | CreationRequest:
    """Make a request of the flags by their name; `None` is one that is not given.

    Raises:
        ConfigError: flags that do not go together, or a value that cannot be used.
    """
    moves, topics = ([name for name in names if given[name] is not None] for names in (_OF_MOVES, _OF_TOPICS))
    if moves and topics:
        raise ConfigError(f"{_flag(topics[0])}: does not go with {_flag(moves[0])}; plan a move or a topic, one a time")
    if given["topic"] is not None:
        return _creation(given)
    if given["reassignment"] is None:
        raise ConfigError("plan: give --reassignment FILE, or --topic NAME --partitions P --replication-factor R")
    return _move(given)


def _move(given: Mapping[str, Any]) -> MoveRequest:
    measure = _value(given, "measure", values.duration, MEASURE)
    if measure < LEAST_MEASURE:
        raise ConfigError(f"--measure: expected {LEAST_MEASURE:g}s or more, got {given['measure']!r}")
    return MoveRequest(
        file=given["reassignment"],
        deadline=_value(given, "deadline", values.duration),
        share=_value(given, "max_network_share", values.share),
        measure=measure,
        rollback=given["rollback"],
    )


def _creation(given: Mapping[str, Any]) -> CreationRequest:
    for name in _OF_TOPICS:
        if given[name] is None:
            raise ConfigError(f"--topic: needs {_flag(name)}, too")
    partitions = _value(given, "partitions", values.whole_number)
    if partitions > MOST_PARTITIONS:
        raise ConfigError(f"--partitions: expected {MOST_PARTITIONS} or less, got {partitions}")
    return CreationRequest(given["topic"], partitions, _value(given, "replication_factor", values.whole_number))


def _value(given: Mapping[str, Any], name: str, parse: Callable[[object], T], default: str | None = None) -> Any:
    text = default if given[name] is None else given[name]
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as failure:
        raise ConfigError(f"{_flag(name)}: {failure}") from None


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
