"""Load: produces a number of bytes or records, or bytes per second, with confluent-kafka."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from sandbox.errors import SandboxError

FLUSH_SECONDS = 120.0
PAYLOAD_POOL_BYTES = 1 << 20
TICK_SECONDS = 0.02
# Brokers that go down are normal here: only emergencies go to standard error.
QUIET = {"log_level": 2}


class Load:
    """Producers for one cluster."""

    def __init__(self, bootstrap: str, properties: Mapping[str, str]) -> None:
        self._properties = {"bootstrap.servers": bootstrap, **properties}

    def produce(
        self,
        topic: str,
        records: int | None = None,
        bytes: int | None = None,  # noqa: A002  the contract's name, and what it counts
        record_size: int = 1000,
        partitions: Sequence[int] = (0,),
        keys: int = 0,
        **properties: object,
    ) -> dict[int, int]:
        """Produce a number of records or bytes of payload to each partition, and wait for all acknowledgements.

        Args:
            topic: The topic.
            records: Records per partition; exactly these are in the log afterwards, and no control record.
            bytes: Bytes of payload per partition, rounded up to whole records, in place of `records`.
            record_size: Bytes of payload of one record; random, so nothing compresses it.
            partitions: To which.
            keys: How many different keys the records have, in turn; none have one by default.
            **properties: librdkafka's, underscores for dots. For hundreds of replicated partitions pass acks=1:
                librdkafka sends each partition a request of its own, and with acks=all a broker takes one at a time.

        Returns:
            Acknowledged records by partition.

        Raises:
            SandboxError: A record was not acknowledged.
        """
        if (records is None) == (bytes is None):
            raise SandboxError("produce needs either records or bytes")
        count = records if records is not None else -(-(bytes or 0) // record_size)
        sender = _Sender(self._properties, properties, record_size)
        for number in range(count):
            key = str(number % keys).encode() if keys else None
            for partition in partitions:
                sender.send(topic, partition, key=key)
        sender.flush()
        return {partition: sender.records[topic, partition] for partition in partitions}

    def consume(self, topic: str, partitions: Sequence[int] = (0,), timeout: float = FLUSH_SECONDS) -> int:
        """Read partitions from their start, remote storage included, to their current end.

        Returns:
            Records read.

        Raises:
            SandboxError: The end was not reached within `timeout` seconds.
        """
        consumer = Consumer({**self._properties, "group.id": "sandbox", "enable.auto.commit": False, **QUIET})
        try:
            left: dict[int, int] = {}
            for partition in partitions:
                first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout)
                left |= {partition: end} if end > first else {}
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
            return _read(consumer, left, time.monotonic() + timeout)
        finally:
            consumer.close()

    def background(
        self,
        topic: str,
        rate: float,
        record_size: int = 1000,
        partitions: Sequence[int] = (0,),
        **properties: object,
    ) -> "BackgroundProducer":
        """A producer of `rate` bytes/s in total, spread over partitions; runs while its `with` block does."""
        return BackgroundProducer(_Sender(self._properties, properties, record_size), topic, rate, partitions)


def _read(consumer: Any, ends: dict[int, int], deadline: float) -> int:
    """Read until each partition has reached its end; `ends` is emptied."""
    records = 0
    while ends:
        if time.monotonic() > deadline:
            raise SandboxError(f"{records} records read, and the ends not reached: {ends}")
        message = consumer.poll(TICK_SECONDS)
        if message is None or message.error():
            continue
        records += 1
        if message.offset() + 1 >= ends.get(message.partition(), 0):
            ends.pop(message.partition(), None)
    return records


class BackgroundProducer:
    """Produces at a steady rate on a thread of its own.

    After a leader was paused or dead, only the records in librdkafka's queue are sent later.
    """

    def __init__(self, sender: "_Sender", topic: str, rate: float, partitions: Sequence[int]) -> None:
        self._sender = sender
        self._topic = topic
        self._rate = rate
        self._partitions = tuple(partitions)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sandbox-load", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to produce."""
        self._thread.start()

    def stop(self, timeout: float = FLUSH_SECONDS) -> None:
        """Stop, and wait until every record is acknowledged or given up."""
        self._stop.set()
        self._thread.join()
        self._sender.flush(timeout, strict=False)

    @property
    def acked(self) -> dict[int, int]:
        """Acknowledged records by partition."""
        return {partition: self._sender.records[self._topic, partition] for partition in self._partitions}

    @property
    def acked_bytes(self) -> int:
        """Acknowledged bytes of payload."""
        return sum(self.acked.values()) * self._sender.record_size

    @property
    def errors(self) -> list[str]:
        """Why records were given up, one entry each."""
        return list(self._sender.errors)

    def _run(self) -> None:
        started, sent = time.monotonic(), 0
        while not self._stop.wait(TICK_SECONDS):
            due = int((time.monotonic() - started) * self._rate / self._sender.record_size)
            while sent < due and not self._stop.is_set():
                self._sender.send(self._topic, self._partitions[sent % len(self._partitions)], self._stop.is_set)
                sent += 1
            self._sender.poll()


class _Sender:
    """librdkafka's producer with random payload, counting what is acknowledged."""

    def __init__(self, base: Mapping[str, str], extra: Mapping[str, object], record_size: int) -> None:
        self.record_size = record_size
        self.records: Counter[tuple[str, int]] = Counter()
        self.errors: list[str] = []
        self._pool = os.urandom(max(PAYLOAD_POOL_BYTES, 2 * record_size))
        self._position = 0
        self._producer = Producer(
            {
                **base,
                **QUIET,
                "enable.idempotence": False,
                "acks": "all",
                "compression.type": "none",
                "linger.ms": 20,
                "queue.buffering.max.kbytes": 65536,
                **{key.replace("_", "."): value for key, value in extra.items()},
            }
        )

    def send(
        self, topic: str, partition: int, give_up: Callable[[], bool] = lambda: False, key: bytes | None = None
    ) -> None:
        """Queue one record; if the queue is full, wait until there is room or `give_up` is true."""
        while not give_up():
            try:
                self._producer.produce(topic, self._payload(), key, partition=partition, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(TICK_SECONDS)
            else:
                return

    def poll(self) -> None:
        """Serve delivery reports."""
        self._producer.poll(0)

    def flush(self, timeout: float = FLUSH_SECONDS, *, strict: bool = True) -> None:
        """Wait until all records are delivered; `strict` raises SandboxError if one was lost."""
        left = self._producer.flush(timeout)
        if strict and (left or self.errors):
            raise SandboxError(f"{left} records not acknowledged after {timeout:g} s; {self.errors[:1]}")

    def _payload(self) -> bytes:
        self._position = (self._position + self.record_size) % (len(self._pool) - self.record_size)
        return self._pool[self._position : self._position + self.record_size]

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.records[message.topic(), message.partition()] += 1
        else:
            self.errors.append(str(error))
