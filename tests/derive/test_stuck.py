"""Which moves are stuck, and why: disks, lists and errors of a poll, and the clocks between polls."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_warden.derive import Derived
from kafka_warden.derive.stuck import STUCK_WAIT
from kafka_warden.model import (
    SIDES,
    Broker,
    BrokerConfig,
    Limit,
    Origin,
    Parameters,
    ProcessBeans,
    Side,
    Source,
    TopicConfig,
)
from kafka_warden.replies import LogDir
from tests.building import BYTES_PER_OFFSET, Partition, Topics, answered, judge, judge_each, snapshot

POLLS = range(12)
INTERVAL = 10.0
STUCK_FROM = 3
"""Polls: three intervals, and two quota windows, after the first one."""
AGREED_FROM = 1
END = 1000
ONLINE, OFFLINE, ROOMY = "/data/a", "/data/b", 10**12

Causes = dict[tuple[str, int, int], str]
MOVE: dict[str, Any] = {"replicas": (1, 2), "adding": (2,), "removing": (1,)}
STANDING: Topics = {"t": [Partition(**MOVE, end=END, lag={2: 400})]}
"""A move from broker 1 to 2 that does not get any further."""


def beside(poll: int) -> Topics:
    return {"t": [*STANDING["t"], Partition(**MOVE, end=END, lag={2: 900 - 50 * poll})]}


def judged(topics: Callable[[int], Topics], fields: Callable[[int], dict[str, Any]] = lambda _: {}) -> list[Causes]:
    """What is stuck in each poll, by topic, partition and adding broker."""
    seen = [snapshot(topics(poll), clock=INTERVAL * poll, **fields(poll)) for poll in POLLS]
    found = judge_each(*seen, parameters=Parameters(poll_interval=INTERVAL))
    return [
        {(move.topic, move.partition, move.broker): str(move.stuck) for move in each.moves if move.stuck is not None}
        for each in found
    ]


def of(causes: Sequence[Causes], partition: int = 0, broker: int = 2) -> list[str]:
    """The cause of one move of the topic `t` in each poll, empty where it is not stuck."""
    return [each.get(("t", partition, broker), "") for each in causes]


def directory(path: str, *, online: bool = True, usable: int = ROOMY, broker: int = 2) -> LogDir:
    return LogDir(broker, path, online=online, bytes=0, usable_bytes=usable, total_bytes=ROOMY)


def limited(limit: Limit, sides: Iterable[Side] = Side) -> dict[str, Any]:
    return {"broker_configs": dict.fromkeys((1, 2), BrokerConfig(limits=dict.fromkeys(sides, limit)))}


BLOCKED = {**limited(Limit(0.0, Origin.BROKER), SIDES), "topic_configs": {"t": TopicConfig("0:1", "0:2")}}


def in_sync(topics: Callable[[int], Topics]) -> Callable[[int], dict[str, Any]]:
    def fields(poll: int) -> dict[str, Any]:
        replicas = snapshot(topics(poll), clock=INTERVAL * poll).replicas
        return {"replicas": replace(replicas, in_isr=replicas.in_isr | (replicas.broker == 2))}

    return fields


def test_a_replica_that_waits_for_the_others_is_not_stuck() -> None:
    """It is in sync and has nothing to copy; the other adding one of its partition goes on for minutes."""

    def topics(poll: int) -> Topics:
        done = Partition(replicas=(1, 2, 3), adding=(2, 3), end=END, lag={3: 900 - 50 * poll})
        return {"t": [done]}

    assert judged(topics, in_sync(topics)) == [{}] * len(POLLS)


def test_copied_not_completed() -> None:
    """All adding replicas are in sync, and it is still under way: one that is to stay is out of the ISR."""

    def topics(_: int) -> Topics:
        return {"t": [Partition(replicas=(1, 4, 2), adding=(2,), removing=(1,), end=END, lag={4: 10}, out=(4,))]}

    assert of(judged(topics, in_sync(topics)))[STUCK_FROM:] == ["copied_not_completed"] * (len(POLLS) - STUCK_FROM)


REMOVAL: dict[str, Any] = {"replicas": (1, 3), "removing": (1,), "out": (3,), "end": END}
"""Broker 1 gives its replica away, and leads until that on broker 3 is in sync."""


def removal(lag: Callable[[int], int] = lambda _: 400) -> Callable[[int], Topics]:
    """Only this move, with what broker 3 lacks in each poll."""
    return lambda poll: {"t": [Partition(**REMOVAL, lag={3: lag(poll)})]}


def fenced(_: int) -> dict[str, Any]:
    return {"brokers": {1: Broker(1, "one", 9092), 3: Broker(3, "three", 9092, fenced=True)}}


def test_a_move_that_only_removes_replicas_is_a_row_that_copies_nothing() -> None:
    """0 bytes to copy are known; when the replica that stays will be in sync is not. It has no part in the totals."""
    adding = Partition(**MOVE, end=END)

    def polled(*partitions: Partition) -> Derived:
        return judge(*(snapshot({"t": partitions}, clock=INTERVAL * poll) for poll in range(3)))

    alone, both, other = (
        polled(*which) for which in ([Partition(**REMOVAL)], [adding, Partition(**REMOVAL)], [adding])
    )
    (move,) = alone.moves
    assert (move.broker, move.leader, move.adding) == (3, 1, False)
    assert (move.remaining_bytes, move.remaining_messages) == (0, 0)
    assert (move.progress, move.bytes_per_second, move.eta) == (None, None, None)
    assert (alone.totals.reassigning_partitions, alone.totals.remaining_bytes, alone.totals.eta) == (1, 0, None)
    assert (both.totals.remaining_bytes, both.totals.eta) == (other.totals.remaining_bytes, other.totals.eta) == (0, 0)


def test_a_move_that_only_removes_replicas_is_stuck() -> None:
    """The cause is that of the replica that stays: down, or out of sync, for the reasons that hold up a copy.

    While it catches up, the move is not stuck.
    """
    lost = {"log_dirs": (directory(ONLINE, broker=3), directory(OFFLINE, online=False, broker=3))}
    blocked = {
        "broker_configs": dict.fromkeys((1, 3), BrokerConfig(limits=dict.fromkeys(SIDES, Limit(0.0, Origin.BROKER)))),
        "topic_configs": {"t": TopicConfig("0:1", "0:3")},
    }
    cases: list[tuple[Callable[[int], int], Callable[[int], dict[str, Any]], int, str]] = [
        (lambda _: 400, fenced, AGREED_FROM, "target_down"),
        (lambda _: 400, lambda _: lost | {"placed": {3: {("t", 0): OFFLINE}}}, AGREED_FROM, "log_dir_offline"),
        (lambda _: 400, lambda _: blocked, AGREED_FROM, "throttle_blocked"),
        (lambda _: 400, lambda _: {}, STUCK_FROM, "copied_not_completed"),
        (lambda poll: 900 - 50 * poll, lambda _: {}, len(POLLS), ""),
    ]
    for lag, fields, first, cause in cases:
        expected = [""] * first + [cause] * (len(POLLS) - first)
        assert of(judged(removal(lag), fields), broker=3) == expected


def test_a_move_that_waits_for_one_that_stays_after_the_new_replica_leads() -> None:
    """Nothing is left to copy: the row is that of broker 2, which is to stay and is out of sync."""
    replicas: dict[str, Any] = {
        "replicas": (1, 2, 3),
        "leader": 3,
        "adding": (3,),
        "removing": (1,),
        "out": (2,),
        "end": END,
    }

    def topics(_: int) -> Topics:
        return {"t": [Partition(**replicas, lag={2: 400})]}

    def leads(poll: int) -> dict[str, Any]:
        made = snapshot(topics(poll), clock=INTERVAL * poll).replicas
        return {"replicas": replace(made, in_isr=made.in_isr | (made.broker == 3))}

    assert judged(topics, leads)[-1] == {("t", 0, 2): "copied_not_completed"}


def test_a_move_that_removes_a_replica_out_of_sync_only_has_no_row() -> None:
    """What it waits for stays and is in sync: the controller ends it, and the replica that goes counts for nothing."""
    gone = Partition(replicas=(1, 2, 3), removing=(3,), out=(3,), end=END, lag={3: 400})
    assert not judge(snapshot({"t": [gone]})).moves


def lasting(topics: Callable[[int], Topics], fields: Callable[[int], dict[str, Any]], polls: int = 33) -> list[bool]:
    """Whether the alert counts the only move as stuck, in each poll, apart from its own `for`."""
    seen = [snapshot(topics(poll), clock=INTERVAL * poll, **fields(poll)) for poll in range(polls)]
    found = judge_each(*seen, parameters=Parameters(poll_interval=INTERVAL))
    return [move.lasting for each in found for move in each.moves]


def test_a_move_counts_once_it_is_stuck_for_as_long_as_its_alert_waits() -> None:
    """255 s by itself; at once where it cannot end. Time for which its leader was away does not count."""
    waited = STUCK_FROM + round(STUCK_WAIT / INTERVAL)
    assert lasting(lambda _: STANDING, lambda _: {}) == [poll >= waited for poll in range(33)]
    assert lasting(lambda _: STANDING, lambda _: BLOCKED) == [poll >= AGREED_FROM for poll in range(33)]

    def hung(poll: int) -> dict[str, Any]:
        down = {(Source.OFFSETS, "1"): replace(answered(), up=poll >= 6)}
        return {"status": {(Source.OFFSETS, "2"): answered()} | down}

    found = lasting(lambda _: STANDING, hung)
    assert found[AGREED_FROM:6] == [True] * (6 - AGREED_FROM)
    assert found[6:] == [poll >= 5 + round(STUCK_WAIT / INTERVAL) for poll in range(6, 33)]


def test_a_log_dir_that_is_offline_costs_its_own_replicas_only() -> None:
    """The replica that another directory of the broker holds gets on; the one that none holds any more is stuck."""

    def fields(poll: int) -> dict[str, Any]:
        dirs = (directory(ONLINE), directory(OFFLINE, online=poll < 2))
        placed = {("t", 0): OFFLINE, ("t", 1): ONLINE} if poll < 2 else {("t", 1): ONLINE}
        return {"log_dirs": dirs, "placed": {2: placed}}

    causes = judged(beside, fields)
    assert of(causes, partition=1) == [""] * len(POLLS)
    assert of(causes, partition=0)[:4] == ["", "", "", "log_dir_offline"]


def test_a_replica_that_was_never_seen_on_a_disk_is_not_lost_at_once() -> None:
    """The broker may not have made its log yet: only once the move has settled is it said that it lies there."""
    made = snapshot(STANDING).replicas
    dirs = (directory(ONLINE), directory(OFFLINE, online=False))
    unseen = {"replicas": replace(made, sized_at=0 * made.sized_at), "log_dirs": dirs}
    assert of(judged(lambda _: STANDING, lambda _: unseen))[:4] == ["", "", "", "log_dir_offline"]


def test_the_room_that_counts_is_where_the_replica_lies() -> None:
    """A full directory is a cause although another one of the broker has room, and the other way round it is none."""
    dirs = (directory(ONLINE), directory(OFFLINE, usable=1000))
    for path, cause in {ONLINE: "no_progress", OFFLINE: "log_dir_full"}.items():
        fields: dict[str, Any] = {"log_dirs": dirs, "placed": {2: {("t", 0): path}}}
        assert of(judged(lambda _: STANDING, dict.fromkeys(POLLS, fields).__getitem__))[-1] == cause


def test_the_room_of_a_cordoned_directory_does_not_count() -> None:
    dirs = (replace(directory(ONLINE), cordoned=True), directory(OFFLINE, usable=1000))
    assert of(judged(lambda _: STANDING, lambda _: {"log_dirs": dirs}))[-1] == "log_dir_full"


def test_a_disk_is_too_small_for_what_arrives_there_only() -> None:
    room = 600 * BYTES_PER_OFFSET
    dirs = (directory(ONLINE), directory(OFFLINE, usable=room))
    config = {2: BrokerConfig(replica_fetch_max_bytes=1)}
    for other, cause in {ONLINE: "no_progress", OFFLINE: "target_disk_too_small"}.items():
        placed = {2: {("t", 0): OFFLINE, ("t", 1): other}}
        fields: dict[str, Any] = {"log_dirs": dirs, "placed": placed, "broker_configs": config}
        causes = judged(lambda _: {"t": [*STANDING["t"]] * 2}, dict.fromkeys(POLLS, fields).__getitem__)
        assert of(causes)[-1] == cause


def test_beans_of_the_target_are_causes() -> None:
    """Of aux state errors those since the move last got on: no earlier ones, and no count that restarts."""

    def cause(
        count: Callable[[int], float],
        bean: str = "build_remote_log_aux_state_errors_total",
        topics: Callable[[int], Topics] = lambda _: STANDING,
    ) -> str:
        def beans(poll: int) -> dict[str, Any]:
            return {"broker_beans": {2: ProcessBeans(INTERVAL * poll, {bean: count(poll)})}}

        return of(judged(topics, beans))[-1]

    def got_on(poll: int) -> Topics:
        return {"t": [Partition(**MOVE, end=END, lag={2: 400 + 100 * max(3 - poll, 0)})]}

    assert cause(lambda _: 1.0, "fetcher_failed_partitions_count") == "fetcher_failed"
    assert cause(lambda _: 1.0, "fetcher_dead_thread_count") == "fetcher_failed"
    assert cause(lambda poll: 5.0 + poll) == "aux_state_error"
    assert cause(lambda _: 5.0) == "no_progress"
    assert cause(lambda poll: 5.0 if poll < 2 else 0.0) == "no_progress"
    assert cause(lambda poll: 5.0 + min(poll, 3), topics=got_on) == "no_progress"


@pytest.mark.parametrize("side", SIDES)
def test_a_limit_of_0_on_either_side_blocks(side: Side) -> None:
    blocked = BLOCKED | limited(Limit(0.0, Origin.BROKER), [side])
    assert of(judged(lambda _: STANDING, lambda _: blocked))[-1] == "throttle_blocked"


def test_a_small_disk_does_not_hide_a_fact() -> None:
    """Blocked is shown after two polls; the small disk is shown after two windows without progress."""
    dirs = (directory(ONLINE, usable=100),)
    causes = of(judged(lambda _: STANDING, lambda _: {"log_dirs": dirs, **BLOCKED}))
    assert causes[AGREED_FROM:STUCK_FROM] == ["throttle_blocked"] * (STUCK_FROM - AGREED_FROM)
    assert causes[-1] == "log_dir_full"


def test_a_limit_of_0_blocks_what_the_lists_name_only() -> None:
    causes = judged(beside, lambda _: BLOCKED)
    assert of(causes, partition=0)[-1] == "throttle_blocked"
    assert of(causes, partition=1) == [""] * len(POLLS)


MANY = 200
FETCH_OFFSETS = (1 << 20) // BYTES_PER_OFFSET
TURN = 60.0


def in_turns(clock: float, rotten: int | None = None) -> Topics:
    """Partitions that get a fetch of 1 MiB a minute each, one after the other: 3.5 MB/s together."""
    got = (0 if number == rotten else int((clock + TURN * number / MANY) // TURN) for number in range(MANY))
    return {"t": [Partition(**MOVE, end=10**6, lag={2: 900_000 - turns * FETCH_OFFSETS}) for turns in got]}


def stuck_alone(polls: int, topics: Callable[[float], Topics], fields: dict[str, Any]) -> list[set[int]]:
    seen = [snapshot(topics(INTERVAL * poll), clock=INTERVAL * poll, **fields) for poll in range(polls)]
    judged_each = judge_each(*seen, parameters=Parameters(poll_interval=INTERVAL))
    return [{move.partition for move in each.moves if move.stuck is not None} for each in judged_each]


def test_partitions_that_wait_for_their_turn_are_not_stuck() -> None:
    for limit, lists in ((Limit(), TopicConfig()), (Limit(1e8, Origin.BROKER), TopicConfig("*", "*"))):
        assert stuck_alone(20, in_turns, {**limited(limit), "topic_configs": {"t": lists}}) == [set()] * 20


def test_one_that_misses_five_turns_of_everyone_is_stuck() -> None:
    """200 partitions x 1 MiB at 3.5 MB/s are turns of a minute: not before 300 s, and soon after."""
    fields = {**limited(Limit()), "topic_configs": {"t": TopicConfig()}}
    found = stuck_alone(34, lambda clock: in_turns(clock, rotten=7), fields)
    first = next(poll for poll, partitions in enumerate(found) if partitions)
    assert 300.0 <= INTERVAL * first <= 320.0
    assert found[:first] == [set()] * first
    assert found[first:] == [{7}] * (len(found) - first)


def test_one_among_few_is_stuck_as_soon_as_the_pair_would_be() -> None:
    """Ten partitions at 1 MB/s under a limit of as much: turns of 10 s, five of them."""

    def topics(clock: float) -> Topics:
        lags = [900_000 - (0 if number == 3 else int(clock) * 1111) for number in range(10)]
        return {"t": [Partition(replicas=(1, 2), adding=(2,), end=10**6, lag={2: lag}) for lag in lags]}

    fields = {**limited(Limit(1e6, Origin.BROKER)), "topic_configs": {"t": TopicConfig("*", "*")}}
    found = stuck_alone(9, topics, fields)
    assert found == [set()] * 6 + [{3}] * 3
