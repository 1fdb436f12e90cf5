"""Whatever happens between polls: the page about followers keeps its promises."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_warden.derive import Derived
from kafka_warden.derive.replica_state import STATES
from kafka_warden.derive.replica_time import (
    HORIZON,
    FollowerEnds,
    LeaderEnds,
    append_followers,
    append_leaders,
    look_back,
)
from kafka_warden.model import UNKNOWN, Snapshot
from tests.building import Partition, judge_each, snapshot
from tests.derive.following import CONFIGS, brokers, page

BROKERS = st.sets(st.sampled_from([1, 2, 3]), max_size=2).map(tuple)


@dataclass(frozen=True)
class Happening:
    """What happened before one poll."""

    seconds: float
    end: int
    lag: dict[int, int]
    out: tuple[int, ...]
    silent: tuple[int, ...]
    fenced: tuple[int, ...]
    adding: tuple[int, ...]
    leader: int
    epoch: int
    topic: bytes
    others: int


HAPPENINGS = st.lists(
    st.builds(
        Happening,
        seconds=st.sampled_from([0.0, 0.5, 10.0, 11.0, 70.0]),
        end=st.integers(0, 5000),
        lag=st.dictionaries(st.sampled_from([1, 2, 3]), st.integers(-100, 3000)),
        out=BROKERS,
        silent=BROKERS,
        fenced=BROKERS,
        adding=st.just(()) | BROKERS,
        leader=st.sampled_from([1, 2, 3, UNKNOWN]),
        epoch=st.integers(0, 2),
        topic=st.sampled_from([b"one", b"two"]),
        others=st.integers(0, 2),
    ),
    min_size=1,
    max_size=12,
)


def polls_of(happenings: list[Happening]) -> list[Snapshot]:
    """What polls see of `t`, beside a topic that comes and goes before it."""
    polls, clock = list[Snapshot](), 0.0
    for now in happenings:
        clock += now.seconds
        lag = {broker: min(missing, now.end) for broker, missing in now.lag.items() if broker != now.leader}
        partition = Partition(
            end=now.end, lag=lag, out=now.out, silent=now.silent, adding=now.adding, leader=now.leader, epoch=now.epoch
        )
        topics = {"a": [Partition(replicas=(3, 2), end=7)] * now.others, "t": [partition]}
        made = snapshot(topics, clock=clock, brokers=brokers(*now.fenced), broker_configs=CONFIGS)
        polls.append(replace(made, topic_ids=(b"a", now.topic)))
    return polls


def promises(derived: Derived) -> None:
    replicas = derived.indexed.snapshot.replicas
    seconds = page(derived, "replica_lag_seconds"), page(derived, "replica_behind_seconds")
    assert all(value >= 0 for family in seconds for value in family.values())
    one_each = Counter(labels[:3] for labels in page(derived, "replica_state"))
    assert set(one_each.values()) <= {1}
    assert all(family.keys() <= one_each.keys() for family in (*seconds, page(derived, "replica_lag_messages")))
    counts = page(derived, "broker_out_of_sync_replicas")
    missing = derived.lag.following & ~replicas.in_isr
    assert counts.keys() == {(str(broker), state) for broker in (1, 2, 3) for state in STATES}
    for broker in (1, 2, 3):
        counted = sum(count for (of, _), count in counts.items() if of == str(broker))
        assert counted == int((missing & (replicas.broker == broker)).sum())
    late = derived.replicas.times.late
    assert not late[derived.replicas.times.caught_up].any()
    assert not late[derived.lag.messages == UNKNOWN].any()


@settings(max_examples=50)
@given(HAPPENINGS)
def test_promises_hold_after_any_polls(happenings: list[Happening]) -> None:
    for derived in judge_each(*polls_of(happenings)):
        promises(derived)


NOTHING = Happening(
    seconds=0.0, end=0, lag={}, out=(), silent=(), fenced=(), adding=(), leader=1, epoch=0, topic=b"one", others=0
)


@settings(max_examples=50)
@given(HAPPENINGS, HAPPENINGS)
@example([NOTHING], [replace(NOTHING, lag={2: -1}, out=(2,))])
def test_new_topic_does_not_know_the_old_one(before: list[Happening], after: list[Happening]) -> None:
    new = [replace(now, topic=b"new") for now in after]
    old = [replace(now, topic=b"old") for now in before]
    elapsed = sum(now.seconds for now in before)
    together = judge_each(*polls_of(old + new))[-1]
    alone = judge_each(*polls_of([replace(new[0], seconds=elapsed + new[0].seconds), *new[1:]]))[-1]

    for family in ("replica_behind_seconds", "replica_lag_seconds", "replica_state"):
        mine, theirs = (
            {labels: value for labels, value in page(derived, family).items() if labels[0] == "t"}
            for derived in (together, alone)
        )
        assert mine == pytest.approx(theirs) if family.endswith("seconds") else mine.keys() == theirs.keys()


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0, 5.0, 10.0, 90.0]), min_size=1, max_size=150), st.floats(1, 60))
def test_history_is_bounded_and_reaches_back(steps: list[float], window: float) -> None:
    """However often the cluster is polled: the latest two polls, few in all, and an old one if there was."""
    clock, leaders, followers = 0.0, tuple[LeaderEnds, ...](), tuple[FollowerEnds, ...]()
    column, no_election = np.zeros(1, np.int64), np.zeros(1, bool)
    clocks = []
    for step in steps:
        clock += step
        clocks.append(clock)
        leaders = append_leaders(leaders, LeaderEnds(clock, np.array([clock]), column), no_election)
        followers = append_followers(followers, FollowerEnds(clock, column, column), window)

    assert [kept.clock for kept in leaders[-2:]] == clocks[-2:]
    assert [kept.clock for kept in followers[-1:]] == clocks[-1:]
    assert len(leaders) <= 18
    assert len(followers) <= 10
    old = [seen for seen in clocks if clock - seen >= HORIZON]
    assert (clock - leaders[0].clock >= HORIZON) == bool(old)
    back = look_back(followers, window)
    assert (back is not None) == any(clock - seen >= window for seen in clocks)
    if back is not None:
        assert clock - back.clock >= window


def test_an_election_blanks_earlier_ends() -> None:
    before = LeaderEnds(0.0, np.zeros(2), np.array([5, 6]))
    history = append_leaders((before,), LeaderEnds(10.0, np.full(2, 10.0), np.array([7, 8])), np.array([True, False]))
    assert [kept.end.tolist() for kept in history] == [[UNKNOWN, 6], [7, 8]]
    assert before.end.tolist() == [5, 6]
