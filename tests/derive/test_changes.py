"""What forgets the slopes that were measured: any change of limit, list or ISR that a move depends on, and no other."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_warden.model import Limit, Origin, Side, Snapshot, TopicConfig
from tests.building import Partition, Topics, judge_each
from tests.derive.following import remembering
from tests.derive.throttled import MB, everywhere, poll, rates

POLLS, CHANGED_AT = 9, 6
TOOL = TopicConfig(leader_throttled="0:1,0:3", follower_throttled="0:2")

Poll = Callable[[int, bool], Snapshot]
"""Its number, and whether the change has been made."""


def moved(number: int, **fields: Any) -> Partition:
    """A partition that goes to broker 2 at 90 kB/s, led by 1 and with 3 in sync; 50 kB/s come in."""
    made = {"replicas": (1, 3, 2), "adding": (2,), "end": 10**6 + 5000 * number, "lag": {2: 900_000 - 9000 * number}}
    return Partition(**{**made, **fields})


def seen(number: int, topics: Topics, **fields: Any) -> Snapshot:
    """A poll under a throttle of 1 MB/s."""
    made = {"broker_configs": rates(everywhere(MB)), "topic_configs": {"t": TOOL}}
    return poll(topics, 10.0 * number, **{**made, **fields})


def changed_at(polls: Poll) -> list[float]:
    """When the one flow last changed, as of each poll."""
    kept = remembering(*(polls(number, number >= CHANGED_AT) for number in range(POLLS)))
    return [change.at for memory, _ in kept for change in memory.moves.changes.values()]


def lists(leader: str, follower: str) -> dict[str, TopicConfig]:
    return {"t": TopicConfig(leader_throttled=leader, follower_throttled=follower)}


def beside(number: int, **fields: Any) -> Topics:
    """Another topic, led by 1 and in sync on 2."""
    made = {"replicas": (1, 2), "end": 10**6 + 7000 * number}
    return {"a": [Partition(**{**made, **fields})], "t": [moved(number)]}


def limited(number: int, changed: bool, side: Side) -> Snapshot:
    configs = rates(everywhere(MB))
    broker = 1 if side is Side.LEADER else 2
    limits = {**configs[broker].limits, side: Limit(2 * MB if changed else MB, Origin.BROKER)}
    configs[broker] = type(configs[broker])(limits=limits)
    return seen(number, {"t": [moved(number)]}, broker_configs=configs)


CHANGES: dict[str, Poll] = {
    "the leader's limit": lambda n, c: limited(n, c, Side.LEADER),
    "the target's limit": lambda n, c: limited(n, c, Side.FOLLOWER),
    "leader's list goes": lambda n, c: seen(n, {"t": [moved(n)]}, topic_configs=lists("" if c else "0:1,0:3", "0:2")),
    "leader's list comes": lambda n, c: seen(n, {"t": [moved(n)]}, topic_configs=lists("0:1,0:3" if c else "", "0:2")),
    "leader's list names others": lambda n, c: seen(
        n, {"t": [moved(n)]}, topic_configs=lists("0:3" if c else "0:1,0:3", "0:2")
    ),
    "follower's list goes": lambda n, c: seen(n, {"t": [moved(n)]}, topic_configs=lists("0:1", "" if c else "0:2")),
    "an original leaves the ISR": lambda n, c: seen(n, {"t": [moved(n, out=(3,) if c else ())]}),
    "an original joins the ISR": lambda n, c: seen(n, {"t": [moved(n, out=() if c else (3,))]}),
    "another topic is listed on the leader": lambda n, c: seen(
        n, beside(n), topic_configs={"t": TOOL, "a": TopicConfig("0:1" if c else "", "")}
    ),
    "another topic is listed on the target": lambda n, c: seen(
        n, beside(n), topic_configs={"t": TOOL, "a": TopicConfig("", "*" if c else "")}
    ),
    "a follower of another listed topic leaves the ISR": lambda n, c: seen(
        n, beside(n, out=(2,) if c else ()), topic_configs={"t": TOOL, "a": TopicConfig("*", "")}
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_noticed_once(what: str) -> None:
    at = 10.0 * CHANGED_AT
    assert changed_at(CHANGES[what]) == [0.0] * CHANGED_AT + [at] * (POLLS - CHANGED_AT)


def ends(number: int, ended: bool, late: bool = False) -> Snapshot:
    """A second move between the same brokers is over; `late`: its old replica goes a poll later."""
    over = Partition(replicas=(1, 3, 2) if late and number == CHANGED_AT else (1, 2), end=10**6)
    other = over if ended else moved(number)
    return seen(number, {"t": [moved(number), other]}, topic_configs={"t": TopicConfig("*", "*")})


NO_CHANGES: dict[str, Poll] = {
    "nothing": lambda n, _: seen(n, {"t": [moved(n)]}),
    "traffic wobbles": lambda n, _: seen(n, {"t": [moved(n, end=10**6 + 90_000 * (n // 2))]}),
    "another move ends": ends,
    "another move ends, which metadata shows late": lambda n, c: ends(n, c, late=True),
    "another move begins": lambda n, c: ends(n, not c),
    "a topic is made": lambda n, c: seen(
        n, beside(n) if c else {"t": [moved(n)]}, topic_configs={"t": TOOL, "a": TopicConfig("*", "*")}
    ),
    "a topic is deleted": lambda n, c: seen(
        n, {"t": [moved(n)]} if c else beside(n), topic_configs={"t": TOOL, "a": TopicConfig("*", "*")}
    ),
    "an unlisted topic shrinks": lambda n, c: seen(
        n, beside(n, out=(2,) if c else ()), topic_configs={"t": TOOL, "a": TopicConfig()}
    ),
    "a list where there is no limit": lambda n, c: seen(
        n,
        beside(n),
        broker_configs=rates({}),
        topic_configs={"t": TOOL, "a": TopicConfig("*" if c else "", "*" if c else "")},
    ),
    "a list of other brokers": lambda n, c: seen(
        n, beside(n, replicas=(3, 4)), topic_configs={"t": TOOL, "a": TopicConfig("*" if c else "", "*" if c else "")}
    ),
}


@pytest.mark.parametrize("what", NO_CHANGES)
def test_what_is_no_change(what: str) -> None:
    assert changed_at(NO_CHANGES[what]) == [0.0] * POLLS


def test_a_leader_list_that_comes_makes_the_law_count_at_once() -> None:
    """900 kB a poll without a limit, then the tool's list and 9 kB: earlier gains no longer count."""
    limits = rates({1: 0.3 * MB}, {1: Limit().value})
    polls, true = [], []
    for number in range(14):
        listed = number >= CHANGED_AT
        lag = 8_000_000 - min(number, CHANGED_AT) * 900_000 - max(number - CHANGED_AT, 0) * 30_000
        partition = Partition(replicas=(1, 2), adding=(2,), end=10**7, lag={2: lag})
        config = {"t": TopicConfig(leader_throttled="0:1" if listed else "")}
        polls.append(poll({"t": [partition]}, 10.0 * number, broker_configs=limits, topic_configs=config))
        true.append(lag * 100 / (0.3 * MB))
    etas = [derived.moves[0].eta for derived in judge_each(*polls)]
    assert etas[CHANGED_AT:] == pytest.approx(true[CHANGED_AT:], rel=0.2)
