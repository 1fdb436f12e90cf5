"""Moves that the throttled-replica lists name beside others between the same two brokers that they do not."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kafka_warden.derive import Derived, derive
from kafka_warden.derive.saved import from_document, to_document
from kafka_warden.history.poll import Poll
from kafka_warden.model import Parameters, Side, Snapshot, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, judge_each, known
from tests.derive.following import remembering
from tests.derive.throttled import MB, everywhere, found, of, poll, throttle
from tests.history.replay import rows

POLLS = 10
STEP = 10.0
LISTED, FREE = 0, 1
"""Partitions of the topic `t`, both on their way from broker 1 to 2."""

TOOL = TopicConfig(leader_throttled="0:1", follower_throttled="0:2")
"""Lists as the tool writes them for partition 0; partition 1 came later with `--additional` and without a throttle."""


def moving(number: int, left: float, gained: float, produced: float) -> Partition:
    """A move with remaining bytes, its gain and its inbound rate in bytes per second."""
    seconds = STEP * number
    end = 10**7 + int(produced * seconds / BYTES_PER_OFFSET)
    lag = max(int((left - gained * seconds) / BYTES_PER_OFFSET), 0)
    return Partition(replicas=(1, 2), adding=(2,), removing=(1,), end=end, lag={2: lag})


Move = tuple[float, float]
"""Gained and produced bytes per second."""


def at(number: int, listed: Move, free: Move, limits: Mapping[int, float], **fields: Any) -> Snapshot:
    """A poll that sees both, at first 200 MB of the listed one left and 800 of the other."""
    topics = {"t": [moving(number, 200 * MB, *listed), moving(number, 800 * MB, *free)]}
    return poll(topics, STEP * number, **{**throttle(TOOL, limits), **fields})


def seen(listed: Move, free: Move, limits: Mapping[int, float], **fields: Any) -> list[Derived]:
    return judge_each(*(at(number, listed, free, limits, **fields) for number in range(POLLS)))


def problems(judged: list[Derived]) -> set[str]:
    return {problem for each in judged for _, _, problem in found(each)}


def test_inbound_traffic_past_the_throttle_is_not_its_fault() -> None:
    """1 MB/s for the listed one, into which nothing comes; 3 MB/s come into the other, which no limit holds back."""
    judged = seen((0.9 * MB, 0.0), (6 * MB, 3 * MB), everywhere(1 * MB))
    assert problems(judged) == {"lopsided"}
    for each in judged:
        assert [move.never_ends for move in each.moves] in ([None, None], [False, None], [False, False])
    last, left = judged[-1].moves, [known(move.remaining_bytes) for move in judged[-1].moves]
    assert last[LISTED].eta == pytest.approx(left[LISTED] / (0.9 * MB), rel=0.1)
    assert last[FREE].eta == pytest.approx(left[FREE] / (6 * MB), rel=0.1)
    assert judged[-1].totals.eta == pytest.approx(last[LISTED].eta, rel=0.01)


def test_a_listed_move_that_loses_does_not_take_the_other_along() -> None:
    """3 MB/s come into a limit of 1; beside it all goes well."""
    judged = seen((-2.0 * MB, 3 * MB), (6 * MB, 0.0), everywhere(1 * MB))
    last = judged[-1]
    assert [move.never_ends for move in last.moves] == [True, False]
    assert last.moves[LISTED].eta == math.inf
    assert last.moves[FREE].eta == pytest.approx(known(last.moves[FREE].remaining_bytes) / (6 * MB), rel=0.1)
    assert last.totals.eta == math.inf
    places = (1, "leader"), (2, "follower")
    assert found(last) == of("below_inbound", *places) | of("lopsided", *places)


def test_a_listed_move_that_is_blocked_is_stuck_beside_one_that_goes_on() -> None:
    """Nothing passes a limit of 0 but what no list names: the sum of both says nothing."""
    judged = seen((0.0, 0.0), (6 * MB, 0.0), everywhere(0.0))
    last = judged[-1]
    assert [move.stuck for move in last.moves] == ["throttle_blocked", None]
    assert [move.never_ends for move in last.moves] == [True, False]
    assert last.moves[FREE].eta == pytest.approx(known(last.moves[FREE].remaining_bytes) / (6 * MB), rel=0.1)


def test_an_unlisted_move_that_stands_still_is_not_the_throttles_fault() -> None:
    last = seen((0.9 * MB, 0.0), (0.0, 0.0), everywhere(1 * MB))[-1]
    assert [move.stuck for move in last.moves] == [None, "no_progress"]
    assert [move.never_ends for move in last.moves] == [False, None]


@pytest.mark.parametrize(("leader", "follower"), [(1.0, 3.0), (3.0, 1.0)], ids=["leader", "follower"])
def test_each_side_holds_back_what_its_own_list_names(leader: float, follower: float) -> None:
    """The leader's list names one, the follower's the other; the law applies before anything is measured."""
    configured = throttle(TopicConfig("0:1", "1:2"), {1: leader * MB}, {2: follower * MB})
    polls = seen((0.0, 0.0), (0.0, 0.0), {}, **configured)
    sides = polls[1].throttling.sides
    assert (sides[1, Side.LEADER].flows, sides[2, Side.FOLLOWER].flows) == (1, 1)
    assert sides[1, Side.LEADER].remaining == 200 * MB
    assert sides[2, Side.FOLLOWER].remaining == 800 * MB
    etas = [known(move.eta) for move in polls[1].moves]
    assert etas == pytest.approx([200 / leader, 800 / follower], rel=0.15)


def test_a_side_is_judged_on_what_its_limit_holds_back() -> None:
    both = seen((0.9 * MB, 0.0), (6 * MB, 3 * MB), everywhere(1 * MB))[-1]
    listed = ({"t": [moving(number, 200 * MB, 0.9 * MB, 0.0)]} for number in range(POLLS))
    configured = throttle(TOOL, everywhere(1 * MB))
    alone = judge_each(*(poll(topics, STEP * number, **configured) for number, topics in enumerate(listed)))[-1]
    assert both.throttling.sides == alone.throttling.sides
    assert both.totals.predicted_bottleneck == alone.totals.predicted_bottleneck
    assert both.totals.bottleneck == alone.totals.bottleneck


def test_the_throttle_to_recommend_is_for_all_that_moves() -> None:
    limits = everywhere(1 * MB)
    partly = seen((0.0, 0.0), (0.0, 3 * MB), limits)[-1].throttling.recommended
    whole = TopicConfig(leader_throttled="0:1,1:1", follower_throttled="0:2,1:2")
    listed = seen((0.0, 0.0), (0.0, 3 * MB), limits, topic_configs={"t": whole})[-1].throttling.recommended
    assert known(partly) == listed


def test_two_parts_of_what_one_leader_sends_share_its_limit() -> None:
    """One of them the follower's list names as well: they end together at the leader's pace, and in one fetch."""
    lists, fetch = TopicConfig("0:1,1:1", "1:2"), 8 << 20
    configured = throttle(lists, {1: 2 * MB}, {2: 50 * MB}, replica_fetch_max_bytes=fetch)
    judged = seen((0.0, 0.0), (0.0, 0.0), {}, **configured)[1]
    side = judged.throttling.sides[1, Side.LEADER]
    assert (side.flows, side.remaining, side.headroom) == (2, 1000 * MB, 2 * MB)
    assert side.burst == 10 << 20
    assert judged.throttling.sides[2, Side.FOLLOWER].burst == 8 << 20
    assert judged.totals.bottleneck == (1, Side.LEADER)


def test_a_follower_that_only_the_leaders_list_holds_back_shares_its_limit() -> None:
    """It is out of the ISR and named nowhere itself; half of the limit is left for what moves."""
    topics = {
        "t": [
            Partition(replicas=(1, 2), out=(2,), end=10**7, lag={2: 10**6}),
            Partition(replicas=(1, 3), adding=(3,), removing=(1,), end=10**7, lag={3: 10**6}),
        ]
    }
    configured = throttle(TopicConfig("0:1,1:1", "1:3"), everywhere(2 * MB))
    judged = judge_each(*(poll(topics, STEP * number, **configured) for number in range(2)))[-1]
    assert judged.throttling.sides[1, Side.LEADER].flows == 2
    assert judged.moves[0].eta == pytest.approx(100 / 1.0, rel=0.15)


@pytest.mark.parametrize("joins", [True, False])
def test_a_move_that_joins_or_leaves_a_flow_restarts_its_slopes(joins: bool) -> None:
    """It takes of the limit what they had, or leaves it to them: earlier slopes do not count."""
    both = TopicConfig(leader_throttled="0:1,1:1", follower_throttled="0:2,1:2")
    before, after = (TOOL, both) if joins else (both, TOOL)
    changed = 5
    lists = [before] * changed + [after] * (POLLS - changed)
    move, limits = (0.9 * MB, 0.0), everywhere(1 * MB)
    polls = (at(number, move, move, limits, topic_configs={"t": each}) for number, each in enumerate(lists))
    judged = judge_each(*polls)
    measured = [each.throttling.sides[1, Side.LEADER].measured for each in judged]
    assert measured[changed - 1] is not None
    assert measured[changed : changed + 2] == [None, None]
    assert measured[-1] is not None


@pytest.mark.parametrize(
    "lists",
    [TOOL, replace(TOOL, follower_throttled=""), replace(TOOL, leader_throttled="")],
    ids=["of both sides", "of the leader", "of the follower"],
)
def test_a_restart_knows_which_of_them_were_listed(lists: TopicConfig) -> None:
    """The one that a limit of 0 blocks is stuck on the first page of the new process, and the other is not."""
    limits, fields = everywhere(0.0), {"topic_configs": {"t": lists}}
    *polls, then = (at(number, (0.0, 0.0), (6 * MB, 0.0), limits, **fields) for number in range(POLLS + 1))
    (memory, _), last = remembering(*polls)[-1], polls[-1]
    document = json.loads(json.dumps(to_document(memory, last), allow_nan=False))
    again, before = from_document(document, last).moves, memory.moves
    assert again.changes == before.changes
    assert again.stuck == before.stuck
    _, derived = derive(then, from_document(document, last), Parameters())
    assert [move.stuck for move in derived.moves] == ["throttle_blocked", None]


def test_beside_a_follower_that_only_catches_up_each_move_ends_by_itself() -> None:
    """Of what their flow copies, the part of that follower is not measured."""
    follower = Partition(replicas=(1, 2), end=10**7, lag={2: 1000}, out=(2,))
    limits = throttle(TopicConfig(leader_throttled="*", follower_throttled="*"), {})
    moves = ([moving(number, left, 0.5 * MB, 0.0) for left in (100 * MB, 300 * MB)] for number in range(POLLS))
    polls = (poll({"t": [*each, follower]}, STEP * number, **limits) for number, each in enumerate(moves))
    for move in judge_each(*polls)[-1].moves:
        assert move.eta == pytest.approx(known(move.remaining_bytes) / (0.5 * MB))


def test_history_distinguishes_them() -> None:
    """A row of a broker has one entry for what its limit holds back and one for what goes past it."""
    judged = seen((0.9 * MB, 0.0), (6 * MB, 3 * MB), everywhere(1 * MB))[-1]
    brokers = rows(Poll(judged.indexed.snapshot, judged, Parameters(), "run", POLLS))["brokers"]
    cells = dict(zip(brokers["broker"], brokers["flows"], strict=True))
    flows = [(each["leader"], each["leader_listed"], each["follower_listed"], each["remaining"]) for each in cells[2]]
    assert flows == [(1, True, True, 119 * MB), (1, False, False, 260 * MB)]
    assert [each["side_eta"] is None for each in cells[2]] == [False, True]
