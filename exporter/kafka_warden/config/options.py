"""Every option outside `kafka`, as data: its key, how its value is read, and its default as the user would write it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kafka_warden.config import values

DEFAULT_DEADLINE: Final = 5.0
"""Seconds; half the interval where that is less."""


@dataclass(frozen=True, slots=True)
class Option:
    """One key of the configuration, dotted."""

    key: str
    read: Callable[[object], Any]
    default: Any = None
    path: bool = False
    """The value is a path: a relative one in the file is taken from the file's folder."""


OPTIONS: Final = (
    Option("jmx.port", values.port),
    Option("jmx.brokers", values.numbered_addresses, {}),
    Option("jmx.controllers", values.maybe_numbered_addresses, []),
    Option("jmx.user", values.text),
    Option("jmx.password_file", values.text, path=True),
    Option("jmx.tls.ca_file", values.text, path=True),
    Option("jmx.tls.cert_file", values.text, path=True),
    Option("jmx.tls.key_file", values.text, path=True),
    Option("jmx.tls.registry", values.boolean, "true"),
    Option("controllers.bootstrap", values.addresses, []),
    Option("controllers.quota_window", values.duration),
    Option("poll.interval", values.duration, "10s"),
    Option("poll.deadline", values.duration),
    Option("poll.log_dirs", values.duration, "60s"),
    Option("topics.allow", values.patterns, [".*"]),
    Option("topics.deny", values.patterns, []),
    Option("state.path", values.text, "kafka-warden.state", path=True),
    Option("web.listen", values.listen_address, "127.0.0.1:10073"),
    Option("web.config_file", values.text, path=True),
    Option("limits.series", values.whole_number, 20_000),
    Option("limits.max_broker_partitions", values.whole_number),
    Option("limits.max_partitions", values.whole_number),
    Option("network.bytes_per_second", values.rate),
    Option("moves.deadline", values.duration, "4h"),
    Option("moves.grace", values.duration, "60s"),
    Option("history.interval", values.duration),
    Option("history.kafka.topic", values.topic),
    Option("history.parquet.path", values.text, path=True),
    Option("history.parquet.roll", values.duration, "1h"),
    Option("history.parquet.retention", values.duration, "7d"),
    Option("log.level", values.choice("debug", "info", "warning", "error"), "info"),
    Option("log.format", values.choice("logfmt", "json", "console"), "logfmt"),
)

BY_KEY: Final = {option.key: option for option in OPTIONS}

FLAGS: Final = {
    "--bootstrap-servers": "kafka.bootstrap.servers",
    "--jmx-port": "jmx.port",
    "--poll-interval": "poll.interval",
    "--listen": "web.listen",
    "--network": "network.bytes_per_second",
    "--log-level": "log.level",
    "--log-format": "log.format",
}
"""Flags beside `--config`. None takes a secret: `ps` shows them to everyone."""
