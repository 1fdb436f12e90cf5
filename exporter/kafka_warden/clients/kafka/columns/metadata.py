"""The topics of a MetadataResponse as columns."""

import itertools
from array import array
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kafka_warden.arrays import UNKNOWN, Bools, Ints
from kafka_warden.clients.kafka.columns.fields import MORE, field_at, ragged, read_varint

VERSIONS: Final = {10: 4, 11: 0, 12: 0, 13: 2}
"""Versions that are read as columns, with the bytes between the topics and the tagged fields of the whole reply."""

TOPIC_ID: Final = 16
REPLICAS: Final = 14
"""Bytes before the lists of brokers: error code, number, leader, leader epoch."""


@dataclass(slots=True)
class _Found:
    """Topics, and where each partition is. `lists`: lengths of its three lists of brokers, plus one, as encoded."""

    topics: list[tuple[str, bytes]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    places: "array[int]" = field(default_factory=lambda: array("q"))
    lists: bytearray = field(default_factory=bytearray)


def read_topics(body: bytes, version: int) -> dict[str, Any] | None:
    """Read the topics of a reply and what follows them. A topic with an error, which is being deleted, is left out.

    Returns:
        `topics` and `topic_ids`, by name; by partition, in order, `topic` (index), `number`, `error`, `leader` and
        `leader_epoch`; by replica `partition` (index), `broker`, `in_isr` and `offline`. `None` if the reply has
        another form, such as tagged fields.
    """
    try:
        found = _scan(body, VERSIONS[version])
    except (LookupError, ValueError):
        return None
    lists = np.frombuffer(found.lists, np.uint8).reshape(-1, 3).astype(np.int64) - 1
    if (lists < 0).any() or (lists >= MORE - 1).any():
        return None
    ranks = sorted(range(len(found.topics)), key=lambda index: found.topics[index][0])
    places = np.array(found.places, np.int64)
    topic = np.repeat(np.argsort(np.array(ranks, np.int64)), found.counts)
    number = field_at(body, ">i4", places + 2)
    order = np.lexsort((number, topic))
    topics = [found.topics[index] for index in ranks]
    return {
        "topics": tuple(name for name, _ in topics),
        "topic_ids": tuple(topic_id for _, topic_id in topics),
        "topic": topic[order].astype(np.int32),
        "number": number[order].astype(np.int32),
        **_replicas(body, places[order], lists[order]),
    }


def _replicas(body: bytes, places: Any, lists: Any) -> dict[str, Any]:
    """Return the columns of leaders and replicas. `lists` (P, 3): lengths of replicas, ISR and offline replicas."""
    count, in_sync, offline = lists.T
    first = places + REPLICAS + 1
    broker = field_at(body, ">i4", ragged(first, count, 4)).astype(np.int32)
    partition = np.repeat(np.arange(len(places), dtype=np.int32), count)
    isr_at = first + 4 * count + 1
    return {
        "error": field_at(body, ">i2", places),
        "leader": field_at(body, ">i4", places + 6).astype(np.int32),
        "leader_epoch": field_at(body, ">i4", places + 10).astype(np.int32),
        "partition": partition,
        "broker": broker,
        "in_isr": _listed(body, isr_at, in_sync, broker, partition),
        "offline": _listed(body, isr_at + 4 * in_sync + 1, offline, broker, partition),
    }


def _listed(body: bytes, places: Any, lengths: Any, broker: Ints, partition: Ints) -> Bools:
    """Mark the replicas whose broker is in the list of their partition."""
    listed = np.zeros(len(broker), bool)
    for index in range(int(lengths.max(initial=0))):
        present = lengths > index
        members = np.full(len(places), UNKNOWN, np.int32)
        members[present] = field_at(body, ">i4", places[present] + 4 * index)
        listed |= (broker == members[partition]) & present[partition]
    return listed


def _scan(body: bytes, rest: int) -> _Found:
    """Find topics and partitions.

    Raises:
        IndexError: the reply is cut off.
        ValueError: it has another form.
    """
    found = _Found()
    topics, position = read_varint(body, 0)
    for _ in itertools.repeat(None, topics - 1):
        error, before = body[position] | body[position + 1], len(found.places)
        length, position = read_varint(body, position + 2)
        name, position = body[position : position + length - 1].decode(), position + length - 1
        topic_id, position = body[position : position + TOPIC_ID], position + TOPIC_ID + 1
        count, position = read_varint(body, position)
        position = _partitions(body, position, count - 1, found)
        if not length or not count or body[position + 4]:
            raise ValueError("a null, or tagged fields")
        position += 5
        if error:
            del found.places[before:], found.lists[3 * before :]
        else:
            found.topics.append((name, topic_id))
            found.counts.append(count - 1)
    if not topics or position + rest != len(body) - 1 or body[position + rest]:
        raise ValueError("no topics, or unknown fields after them")
    return found


def _partitions(body: bytes, position: int, count: int, found: _Found) -> int:
    """Note where each partition begins, and the lengths of its lists; return where the last one ends."""
    second = _one_by_one(body, position, min(count, 1), found)
    size, lengths = second - position, found.lists[-3:]
    end = position + size * count
    if count <= 1 or not _alike(body[second:end], size, count - 1, lengths):
        return _one_by_one(body, second, count - 1, found)
    found.places.extend(range(second, end, size))
    found.lists += lengths * (count - 1)
    return end


def _alike(partitions: bytes, size: int, count: int, lengths: bytearray) -> bool:
    """Return whether so many partitions of one size all have lists of these lengths, and no tagged fields."""
    places = itertools.accumulate((4 * length - 3 for length in lengths), initial=REPLICAS)
    expected = zip(places, (*lengths, 0), strict=True)
    return all(partitions[place::size] == bytes((value,)) * count for place, value in expected)


def _one_by_one(body: bytes, position: int, count: int, found: _Found) -> int:
    places, lists = found.places, found.lists
    for _ in itertools.repeat(None, count):
        places.append(position)
        replicas = body[position + REPLICAS]
        position += REPLICAS + 4 * replicas - 3
        in_sync = body[position]
        position += 4 * in_sync - 3
        offline = body[position]
        position += 4 * offline - 3
        if body[position]:
            raise ValueError("tagged fields")
        position += 1
        lists += bytes((replicas, in_sync, offline))
    return position
