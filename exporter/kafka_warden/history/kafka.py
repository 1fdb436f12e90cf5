"""History as messages of one Kafka topic, through librdkafka. Only this module imports confluent-kafka.

The producer is idempotent, its queue is bounded, and every row whose delivery failed is counted.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from kafka_warden.errors import ConfigError, SinkError, SinkReason
from kafka_warden.history.messages import messages
from kafka_warden.history.poll import Poll
from kafka_warden.history.recorder import SinkStats
from kafka_warden.history.schema import TABLES, VERSION, Built, build, count

log = structlog.get_logger(__name__)

WAITING_KBYTES: Final = 64 << 10
"""KiB of messages in the queue of the producer; messages above it are lost."""

LARGEST_MESSAGE: Final = WAITING_KBYTES << 10
"""Bytes. One row may need more than librdkafka's default of 1 MB; max.message.bytes of the topic decides whether it is
accepted. Batches of several messages stay below batch.size, 1 MB."""

WAITING_MESSAGES: Final = 100_000

ROOM_WITHIN: Final = 10.0
"""Seconds that one poll may wait for room in the queue of the producer."""

DELIVER_WITHIN: Final = 120.0
"""Seconds after which a message that was not delivered is lost."""

Connect = Callable[[], Mapping[str, Any]]
"""Returns librdkafka's connection properties, with the current passwords, or with what gets a token."""

_LOGIN: Final = ("sasl.username", "sasl.password")

_AUTH: Final = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001  # librdkafka's own errors have such names
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
_UNREACHABLE: Final = {
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
    KafkaError._MSG_TIMED_OUT,  # noqa: SLF001
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._RESOLVE,  # noqa: SLF001
}
_TOO_LARGE: Final = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE}


