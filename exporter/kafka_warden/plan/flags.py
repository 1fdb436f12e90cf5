"""The flags of `kafka-warden plan`, read as strictly as the configuration and by its own parsers."""

from collections.abc import Mapping
from typing import Any, Final

from kafka_warden.config import values
from kafka_warden.config.flags import flag_name, read_values
from kafka_warden.errors import ConfigError
from kafka_warden.plan.command import CreationRequest, MoveRequest

MEASURE: Final = 36.0
"""Seconds. Slightly more than three quota windows, which throttle-law.md's means are of."""
LEAST_MEASURE: Final = 2.0
"""Seconds. Two polls closer together show a producer's batch and not a rate."""
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
        topic, move = flag_name(topics[0]), flag_name(moves[0])
        raise ConfigError(f"{topic}: does not go with {move}; plan a move or a topic, one at a time")
    if given["topic"] is not None:
        return _creation(given)
    if given["reassignment"] is None:
        raise ConfigError("plan: give --reassignment FILE, or --topic NAME --partitions P --replication-factor R")
    return _move(given)


def _move(given: Mapping[str, Any]) -> MoveRequest:
    read = read_values(
        given, {"deadline": values.duration, "max_network_share": values.share, "measure": values.duration}
    )
    measure = MEASURE if read["measure"] is None else read["measure"]
    if measure < LEAST_MEASURE:
        raise ConfigError(f"--measure: expected {LEAST_MEASURE:g}s or more, got {given['measure']!r}")
    return MoveRequest(given["reassignment"], read["deadline"], read["max_network_share"], measure, given["rollback"])


def _creation(given: Mapping[str, Any]) -> CreationRequest:
    for name in _OF_TOPICS:
        if given[name] is None:
            raise ConfigError(f"--topic: needs {flag_name(name)}, too")
    read = read_values(given, {"partitions": values.whole_number, "replication_factor": values.whole_number})
    if read["partitions"] > MOST_PARTITIONS:
        raise ConfigError(f"--partitions: expected {MOST_PARTITIONS} or less, got {read['partitions']}")
    return CreationRequest(given["topic"], read["partitions"], read["replication_factor"])
