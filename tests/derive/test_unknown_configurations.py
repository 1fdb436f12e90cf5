"""A poll without the configuration of topics or brokers decides nothing: what went on before it goes on after it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kafka_warden.derive.saved import from_document, to_document
from kafka_warden.derive.stuck import Cause
from kafka_warden.model import Parameters, Snapshot, TopicConfig
from tests.building import Partition, Topics, judge_each
from tests.derive.following import remembering
from tests.derive.throttled import MB, Found, everywhere, found, of, poll, rates, throttle, throttled_rates

TOOL = TopicConfig(leader_throttled="0:1", follower_throttled="0:2")
STANDING: Topics = {"t": [Partition(replicas=(1, 2), adding=(2,), end=1_000_000, lag={2: 500_000})]}
GAPS = ("topic_configs", "broker_configs")

each_gap = pytest.mark.parametrize("gap", GAPS)


def standing(clock: float, gap: str = "", rate: float = MB) -> Snapshot:
    """A throttled move that makes no progress."""
    return poll(STANDING, clock, **throttle(TOOL, everywhere(rate)) | ({gap: {}} if gap else {}))


def verdicts(*snapshots: Snapshot) -> list[tuple[Cause | None, bool]]:
    return [(move.stuck, move.lasting) for derived in judge_each(*snapshots) for move in derived.moves]


@each_gap
@pytest.mark.parametrize("rate", [MB, 0.0])
def test_a_move_stays_stuck(gap: str, rate: float) -> None:
    seen = verdicts(*(standing(10.0 * number, gap if number == 40 else "", rate) for number in range(45)))
    assert seen[39:] == [(Cause.NO_PROGRESS if rate else Cause.THROTTLE_BLOCKED, True)] * 6


@each_gap
def test_a_throttle_is_no_cause_while_its_limit_is_not_known(gap: str) -> None:
    """The move is stuck for 100 s: with that cause the alert would not wait."""
    seen = verdicts(*(standing(10.0 * number, gap if number >= 15 else "") for number in range(20)))
    assert seen[10:] == [(Cause.NO_PROGRESS, False)] * 10


@each_gap
def test_a_move_stays_stuck_over_a_restart(gap: str) -> None:
    polls = [standing(10.0 * number) for number in range(41)]
    memory, _ = remembering(*polls)[-1]
    document = json.loads(json.dumps(to_document(memory, polls[-1])))
    then = standing(420.0, gap)
    after = remembering(then, *map(standing, (430.0, 440.0)), memory=from_document(document, then))
    assert [(move.stuck, move.lasting) for _, seen in after for move in seen.moves] == [(Cause.NO_PROGRESS, True)] * 3


@each_gap
def test_the_floor_of_a_limit_stays_the_same(gap: str) -> None:
    """In-sync followers of another topic count against the limit before and after."""

    def seen(number: int) -> Snapshot:
        moving = Partition(replicas=(1, 2), adding=(2,), end=1_000_000, lag={2: 900_000 - 900 * number})
        topics = {"a": [Partition(replicas=(1, 2), end=1_000_000 + 700 * number)], "t": [moving]}
        lists = {"a": TopicConfig("*", "*"), "t": TOOL}
        fields = {"topic_configs": lists, "broker_configs": rates(everywhere(MB))}
        return poll(topics, 10.0 * number, **fields | ({gap: {}} if number == 6 else {}))

    memory, _ = remembering(*map(seen, range(9)))[-1]
    assert [change.at for change in memory.moves.changes.values()] == [0.0]


def test_an_entry_that_a_move_left_is_no_problem() -> None:
    """The move to broker 3 was cancelled at 40 s, and its entry stayed."""
    lists = TopicConfig(leader_throttled="0:1,0:2", follower_throttled="0:3")

    def seen(number: int) -> Snapshot:
        moving = Partition(replicas=(1, 2, 3), adding=(3,), end=10_000, lag={3: 9000})
        topics = {"t": [moving if number < 4 else Partition(replicas=(1, 2), end=10_000)]}
        fields: dict[str, Any] = {"topic_configs": {}} if number == 8 else {}
        return poll(topics, 10.0 * number, **throttle(lists, everywhere(MB)) | fields)

    assert found(judge_each(*map(seen, range(13)))[-1]) & of("lopsided", (3, "follower")) == set()


def test_an_entry_that_never_had_a_replica_stays_a_problem() -> None:
    def seen(number: int) -> Snapshot:
        fields: dict[str, Any] = {"topic_configs": {}} if number == 8 else {}
        lists = TopicConfig(follower_throttled="0:3")
        topics = {"t": [Partition(replicas=(1, 2), end=10_000)]}
        return poll(topics, 10.0 * number, **throttle(lists, everywhere(MB)) | fields)

    assert of("lopsided", (3, "follower")) <= found(judge_each(*map(seen, range(13)))[-1])


def test_a_replica_was_in_sync_before_its_list_was_unknown() -> None:
    """It left the ISR at 20 s under a throttle that binds; later three polls do not know the list."""

    def seen(number: int) -> Found:
        return found(derived[number])

    def polled(number: int) -> Snapshot:
        end, lag = 10_000 + 20_000 * number, {2: 10_000 * (number - 1)} if number >= 2 else {}
        topics = {"t": [Partition(replicas=(1, 2), end=end, lag=lag, out=(2,) if number >= 2 else ())]}
        beans = {"broker_beans": {2: throttled_rates(follower=1e5)}}
        fields = throttle(TopicConfig(follower_throttled="0:2"), {}, {2: 1e5}) | beans
        return poll(topics, 10.0 * number, **fields | ({"topic_configs": {}} if 6 <= number < 9 else {}))

    derived = judge_each(*map(polled, range(14)))
    original = of("holds_original", (2, "follower"))
    assert [original <= seen(number) for number in (5, 8, 13)] == [True, False, True]


BEHIND: Topics = {"t": [Partition(replicas=(1, 2), end=10_000, lag={2: 500}, out=(2,))]}
IDLE: Topics = {"t": [Partition(replicas=(1, 2), end=10_000)]}
BLOCKED = throttle(TopicConfig(follower_throttled="0:2"), {}, {2: 0.0})
PROBLEMS: dict[str, tuple[Topics, dict[str, Any], Found]] = {
    "blocked": (BEHIND, BLOCKED, of("blocked", (2, "follower"))),
    "uneven": (STANDING, throttle(TOOL, {1: MB, 2: 2 * MB}), of("uneven", (1, "leader"), (2, "leader"))),
    "lopsided": (IDLE, throttle(TopicConfig(leader_throttled="0:3"), {3: MB}, {}), of("lopsided", (3, "leader"))),
    "fetch_size": (IDLE, throttle(TopicConfig("*", "*"), everywhere(100.0)), of("fetch_size", (1, "leader"))),
    "left_behind": (IDLE, throttle(TOOL, everywhere(MB)), of("left_behind", (1, "leader"))),
    "idle_rate": (IDLE, throttle(TopicConfig(), everywhere(MB)), of("idle_rate", (1, "leader"))),
}
UNKNOWN: list[dict[str, Any]] = [{"topic_configs": {}}, {"broker_configs": {}}, {"reassignments_known": False}]


@pytest.mark.parametrize("unknown", UNKNOWN, ids=lambda unknown: next(iter(unknown)))
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_ends_with_the_third_poll_in_a_row_that_cannot_decide(name: str, unknown: dict[str, Any]) -> None:
    topics, fields, problem = PROBLEMS[name]

    def seen(number: int, gap: tuple[int, ...]) -> Snapshot:
        if number not in gap:
            return poll(topics, 10.0 * number, **fields)
        hidden: dict[str, Any] = (
            {"adding": (), "out": (2,)} if topics is STANDING and "reassignments_known" in unknown else {}
        )
        return poll({"t": [replace(topics["t"][0], **hidden)]}, 10.0 * number, **fields | unknown)

    def ages(*gap: int) -> list[float | None]:
        polls = [seen(number, gap) for number in range(10)]
        (place,) = list(problem)[:1]
        return [
            {(b, str(s), str(p)): age for (b, s, p), age in derived.throttling.problems.items()}.get(place)
            for derived in judge_each(*polls, parameters=Parameters(moves_grace=0.0))
        ]

    whole = [None, None, *(10.0 * number for number in range(2, 10))]
    assert (ages(), ages(5, 6)) == (whole, whole)
    # A limit of 0 and a size need no reassignments, and an entry without its replica no rate.
    decides = {"reassignments_known": {"blocked", "fetch_size"}, "broker_configs": {"lopsided"}}
    decided = name in decides.get(next(iter(unknown)), ())
    assert ages(5, 6, 7)[6:] == ([60.0, 70.0, 80.0, 90.0] if decided else [60.0, None, None, None])


def test_a_rate_without_a_list_may_be_of_a_move_while_reassignments_are_unknown() -> None:
    fields = throttle(TopicConfig(), everywhere(MB))
    polls = [poll(BEHIND, 10.0 * number, **fields, reassignments_known=False) for number in range(5)]
    assert [derived.throttling.problems for derived in judge_each(*polls)] == [{}] * 5