class KafkaSink:
    """Sends the rows of polls to a topic."""

    def __init__(
        self,
        topic: str,
        connect: Connect,
        deliver_within: float = DELIVER_WITHIN,
        waiting_kbytes: int = WAITING_KBYTES,
    ) -> None:
        self.stats = SinkStats("kafka")
        self._topic = topic
        self._connect = connect
        self._limits = {
            "delivery.timeout.ms": int(1000 * deliver_within),
            "queue.buffering.max.kbytes": waiting_kbytes,
            "queue.buffering.max.messages": WAITING_MESSAGES,
            "message.max.bytes": LARGEST_MESSAGE,
        }
        self._producer: Any = None
        self._properties: Mapping[str, Any] = {}
        self._fatal = False
        """The producer had a fatal error."""
        self._sent = 0
        self._reported = 0
        """Rows given to the producer, and rows whose delivery succeeded or failed."""
        self._wait_left = 0.0
        """Seconds that this poll may still wait for room."""

    def write(self, poll: Poll) -> None:
        """Give the rows of a poll to the producer."""
        try:
            producer = self._ready()
        except SinkError as problem:
            self.stats.mark_failed(problem)
            self.stats.mark_lost(problem.reason, count(poll))
            return
        self._wait_left = ROOM_WITHIN
        # Build all tables before the first is sent: if one fails, the caller counts the whole poll as lost.
        for built in [build(table, poll) for table in TABLES]:
            self._send_table(producer, f"{poll.snapshot.cluster_id}/{built.table.name}", built)

    def idle(self) -> None:
        """Handle delivery reports."""
        self._handle_reports(0.0)

    def close(self, until: float) -> None:
        """Wait for deliveries until a monotonic time; rows not delivered by then are counted as lost."""
        if self._producer is not None:
            with self._fatal_noted():
                self._producer.flush(max(until - time.monotonic(), 0.0))
            self._drop("stopped")

    def _handle_reports(self, within: float) -> None:
        """Handle delivery reports; wait for the first one at most `within` seconds."""
        if self._producer is not None:
            with self._fatal_noted():
                self._producer.poll(within)

    def _drop(self, reason: str) -> None:
        """Drop the producer; rows that it did not deliver are lost."""
        self.idle()
        self.stats.mark_lost(reason, self._sent - self._reported)
        self._sent = self._reported = 0
        self._producer = None

    def _ready(self) -> Any:
        """Return the producer: make it if there is none, and update a login that changed."""
        try:
            properties = self._connect()
        except ConfigError as problem:
            if self._producer is not None:
                # The file may be missing or half written for a moment: keep the previous login.
                return self._producer
            raise SinkError(f"{self._topic}: {problem}", SinkReason.AUTH) from problem
        if self._fatal:
            self._drop("error")
        if self._producer is None:
            self._producer, self._fatal = self._make(properties), False
        elif [properties.get(name) for name in _LOGIN] != [self._properties.get(name) for name in _LOGIN]:
            self._producer.set_sasl_credentials(*(properties[name] for name in _LOGIN))
        self._properties = properties
        return self._producer

    def _make(self, properties: Mapping[str, Any]) -> Any:
        try:
            return Producer(
                {
                    **properties,
                    "enable.idempotence": True,
                    "compression.type": "zstd",
                    "linger.ms": 100,
                    **self._limits,
                    "error_cb": self._errors,
                    # error_cb logs errors; librdkafka would write them to stderr.
                    "log_level": 0,
                }
            )
        except KafkaException as problem:
            raise SinkError(f"{self._topic}: {problem.args[0].str()}; see the kafka properties") from problem

    def _send_table(self, producer: Any, key: str, built: Built) -> None:
        left, name = built.rows, built.table.name
        try:
            for message, rows in messages(built):
                self._send(producer, key, name, message, rows)
                left -= rows
        except Exception:
            log.exception("a history message cannot be made; this is a bug, please report it", table=name)
            self.stats.mark_lost("error", left)

    def _send(self, producer: Any, key: str, table: str, message: bytes, rows: int) -> None:
        headers = [("table", table.encode()), ("schema_version", str(VERSION).encode())]
        report = partial(self._delivered, rows)
        try:
            while True:
                with suppress(BufferError):
                    producer.produce(self._topic, message, key, headers=headers, on_delivery=report)
                    self._sent += rows
                    break
                self._wait_for_room()
        except SinkError as problem:
            self._lose(problem, rows)
        except KafkaException as problem:
            self._lose(self._produce_error(problem.args[0], len(message)), rows)
        # A delivered message is in the queue until its report is handled.
        self.idle()

    def _wait_for_room(self) -> None:
        """Wait for a delivery report.

        Raises:
            SinkError: this poll has waited too long.
        """
        if self._wait_left <= 0:
            problem = f"{self._topic}: the queue of the producer is full; see kafka_warden_up"
            raise SinkError(problem, SinkReason.QUEUE_FULL)
        began = time.monotonic()
        self._handle_reports(self._wait_left)
        self._wait_left -= time.monotonic() - began

    def _produce_error(self, error: Any, size: int) -> SinkError:
        """Convert an error of `produce`. Options of the topic do not change these limits."""
        if error.code() not in _TOO_LARGE:
            return self._converted(error)
        return SinkError(
            f"{self._topic}: a row has {size} bytes, and a message at most {LARGEST_MESSAGE};"
            " files have no such limit: history.parquet.path",
            SinkReason.TOO_LARGE,
        )

    def _delivered(self, rows: int, error: Any, _: Any) -> None:
        self._reported += rows
        if error is None:
            self.stats.mark_written(rows, time.time())
            self.stats.mark_ok()
        else:
            self._lose(self._converted(error), rows)

    def _lose(self, problem: SinkError, rows: int) -> None:
        self.stats.mark_failed(problem)
        self.stats.mark_lost(problem.reason, rows)

    @contextmanager
    def _fatal_noted(self) -> Iterator[None]:
        """Note a fatal error, which confluent-kafka raises instead of giving it to `error_cb`."""
        try:
            yield
        except KafkaException as problem:
            self._errors(problem.args[0])

    def _errors(self, error: Any) -> None:
        """Handle errors of connections and fatal errors; after a fatal one the next poll makes a new producer."""
        if error.fatal():
            log.error("the history producer had a fatal error; the next poll makes a new one", error=error.str())
            self._fatal = True
        if error.fatal() or error.code() in _AUTH | {KafkaError._ALL_BROKERS_DOWN}:  # noqa: SLF001
            self.stats.mark_failed(self._converted(error))

    def _converted(self, error: Any) -> SinkError:
        text = f"{self._topic}: {error.str()}"
        if error.code() in _AUTH:
            return SinkError(f"{text}; the principal needs Write and Describe on the topic", SinkReason.AUTH)
        if error.code() in _UNREACHABLE:
            return SinkError(f"{text}; see kafka_warden_up", SinkReason.UNREACHABLE)
        if error.code() in _TOO_LARGE:
            return SinkError(f"{text}; raise max.message.bytes of the topic: one row needs more", SinkReason.TOO_LARGE)
        return SinkError(f"{text}; create the topic if it does not exist")
