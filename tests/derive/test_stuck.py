"""Which moves are stuck, and why: disks, lists and errors of a poll, and the clocks between polls."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kafka_warden.model import BrokerConfig, Limit, LogDir, Origin, Parameters, ProcessBeans, Side, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, Topics, judge_each, snapshot

POLLS = range(12)
INTERVAL = 10.0
STUCK_FROM = 3
"""Polls: three intervals, and two quota windows, after the first one."""
AGREED_FROM = 1
END = 1000
ONLINE, OFFLINE, ROOMY = "/data/a", "/data/b", 10**12

Causes = dict[tuple[str, int, int], str]


def standing(end: int = END) -> Partition:
    """A move from broker 1 to 2 that does not get any further."""
    return Partition(replicas=(1, 2), adding=(2,), removing=(1,), end=end, lag={2: 400})


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

    def topics(poll: int) -> Topics:
        going = Partition(replicas=(1, 2), adding=(2,), removing=(1,), end=END, lag={2: 900 - 50 * poll})
        return {"t": [standing(), going]}

    def fields(poll: int) -> dict[str, Any]:
        dirs = (directory(ONLINE), directory(OFFLINE, online=poll < 2))
        placed = {("t", 0): OFFLINE, ("t", 1): ONLINE} if poll < 2 else {("t", 1): ONLINE}
        return {"log_dirs": dirs, "placed": {2: placed}}

    causes = judged(topics, fields)
    assert of(causes, partition=1) == [""] * len(POLLS)
    assert of(causes, partition=0)[:4] == ["", "", "", "log_dir_offline"]


def test_a_replica_that_was_never_seen_on_a_disk_is_not_lost_at_once() -> None:
    """The broker may not have made its log yet: only once the move has settled is it said that it lies there."""

    def topics(poll: int) -> Topics:
        return {"t": [standing()]}

    def fields(poll: int) -> dict[str, Any]:
        made = snapshot(topics(poll), clock=INTERVAL * poll)
        replicas = replace(made.replicas, sized_at=0 * made.replicas.sized_at)
        return {"replicas": replicas, "log_dirs": (directory(ONLINE), directory(OFFLINE, online=False))}

    assert of(judged(topics, fields))[:4] == ["", "", "", "log_dir_offline"]


def test_the_room_that_counts_is_where_the_replica_lies() -> None:
    """A full directory is a cause although another one of the broker has room, and the other way round it is none."""
    dirs = (directory(ONLINE), directory(OFFLINE, usable=1000))
    for path, cause in {ONLINE: "no_progress", OFFLINE: "log_dir_full"}.items():
        fields: dict[str, Any] = {"log_dirs": dirs, "placed": {2: {("t", 0): path}}}
        causes = judged(lambda _: {"t": [standing()]}, dict.fromkeys(POLLS, fields).__getitem__)
        assert of(causes)[-1] == cause


def test_a_disk_is_too_small_for_what_arrives_there_only() -> None:
    """What goes to the other directory needs no room here."""
    room = 600 * BYTES_PER_OFFSET
    dirs = (directory(ONLINE), directory(OFFLINE, usable=room))
    config = {2: BrokerConfig(replica_fetch_max_bytes=1)}
    for other, cause in {ONLINE: "no_progress", OFFLINE: "target_disk_too_small"}.items():
        placed = {2: {("t", 0): OFFLINE, ("t", 1): other}}
        fields: dict[str, Any] = {"log_dirs": dirs, "placed": placed, "broker_configs": config}
        causes = judged(lambda _: {"t": [standing(), standing()]}, dict.fromkeys(POLLS, fields).__getitem__)
        assert of(causes)[-1] == cause


def test_aux_state_errors_since_the_move_last_got_on() -> None:
    """Earlier errors, and a count that restarts, are no cause; errors since then are."""

    def errors(count: Callable[[int], float]) -> Callable[[int], dict[str, Any]]:
        name = "build_remote_log_aux_state_errors_total"
        return lambda poll: {"broker_beans": {2: ProcessBeans(INTERVAL * poll, {name: count(poll)})}}

    def cause(count: Callable[[int], float]) -> str:
        return of(judged(lambda _: {"t": [standing()]}, errors(count)))[-1]

    assert cause(lambda poll: 5.0 + poll) == "aux_state_error"
    assert cause(lambda _: 5.0) == "no_progress"
    assert cause(lambda poll: 5.0 if poll < 2 else 0.0) == "no_progress"


def test_a_small_disk_does_not_hide_a_fact() -> None:
    """Blocked is shown after two polls; the small disk is shown after two windows without progress."""
    dirs = (directory(ONLINE, usable=100),)
    causes = of(judged(lambda _: {"t": [standing()]}, lambda _: {"log_dirs": dirs, **_blocked("0:1", "0:2")}))
    assert causes[AGREED_FROM:STUCK_FROM] == ["throttle_blocked"] * (STUCK_FROM - AGREED_FROM)
    assert causes[-1] == "log_dir_full"


def test_a_limit_of_0_blocks_what_the_lists_name_only() -> None:
    """Another partition of the same two brokers goes on."""

    def topics(poll: int) -> Topics:
        going = Partition(replicas=(1, 2), adding=(2,), removing=(1,), end=END, lag={2: 900 - 50 * poll})
        return {"t": [standing(), going]}

    causes = judged(topics, lambda _: _blocked("0:1", "0:2"))
    assert of(causes, partition=0)[-1] == "throttle_blocked"
    assert of(causes, partition=1) == [""] * len(POLLS)


def _blocked(leader_list: str, follower_list: str) -> dict[str, Any]:
    limits = {Side.LEADER: Limit(0.0, Origin.BROKER), Side.FOLLOWER: Limit(0.0, Origin.BROKER)}
    config = TopicConfig(leader_throttled=leader_list, follower_throttled=follower_list)
    brokers = {broker: BrokerConfig(limits=limits) for broker in (1, 2)}
    return {"broker_configs": brokers, "topic_configs": {"t": config}}


MANY = 200
FETCH_OFFSETS = (1 << 20) // BYTES_PER_OFFSET
TURN = 60.0


def in_turns(clock: float, rotten: int | None = None) -> Topics:
    """Partitions that get a fetch of 1 MiB a minute each, one after the other: 3.5 MB/s together."""
    got = (0 if number == rotten else int((clock + TURN * number / MANY) // TURN) for number in range(MANY))
    return {
        "t": [
            Partition(replicas=(1, 2), adding=(2,), removing=(1,), end=10**6, lag={2: 900_000 - turns * FETCH_OFFSETS})
            for turns in got
        ]
    }


def stuck_alone(polls: int, topics: Callable[[float], Topics], fields: dict[str, Any] | None = None) -> list[set[int]]:
    """Partitions that are stuck in each poll."""
    seen = [snapshot(topics(INTERVAL * poll), clock=INTERVAL * poll, **(fields or {})) for poll in range(polls)]
    judged_each = judge_each(*seen, parameters=Parameters(poll_interval=INTERVAL))
    return [{move.partition for move in each.moves if move.stuck is not None} for each in judged_each]


UNLIMITED_EVERYWHERE = {"broker_configs": {b: BrokerConfig(limits={s: Limit() for s in Side}) for b in (1, 2)}}
LIMITED = {"broker_configs": {b: BrokerConfig(limits={s: Limit(1e8, Origin.BROKER) for s in Side}) for b in (1, 2)}}


def test_partitions_that_wait_for_their_turn_are_not_stuck() -> None:
    """Without a throttle, or far below one, a slow link is shared like a throttle is."""
    for configs, lists in ((UNLIMITED_EVERYWHERE, TopicConfig()), (LIMITED, TopicConfig("*", "*"))):
        assert stuck_alone(20, in_turns, {**configs, "topic_configs": {"t": lists}}) == [set()] * 20


def test_one_that_misses_five_turns_of_everyone_is_stuck() -> None:
    """200 partitions x 1 MiB at 3.5 MB/s are turns of a minute: not before 300 s, and soon after."""
    fields = {"topic_configs": {"t": TopicConfig()}, **UNLIMITED_EVERYWHERE}
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

    config = BrokerConfig(limits={side: Limit(1e6, Origin.BROKER) for side in Side})
    fields = {"broker_configs": {1: config, 2: config}, "topic_configs": {"t": TopicConfig("*", "*")}}
    found = stuck_alone(9, topics, fields)
    assert found == [set()] * 6 + [{3}] * 3
