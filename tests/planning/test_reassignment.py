"""The file of kafka-reassign-partitions: strict reading, and writing."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.errors import PlanError
from kafka_warden.planning.reassignment import Target, parse_reassignment, to_json

GOOD = {"topic": "orders", "partition": 0, "replicas": [1, 2]}


def text(*entries: Any, **more: Any) -> str:
    return json.dumps({"version": 1, "partitions": list(entries), **more})


def test_a_file_of_the_tool_is_read() -> None:
    found = parse_reassignment(
        text(GOOD, {"topic": "orders", "partition": 1, "replicas": [3, 1], "log_dirs": ["any", "/data/a"]})
    )

    assert [(target.topic, target.partition, target.replicas) for target in found] == [
        ("orders", 0, (1, 2)),
        ("orders", 1, (3, 1)),
    ]
    assert [found[1].log_dir(broker) for broker in (3, 1, 9)] == [None, "/data/a", None]
    assert found[0].log_dir(1) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not valid JSON"),
        ("[]", "at the top"),
        ('{"version":1,"version":1,"partitions":[]}', "'version' appears twice"),
        (text(GOOD, version=None), 'expected "version":1, got nothing'),
        (text(GOOD, version="1"), 'expected "version":1, got "1"'),
        (text(GOOD, version=2), 'expected "version":1, got 2'),
        (text(GOOD, version=True), 'expected "version":1, got true'),
        (text(), "at least one entry"),
        (text(partitions={}), "must be a list"),
        (text("orders-0"), "partitions[0]: expected an object"),
        (text({**GOOD, "topic": 3}), "partitions[0]: topic must be a name, got 3"),
        (text({**GOOD, "topic": ""}), "partitions[0]: topic must be a name"),
        (text(GOOD, {**GOOD, "partition": -1}), "partitions[1] (orders): partition must be a number from 0 on, got -1"),
        (text({**GOOD, "partition": True}), "got true"),
        (text({**GOOD, "partition": 2**31}), "partition must be"),
        (text({"topic": "orders", "partition": 0}), "(orders-0): replicas must be a list of broker ids, got nothing"),
        (text({**GOOD, "replicas": []}), "replicas is empty"),
        (text({**GOOD, "replicas": ["1"]}), "replicas must be a list of broker ids"),
        (text({**GOOD, "replicas": [1, 2, 1]}), "replicas names broker 1 twice"),
        (text({**GOOD, "log_dirs": ["any"]}), "log_dirs has 1 entries and replicas has 2"),
        (text({**GOOD, "log_dirs": "any"}), "log_dirs must be a list"),
        (text({**GOOD, "log_dirs": ["any", "data"]}), 'absolute paths or "any", got "data"'),
        (text(GOOD, {**GOOD, "replicas": [3]}), "partitions[1] (orders-0): is already in partitions[0]"),
    ],
)
def test_errors_name_the_entry(content: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_reassignment(content)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_version_is_read() -> None:
    """As by the tool, which takes the first version."""
    (found,) = parse_reassignment(json.dumps({"partitions": [GOOD]}))
    assert (found.topic, found.partition, found.replicas) == ("orders", 0, (1, 2))


CURRENT, PROPOSED = text(GOOD), text({**GOOD, "replicas": [3, 2]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "Current partition replica assignment\n{}\n\nProposed partition reassignment configuration\n{}\n",
            "this is the whole output of --generate, not a file for --execute: keep only line 5, the proposed one",
        ),
        (
            "Proposed partition reassignment configuration\r\n{1}\r\n",
            "this is the whole output of --generate, not a file for --execute: keep only line 2, the proposed one",
        ),
        (
            "Current partition replica assignment\n\n{0}\n\nSave this to use as the --reassignment-json-file\n",
            "this is an output of the tool, not a file for --execute: keep only line 3",
        ),
        (
            "{}\n{}\n",
            "this is an output of the tool, not a file for --execute: keep only one of the lines 1, 2",
        ),
    ],
)
def test_an_output_of_the_tool_is_refused_with_the_line_to_keep(content: str, message: str) -> None:
    """The printed commands would name a file that the tool cannot read."""
    with pytest.raises(PlanError) as caught:
        parse_reassignment(content.format(CURRENT, PROPOSED))
    assert str(caught.value) == message


@given(st.text() | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_any_text_is_read_or_refused(content: str) -> None:
    with contextlib.suppress(PlanError):
        parse_reassignment(content)


@given(
    st.dictionaries(
        st.tuples(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1)),
        st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4, unique=True),
        min_size=1,
        max_size=5,
    )
)
def test_written_files_can_be_read(assignment: dict[tuple[str, int], list[int]]) -> None:
    targets = [
        Target(topic, partition, tuple(replicas), (None,) * len(replicas))
        for (topic, partition), replicas in assignment.items()
    ]

    found = parse_reassignment(to_json(targets))

    assert [(t.topic, t.partition, t.replicas, t.log_dirs) for t in found] == [
        (t.topic, t.partition, t.replicas, t.log_dirs) for t in targets
    ]
