"""Rows of an older table in a newer one: two topics whose rows are in no order."""

from dataclasses import replace

import numpy as np
import pytest

from kafka_warden.arrays import UNKNOWN, Ints, Keys, carry, match_partitions, match_replicas

U = UNKNOWN


def ints(*values: int) -> Ints:
    return np.array(values, np.int32)


OLD = Keys(("a", "b"), (b"1", b"2"), ints(1, 0, 0), ints(0, 1, 0), ints(0, 0, 1, 2), ints(3, 1, 2, 1))


@pytest.mark.parametrize(
    ("why", "new", "partitions", "replicas"),
    [
        ("the same", OLD, [0, 1, 2], [0, 1, 2, 3]),
        ("other topics first", replace(OLD, topics=("b", "a"), topic_ids=(b"2", b"1")), [2, U, 0], [U, 3, U, 1]),
        ("created again", replace(OLD, topic_ids=(b"1", b"3")), [U, 1, 2], [U, U, 2, 3]),
        ("a new partition", replace(OLD, number=ints(0, 2, 1)), [0, U, 1], [0, 1, U, U]),
        ("replicas on other brokers", replace(OLD, broker=ints(1, 3, 1, 4)), [0, 1, 2], [1, 0, U, U]),
    ],
)
def test_rows_are_found_again(why: str, new: Keys, partitions: list[int], replicas: list[int]) -> None:
    found = match_partitions(OLD, new)

    assert found.tolist() == partitions, why
    assert match_replicas(OLD, new, found).tolist() == replicas, why


def test_an_empty_table_has_no_row() -> None:
    empty = Keys((), (), *(ints() for _ in range(4)))

    for old, new in ((empty, OLD), (OLD, empty)):
        found = match_partitions(old, new)
        assert found.tolist() == [U] * len(new.number)
        assert match_replicas(old, new, found).tolist() == [U] * len(new.broker)
    carried = carry(ints(), np.array([U]), 7.0)
    assert (carried.tolist(), carried.dtype.name) == ([7], "int32")


@pytest.mark.parametrize("field", ["topics", "topic_ids", "topic", "number", "partition", "broker"])
def test_keys_are_the_same(field: str) -> None:
    assert OLD.same(replace(OLD, broker=OLD.broker.copy()))
    assert not OLD.same(replace(OLD, **{field: getattr(OLD, field)[1:]}))
