"""Which moves are stuck, and why: disks, lists and errors of a poll, and the clocks between polls."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from kafka_warden.model import SIDES, BrokerConfig, Limit, LogDir, Origin, Parameters, ProcessBeans, Side, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, Topics, judge_each, snapshot

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
    """That move, and another one that goes on."""
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
    """A log directory of the target."""
    return LogDir(broker, path, online=online, bytes=0, usable_bytes=usable, total_bytes=ROOMY)


def limited(limit: Limit, sides: Iterable[Side] = Side) -> dict[str, Any]:
    """Both brokers with one limit."""
    return {"broker_configs": dict.fromkeys((1, 2), BrokerConfig(limits=dict.fromkeys(sides, limit)))}


BLOCKED = {**limited(Limit(0.0, Origin.BROKER), SIDES), "topic_configs": {"t": TopicConfig("0:1", "0:2")}}


def in_sync(topics: Callable[[int], Topics]) -> Callable[[int], dict[str, Any]]:
    """The adding replica on broker 2 is in the ISR."""

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
    """While it is not known where the replica lies, the broker chooses among the others."""
    dirs = (replace(directory(ONLINE), cordoned=True), directory(OFFLINE, usable=1000))
    assert of(judged(lambda _: STANDING, lambda _: {"log_dirs": dirs}))[-1] == "log_dir_full"


def test_a_disk_is_too_small_for_what_arrives_there_only() -> None:
    """What goes to the other directory needs no room here."""
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

    def cause(count: Callable[[int], float], bean: str = "build_remote_log_aux_state_errors_total") -> str:
        def beans(poll: int) -> dict[str, Any]:
            return {"broker_beans": {2: ProcessBeans(INTERVAL * poll, {bean: count(poll)})}}

        return of(judged(lambda _: STANDING, beans))[-1]

    assert cause(lambda _: 1.0, "fetcher_failed_partitions_count") == "fetcher_failed"
    assert cause(lambda _: 1.0, "fetcher_dead_thread_count") == "fetcher_failed"
    assert cause(lambda poll: 5.0 + poll) == "aux_state_error"
    assert cause(lambda _: 5.0) == "no_progress"
    assert cause(lambda poll: 5.0 if poll < 2 else 0.0) == "no_progress"


def test_a_small_disk_does_not_hide_a_fact() -> None:
    """Blocked is shown after two polls; the small disk is shown after two windows without progress."""
    dirs = (directory(ONLINE, usable=100),)
    causes = of(judged(lambda _: STANDING, lambda _: {"log_dirs": dirs, **BLOCKED}))
    assert causes[AGREED_FROM:STUCK_FROM] == ["throttle_blocked"] * (STUCK_FROM - AGREED_FROM)
    assert causes[-1] == "log_dir_full"


def test_a_limit_of_0_blocks_what_the_lists_name_only() -> None:
    """Another partition of the same two brokers goes on."""
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
    """Partitions that are stuck in each poll."""
    seen = [snapshot(topics(INTERVAL * poll), clock=INTERVAL * poll, **fields) for poll in range(polls)]
    judged_each = judge_each(*seen, parameters=Parameters(poll_interval=INTERVAL))
    return [{move.partition for move in each.moves if move.stuck is not None} for each in judged_each]


def test_partitions_that_wait_for_their_turn_are_not_stuck() -> None:
    """Without a throttle, or far below one, a slow link is shared like a throttle is."""
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
