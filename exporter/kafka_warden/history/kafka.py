"""History as messages of one Kafka topic, through librdkafka. The only place that imports confluent-kafka.

A message has rows of one table in one poll, as JSON; large polls take many messages. The producer is idempotent, what
waits for the brokers is bounded, and every row whose delivery failed is counted.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from kafka_warden.errors import (
    ConfigError,
    SinkAuthError,
    SinkBacklogError,
    SinkError,
    SinkTooLargeError,
    SinkUnreachableError,
)
from kafka_warden.history.ledger import Ledger
from kafka_warden.history.messages import messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.schema import TABLES, VERSION, Built, build, count

log = structlog.get_logger(__name__)

WAITING_KBYTES: Final = 64 << 10
"""KiB of messages that wait for the brokers; what is above it is lost."""

LARGEST_MESSAGE: Final = WAITING_KBYTES << 10
"""Bytes. One row may need more than librdkafka's own 1 MB; whether it is taken, max.message.bytes of the topic says.
Batches of several messages stay below its batch.size of 1 MB."""

WAITING_MESSAGES: Final = 100_000

DELIVER_WITHIN: Final = 120.0
"""Seconds after which a message that nobody took is lost."""

Connect = Callable[[], Mapping[str, str]]
"""Returns librdkafka's properties of the connection, with passwords as they are now."""

_LOGIN: Final = ("sasl.username", "sasl.password")

_AUTH: Final = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001  # librdkafka's own errors have such names
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
_AWAY: Final = {
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
}
_LARGE: Final = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE}


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """Where to."""

    topic: str
    deliver_within: float = DELIVER_WITHIN
    """Seconds."""
    waiting_kbytes: int = WAITING_KBYTES


class KafkaSink:
    """Sends the rows of polls to a topic. One producer for the life of the process."""

    def __init__(self, settings: KafkaSettings, connect: Connect, now: Callable[[], float] = time.time) -> None:
        self.ledger = Ledger("kafka")
        self._settings = settings
        self._connect = connect
        self._now = now
        self._producer: Any = None
        self._properties: Mapping[str, str] = {}
        self._fatal = False
        """The producer cannot go on."""
        self._sent = 0
        self._settled = 0
        """Rows given to the producer, and rows of which it told what became."""

    def write(self, poll: Poll) -> None:
        """Hand the rows of a poll to the producer."""
        try:
            producer = self._ready()
        except SinkError as problem:
            self.ledger.failed(problem)
            self.ledger.lost(problem.reason, count(poll))
            return
        # All before the first is sent: where one cannot be made the caller counts the whole poll.
        for built in [build(table, poll) for table in TABLES]:
            self._send_table(producer, f"{poll.snapshot.cluster_id}/{built.table.name}", built)
            producer.poll(0)

    def idle(self) -> None:
        """Hear what became of what was sent."""
        if self._producer is not None:
            self._producer.poll(0)

    def close(self, until: float) -> None:
        """Wait for the brokers until a monotonic time; rows that they did not take by then are counted as lost."""
        if self._producer is not None:
            self._producer.flush(max(until - time.monotonic(), 0.0))
            self._end("stopped")

    def _end(self, reason: str) -> None:
        """Let go of the producer; what it did not deliver is lost."""
        self._producer.poll(0)
        self.ledger.lost(reason, self._sent - self._settled)
        self._sent = self._settled = 0
        self._producer = None

    def _ready(self) -> Any:
        """Make the producer, or give it a login that changed."""
        try:
            properties = self._connect()
        except ConfigError as problem:
            if self._producer is not None:
                # A file that is gone or half written for a moment: the login before it stays in use.
                return self._producer
            raise SinkAuthError(f"{self._settings.topic}: {problem}") from problem
        if self._fatal:
            self._end("error")
        if self._producer is None:
            self._producer, self._fatal = self._make(properties), False
        elif [properties.get(name) for name in _LOGIN] != [self._properties.get(name) for name in _LOGIN]:
            self._producer.set_sasl_credentials(*(properties[name] for name in _LOGIN))
        self._properties = properties
        return self._producer

    def _make(self, properties: Mapping[str, str]) -> Any:
        try:
            return Producer(
                {
                    **properties,
                    "enable.idempotence": True,
                    "compression.type": "zstd",
                    "linger.ms": 100,
                    "delivery.timeout.ms": int(1000 * self._settings.deliver_within),
                    "message.max.bytes": LARGEST_MESSAGE,
                    "queue.buffering.max.kbytes": self._settings.waiting_kbytes,
                    "queue.buffering.max.messages": WAITING_MESSAGES,
                    "error_cb": self._errors,
                    # Errors come over error_cb; librdkafka would write them to stderr, past the log.
                    "log_level": 0,
                }
            )
        except KafkaException as problem:
            raise SinkError(f"{self._settings.topic}: {problem.args[0].str()}; see the kafka properties") from problem

    def _send_table(self, producer: Any, key: str, built: Built) -> None:
        left, name = built.rows, built.table.name
        try:
            for message, rows in messages(built):
                self._send(producer, key, name, message, rows)
                left -= rows
        except Exception:
            log.exception("a message of history cannot be made; this is a bug, please report it", table=name)
            self.ledger.lost("error", left)

    def _send(self, producer: Any, key: str, table: str, message: bytes, rows: int) -> None:
        headers = [("table", table.encode()), ("schema_version", str(VERSION).encode())]
        try:
            producer.produce(
                self._settings.topic, message, key, headers=headers, on_delivery=partial(self._delivered, rows)
            )
            self._sent += rows
        except BufferError:
            self._lose(SinkBacklogError(f"{self._settings.topic}: more waits for the brokers than there may"), rows)
        except KafkaException as problem:
            self._lose(self._refused(problem.args[0], len(message)), rows)

    def _refused(self, error: Any, size: int) -> SinkError:
        """Name what librdkafka itself does not take; no option of the topic helps there."""
        if error.code() not in _LARGE:
            return self._named(error)
        return SinkTooLargeError(
            f"{self._settings.topic}: a row of {size} bytes, where a message has {LARGEST_MESSAGE} at most;"
            " files take it: history.parquet.path"
        )

    def _delivered(self, rows: int, error: Any, _: Any) -> None:
        self._settled += rows
        if error is None:
            self.ledger.wrote(rows, self._now())
            self.ledger.works()
        else:
            self._lose(self._named(error), rows)

    def _lose(self, problem: SinkError, rows: int) -> None:
        self.ledger.failed(problem)
        self.ledger.lost(problem.reason, rows)

    def _errors(self, error: Any) -> None:
        """Hear of the connection, and of a producer that cannot go on: the next poll makes another one."""
        if error.fatal():
            log.error("the producer of history cannot go on; the next poll makes a new one", error=error.str())
            self._fatal = True
        if error.fatal() or error.code() in _AUTH | {KafkaError._ALL_BROKERS_DOWN}:  # noqa: SLF001
            self.ledger.failed(self._named(error))

    def _named(self, error: Any) -> SinkError:
        told = f"{self._settings.topic}: {error.str()}"
        if error.code() in _AUTH:
            return SinkAuthError(f"{told}; the principal needs Write and Describe on the topic")
        if error.code() in _AWAY:
            return SinkUnreachableError(f"{told}; see kafka_warden_up")
        if error.code() in _LARGE:
            return SinkTooLargeError(f"{told}; raise max.message.bytes of the topic: a row may need more than it takes")
        return SinkError(f"{told}; the topic has to exist")
