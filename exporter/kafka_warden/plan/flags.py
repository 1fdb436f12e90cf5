"""The flags of `kafka-warden plan`, read as strictly as the configuration."""

from collections.abc import Mapping
from typing import Any, Final

from kafka_warden.config import values
from kafka_warden.config.flags import flag_name, read_values
from kafka_warden.errors import ConfigError
from kafka_warden.plan.command import CreationRequest, MoveRequest

MEASURE: Final = 36.0
"""Seconds: slightly more than three quota windows, as for the means of docs/spec/lag.md#bytes-in."""
LEAST_MEASURE: Final = 2.0
"""Seconds. In a shorter time single batches of a producer hide its rate."""
MOST_PARTITIONS: Final = 1_000_000

_OF_MOVES: Final = ("reassignment", "deadline", "max_network_share", "measure", "inbound", "rollback")
_OF_TOPICS: Final = ("topic", "partitions", "replication_factor")


def read(flags: Mapping[str, Any]) -> MoveRequest | CreationRequest:
    """Make a request from the flags by name; `None` is a flag that was not set.

    Raises:
        ConfigError: flags that cannot be combined, or a bad value.
    """
    moves, topics = ([name for name in names if flags[name] is not None] for names in (_OF_MOVES, _OF_TOPICS))
    if moves and topics:
        topic, move = flag_name(topics[0]), flag_name(moves[0])
        raise ConfigError(f"{topic}: cannot be used with {move}; plan either a move or a topic")
    if flags["topic"] is not None:
        return _creation(flags)
    if flags["reassignment"] is None:
        raise ConfigError("plan: give --reassignment FILE, or --topic NAME --partitions P")
    return _move(flags)


def _move(flags: Mapping[str, Any]) -> MoveRequest:
    read = read_values(
        flags, {"deadline": values.duration, "max_network_share": values.share, "measure": values.duration}
    )
    measure, inbound = MEASURE if read["measure"] is None else read["measure"], flags["inbound"]
    if measure < LEAST_MEASURE:
        raise ConfigError(f"--measure: expected {LEAST_MEASURE:g}s or more, got {flags['measure']!r}")
    if inbound is not None and read["measure"] is not None:
        raise ConfigError("--inbound: cannot be used with --measure; the file has the rates")
    return MoveRequest(
        flags["reassignment"],
        read["deadline"],
        read["max_network_share"],
        measure if inbound is None else 0.0,
        flags["rollback"],
        inbound,
    )


def _creation(flags: Mapping[str, Any]) -> CreationRequest:
    if flags["partitions"] is None:
        raise ConfigError("--topic: needs --partitions")
    read = read_values(flags, {"partitions": values.whole_number, "replication_factor": values.whole_number})
    if read["partitions"] > MOST_PARTITIONS:
        raise ConfigError(f"--partitions: expected {MOST_PARTITIONS} or less, got {read['partitions']}")
    return CreationRequest(flags["topic"], read["partitions"], read["replication_factor"])
