"""Tiered storage, derived poll after poll: what is overdue, since when, and the problems of brokers."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_warden.catalogue import Build, ExporterState, View
from kafka_warden.catalogue.tiered import TIERED
from kafka_warden.derive import Derived
from kafka_warden.derive.tiered import Problem
from kafka_warden.model import (
    NOTHING_TIERED,
    UNKNOWN,
    UNLIMITED,
    BrokerConfig,
    PollResult,
    ProcessBeans,
    QuotaEntity,
    Snapshot,
    TopicConfig,
)
from tests.building import Partition, judge, snapshot

REMOTE = TopicConfig(remote_storage=True, segment_bytes=10_000)
"""Segments of 100 offsets at 100 bytes each."""

COPY = "remote_copy_byte_rate"
QUOTA = 1000.0
CONFIG = BrokerConfig(remote_copy_quota=QUOTA, remote_fetch_quota=QUOTA)
BOUNDED = (QuotaEntity(None, "", {"consumer_byte_rate": 10.0}),)


def poll(*partitions: Partition, clock: float = 0.0, rate: float | None = None, **fields: Any) -> Snapshot:
    beans = {} if rate is None else {1: ProcessBeans(clock, {COPY: rate})}
    made: dict[str, Any] = {
        "topic_configs": {"t": REMOTE},
        "broker_configs": dict.fromkeys((1, 2), CONFIG),
        "broker_beans": beans,
        "quotas": BOUNDED,
    }
    return snapshot({"t": partitions}, clock=clock, **{**made, **fields})


def twice(*partitions: Partition, **fields: Any) -> Derived:
    return judge(*(poll(*partitions, clock=clock, **fields) for clock in (0.0, 10.0)))


def led(**fields: Any) -> Partition:
    return Partition(**{"replicas": (1, 2), "end": 1000, **fields})


def of_topic(derived: Derived) -> tuple[float | None, float | None]:
    overdue, stalled = float(derived.tiered.overdue[0]), float(derived.tiered.stalled[0])
    return None if math.isnan(overdue) else overdue, None if math.isnan(stalled) else stalled


def problem(derived: Derived, which: Problem, broker: int = 1) -> float | None:
    """For how long a broker has had a problem, `None` where unknown."""
    return derived.tiered.problems.get((broker, which))


@pytest.mark.parametrize(
    ("why", "partitions", "expected"),
    [
        ("500 offsets wait, 100 may be in the active segment", [led(tiered=499)], 40_000),
        ("nothing is copied", [led(tiered=NOTHING_TIERED)], 90_000),
        ("nothing is copied of what retention left", [led(start=600, tiered=NOTHING_TIERED)], 30_000),
        ("the sum of two", [led(tiered=499), led(tiered=799)], 50_000),
        ("one ahead does not make up for the other", [led(tiered=499), led(tiered=999)], 40_000),
        ("the copied offset is unknown", [led(tiered=499), led()], None),
        ("the leader's end is unknown", [led(tiered=499), led(tiered=499, silent=(1,))], None),
        ("there is no leader", [led(tiered=499), led(leader=UNKNOWN)], None),
        ("sizes are unknown so far", [led(tiered=499, sizes={1: UNKNOWN})], None),
    ],
)
def test_overdue(why: str, partitions: list[Partition], expected: float | None) -> None:
    overdue, stalled = of_topic(judge(poll(*partitions)))
    assert overdue == expected, why
    assert stalled == (None if expected is None else 0), why


@pytest.mark.parametrize(
    ("why", "seconds", "size", "due", "expected"),
    [
        ("as much as is there", math.inf, 50_000.0, UNKNOWN, 0),
        ("less", math.inf, 30_000.0, UNKNOWN, 10_000),
        ("no record is old enough", 3600.0, math.inf, 400, 0),
        ("300 offsets are", 3600.0, math.inf, 800, 20_000),
        ("not known", 3600.0, math.inf, UNKNOWN, None),
    ],
)
def test_what_is_left_uncopied_on_purpose_is_not_overdue(
    why: str, seconds: float, size: float, due: int, expected: float | None
) -> None:
    """Kafka 4.4 delays uploads by `remote.copy.lag.*`; the copy quota is not blamed for that."""
    config = replace(REMOTE, remote_copy_lag_seconds=seconds, remote_copy_lag_bytes=size)
    derived = twice(led(tiered=499, copy_due=due), topic_configs={"t": config}, rate=QUOTA)
    assert of_topic(derived)[0] == expected, why
    assert problem(derived, Problem.COPY_HELD_BACK) == (expected and 10), why


def test_topics_without_remote_storage_have_no_values() -> None:
    configs = {"local": TopicConfig(), "remote": REMOTE}
    derived = judge(snapshot({"local": [led()], "remote": [led(tiered=499)]}, topic_configs=configs))
    assert derived.tiered.overdue.tolist() == pytest.approx([math.nan, 40_000], nan_ok=True)
    assert derived.tiered.stalled.tolist() == pytest.approx([math.nan, 0], nan_ok=True)


def test_topics_without_series_are_one_series_of_those_that_are_copied() -> None:
    """The alert on copies that fall behind needs them, too. Only a part of them that is copied may hide it."""

    def read(name: str, **behind: Partition) -> dict[tuple[str, ...], float]:
        configs = {topic: TopicConfig() if topic == "local" else REMOTE for topic in behind if topic != "unread"}
        topics = {topic: [partition] for topic, partition in behind.items()}
        derived = judge(*(snapshot(topics, clock=clock, topic_configs=configs) for clock in (0.0, 10.0)))
        may = np.array([topic == "named" for topic in derived.indexed.snapshot.topics])
        view = View(derived, ExporterState(PollResult(), Build("0", "0", "3")), may)
        found = next(metric for metric in TIERED if metric.name == f"topic_remote_copy_{name}").read(view)
        return {labels: value for labels, value in found if not math.isnan(value)}

    hidden = {"a": led(tiered=499), "b": led(tiered=NOTHING_TIERED), "local": led(), "unread": led()}
    assert read("overdue_bytes", named=led(tiered=799), **hidden) == {("",): 130_000, ("named",): 10_000}
    assert read("stalled_seconds", named=led(tiered=999), **hidden) == {("",): 10, ("named",): 0}
    assert read("overdue_bytes", named=led(tiered=799), **hidden, c=led()) == {("named",): 10_000}
    assert read("overdue_bytes", named=led(tiered=799), local=led()) == {("named",): 10_000}


def test_stalled_is_the_longest_of_the_partitions() -> None:
    polls = [poll(led(tiered=499), led(tiered=300 + clock), clock=clock) for clock in (0, 10, 20)]
    assert of_topic(judge(*polls))[1] == 20


@pytest.mark.parametrize(
    "others", [{}, {"more": [led(tiered=999)]}], ids=["no topic's configuration", "one topic's configuration"]
)
def test_unknown_topic_configuration_hides_the_stall_and_does_not_end_it(others: dict[str, list[Partition]]) -> None:
    topics = {"t": [led(tiered=499)], **others}
    known = dict.fromkeys(topics, REMOTE)
    unknown = {name: config for name, config in known.items() if name != "t"}
    polls = [
        snapshot(topics, clock=clock, topic_configs=configs)
        for clock, configs in ((0, known), (10, known), (20, unknown), (30, unknown), (40, known))
    ]
    row = sorted(topics).index("t")

    hidden = judge(*polls[:4]).tiered
    assert np.isnan([hidden.overdue[row], hidden.stalled[row]]).all()
    assert judge(*polls).tiered.stalled[row] == 40


def test_a_topic_that_leaves_remote_storage_forgets_its_stall() -> None:
    """Its remote data is deleted; when it comes back, nothing is copied, and the stall starts from 0."""
    configured = ((0, REMOTE, 499), (10, REMOTE, 499), (20, TopicConfig(), UNKNOWN), (30, REMOTE, NOTHING_TIERED))
    polls = [
        snapshot({"t": [led(tiered=offset)]}, clock=clock, topic_configs={"t": config})
        for clock, config, offset in configured
    ]
    assert of_topic(judge(*polls)) == (90_000, 0)


def test_a_poll_without_an_answer_hides_the_stall_and_does_not_end_it() -> None:
    polls = [poll(led(tiered=offset), clock=clock) for clock, offset in ((0, 499), (10, UNKNOWN), (20, 499))]
    assert of_topic(judge(*polls[:2])) == (None, None)
    assert of_topic(judge(*polls)) == (40_000, 20)


def test_a_leader_that_has_just_started_does_not_make_everything_overdue() -> None:
    before, after = poll(led(tiered=899)), poll(led(tiered=NOTHING_TIERED, leader=2, epoch=1), clock=10)
    assert of_topic(judge(before, after)) == (0, 0)


def test_a_topic_created_again_starts_from_0() -> None:
    before = poll(led(tiered=899))
    after = replace(poll(led(end=950, tiered=NOTHING_TIERED), clock=10), topic_ids=(bytes(15) + b"\x01",))
    assert of_topic(judge(before, after)) == (85_000, 0)


def test_nothing_is_overdue_where_copying_is_switched_off() -> None:
    """No copy is due, whatever the quota; remote data is still fetched."""
    off = {"topic_configs": {"t": replace(REMOTE, remote_copy_disabled=True)}}
    config = {"broker_configs": {1: BrokerConfig(remote_copy_quota=1.0, remote_fetch_quota=QUOTA)}}
    derived = twice(led(tiered=499), rate=960.0, quotas=(), **off, **config)

    assert of_topic(derived) == (None, None)
    assert problem(derived, Problem.COPY_HELD_BACK) == 0
    assert problem(derived, Problem.COPY_QUOTA_BELOW_SEGMENT) == 0
    assert problem(derived, Problem.CLIENT_FETCH_QUOTA_ABOVE) == 10


@pytest.mark.parametrize(
    ("why", "rates", "expected"),
    [
        ("it holds in one poll only", (0, 960, 0), [0, 0, 0]),
        ("it holds in two", (0, 960, 960), [0, 0, 10]),
        ("a dip as a segment leaves the window", (960, 960, 0, 960), [0, 10, 20, 30]),
        ("two polls agree that it is over", (960, 960, 0, 0), [0, 10, 20, 0]),
        ("unknown in between", (960, 960, None, 960), [0, 10, None, 30]),
    ],
)
def test_a_problem_comes_and_goes_after_two_polls(
    why: str, rates: tuple[float | None, ...], expected: list[float | None]
) -> None:
    polls = [poll(led(tiered=499), clock=10.0 * number, rate=rate) for number, rate in enumerate(rates)]
    seen = [problem(judge(*polls[: number + 1]), Problem.COPY_HELD_BACK) for number in range(len(polls))]
    assert seen == expected, why


@pytest.mark.parametrize(
    ("why", "fields", "expected"),
    [
        ("nothing that it leads is overdue", {"partitions": [led(tiered=899)], "rate": 960.0}, 0),
        ("what is overdue another broker leads", {"partitions": [led(tiered=499, leader=2)], "rate": 960.0}, 0),
        ("overdue bytes are unknown", {"partitions": [led()], "rate": 960.0}, None),
        ("the rate is unknown", {"partitions": [led(tiered=499)]}, None),
        ("nothing was copied within the hour, so there is no bean", {"partitions": [led(tiered=499)], "none": True}, 0),
        ("the broker has no tiered storage", {"partitions": [led(tiered=499)], "rate": 960.0, "off": True}, None),
        ("no quota", {"partitions": [led(tiered=499)], "rate": 1e12, "quota": UNLIMITED}, 0),
        ("its configuration was not read", {"partitions": [led(tiered=499)], "rate": 960.0, "unread": True}, None),
    ],
)
def test_copying_that_is_not_held_back(why: str, fields: dict[str, Any], expected: float | None) -> None:
    config = BrokerConfig() if fields.get("off") else replace(CONFIG, remote_copy_quota=fields.get("quota", QUOTA))
    given: dict[str, Any] = {"broker_configs": {} if fields.get("unread") else {1: config}}
    if fields.get("none"):
        given["broker_beans"] = {1: ProcessBeans(10.0, {})}
    derived = twice(*fields["partitions"], rate=fields.get("rate"), **given)

    assert problem(derived, Problem.COPY_HELD_BACK) == expected, why


@pytest.mark.parametrize(
    ("why", "values", "expected"),
    [
        ("at the quota", {"remote_fetch_byte_rate": 950.0}, 10),
        ("throttled", {"remote_fetch_byte_rate": 100.0, "remote_fetch_throttle_time_max": 0.2}, 10),
        ("neither", {"remote_fetch_byte_rate": 100.0, "remote_fetch_throttle_time_max": 0.0}, 0),
        ("nothing was fetched within the hour", {}, 0),
    ],
)
def test_fetching(why: str, values: dict[str, float], expected: float) -> None:
    polls = [poll(led(tiered=899), clock=clock, broker_beans={1: ProcessBeans(clock, values)}) for clock in (0.0, 10.0)]
    assert problem(judge(*polls), Problem.FETCH_HELD_BACK) == expected, why


@pytest.mark.parametrize(
    ("why", "quota", "window", "configs", "expected"),
    [
        ("10,000 bytes in 11 s need 909 B/s", 909.0, 11.0, {"t": REMOTE}, 10),
        ("equality is upheld", 1000.0, 10.0, {"t": REMOTE}, 0),
        ("a longer window", 501.0, 20.0, {"t": REMOTE}, 0),
        ("no quota", UNLIMITED, 11.0, {"t": REMOTE}, 0),
        ("no topic uses it", 1.0, 11.0, {"t": TopicConfig(segment_bytes=10_000)}, None),
        ("the configuration of no topic is known", 1.0, 11.0, {}, None),
    ],
)
def test_copy_quota_below_segment(
    why: str, quota: float, window: float, configs: dict[str, TopicConfig], expected: float | None
) -> None:
    config = replace(CONFIG, remote_copy_quota=quota, remote_copy_window=window)
    derived = twice(led(tiered=899), topic_configs=configs, broker_configs={1: config, 2: config})
    assert problem(derived, Problem.COPY_QUOTA_BELOW_SEGMENT) == expected, why
    assert problem(derived, Problem.COPY_QUOTA_BELOW_SEGMENT, broker=2) in {None, 0}, why


def test_the_largest_segment_counts_and_an_unread_topic_blurs() -> None:
    configs = {"large": replace(REMOTE, segment_bytes=1_000_000), "small": REMOTE}
    topics = {"large": [led(tiered=899)], "small": [led(tiered=899)]}
    broker = {1: replace(CONFIG, remote_copy_quota=1e4)}
    polls = [snapshot(topics, clock=clock, topic_configs=configs, broker_configs=broker) for clock in (0.0, 10.0)]
    seen = judge(*polls)
    blurred = judge(snapshot(topics, topic_configs={"small": REMOTE}, broker_configs=broker))

    assert problem(seen, Problem.COPY_QUOTA_BELOW_SEGMENT) == 10
    assert problem(blurred, Problem.COPY_QUOTA_BELOW_SEGMENT) is None


@pytest.mark.parametrize(
    ("why", "quotas", "fetch_quota", "expected"),
    [
        ("all clients have less", BOUNDED, QUOTA, 0),
        ("no client has one", (), QUOTA, 10),
        ("a quota of another kind", (QuotaEntity(None, "", {"producer_byte_rate": 1.0}),), QUOTA, 10),
        ("quotas could not be read", None, QUOTA, None),
        ("the broker has no tiered storage", (), None, None),
    ],
)
def test_client_fetch_quota_above(
    why: str, quotas: tuple[QuotaEntity, ...] | None, fetch_quota: float | None, expected: float | None
) -> None:
    config = replace(CONFIG, remote_fetch_quota=fetch_quota)
    derived = twice(led(tiered=899), quotas=quotas, broker_configs={1: config})
    assert problem(derived, Problem.CLIENT_FETCH_QUOTA_ABOVE) == expected, why


def test_a_poll_without_the_configuration_of_a_broker_hides_its_problem_and_does_not_end_it() -> None:
    polls = [poll(led(tiered=499), rate=960.0), poll(led(tiered=499), clock=10, rate=960.0, broker_configs={})]
    again = poll(led(tiered=499), clock=20, rate=960.0)
    assert judge(*polls).tiered.problems == {}
    assert problem(judge(*polls, again), Problem.COPY_HELD_BACK) == 20
