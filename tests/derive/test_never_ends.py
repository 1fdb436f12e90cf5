"""Moves that never end: only the throttle can be why, and an ETA of +Inf is shown with them and with nothing else.

One poll of bursty traffic neither proves that, nor gives an ETA.
"""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_warden.derive import Derived
from kafka_warden.model import UNKNOWN, UNLIMITED, Source, SourceStatus, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, Topics, answered, judge_each, known
from tests.derive.throttled import ALL, MB, everywhere, found, poll, rates

LISTS = {"t": TopicConfig(leader_throttled="*", follower_throttled="*")}
DOWN = SourceStatus(up=False, duration=5.0, last_success=None, errors={"timeout": 1})
POLLS, DOWN_FROM = 16, 6


def verdict_of(each: Derived) -> tuple[bool | None, float | None, float | None]:
    """Whether the move never ends, its ETA and that of all."""
    return each.moves[0].never_ends, each.moves[0].eta, each.totals.eta


def with_down(broker: int, limit: float) -> list[Derived]:
    """A move from 1 to 2 at 90 kB/s whose target or leader does not answer any more from the seventh poll on."""

    def seen(number: int) -> Any:
        down = number >= DOWN_FROM
        lag = {2: 700_000 - 9000 * min(number, DOWN_FROM - 1)}
        partition = Partition(replicas=(1, 2), adding=(2,), end=1_000_000, lag=lag, silent=(broker,) if down else ())
        clock = 10.0 * number
        status = {(Source.OFFSETS, str(each)): DOWN if down and each == broker else answered(clock) for each in ALL}
        configs = {"broker_configs": rates(everywhere(limit)), "topic_configs": LISTS}
        return poll({"t": [partition]}, clock, status=status, **configs)

    return judge_each(*(seen(number) for number in range(POLLS)))


@pytest.mark.parametrize("limit", [UNLIMITED, 1 * MB])
@pytest.mark.parametrize(("broker", "cause"), [(2, "target_down"), (1, "leader_unresponsive")])
def test_nothing_is_known_of_the_end_while_a_broker_is_down(broker: int, cause: str, limit: float) -> None:
    judged = with_down(broker, limit)
    assert judged[DOWN_FROM - 1].totals.eta is not None
    assert [verdict_of(each) for each in judged[DOWN_FROM:]] == [(None, None, None)] * (POLLS - DOWN_FROM)
    assert judged[-1].moves[0].stuck == cause


def test_a_replica_that_lacks_nothing_perhaps_may_end() -> None:
    """Its leader answers, but not for this partition, whose size is not known, either."""
    unknown = Partition(replicas=(1, 2), adding=(2,), end=0, lag={2: 0}, silent=(1,), sizes={1: UNKNOWN})
    configs = {"broker_configs": rates(everywhere(0.0)), "topic_configs": LISTS}
    judged = judge_each(*(poll({"t": [unknown]}, 10.0 * number, **configs) for number in range(3)))
    assert [verdict_of(each) for each in judged] == [(None, None, None)] * 3


def test_a_move_that_stands_still_below_its_throttle_may_yet_end() -> None:
    """Something that is no throttle holds it up: the law gives it 1 MB/s, it has had nothing for two minutes."""
    standing: Topics = {"t": [Partition(replicas=(1, 2), adding=(2,), end=1_000_000, lag={2: 700_000})]}
    configs = {"broker_configs": rates(everywhere(1 * MB)), "topic_configs": LISTS}
    judged = judge_each(*(poll(standing, 10.0 * number, **configs) for number in range(POLLS)))
    assert verdict_of(judged[-1]) == (None, None, None)
    assert judged[-1].moves[0].stuck == "no_progress"


def nearly_lost(gained: float) -> list[Derived]:
    """Run f1 of the law: limit 0.5, in 0.58 MB/s over six partitions, law's net -0.04 MB/s, and what is seen."""

    def seen(number: int) -> Any:
        end = (1_000_000 + int(number * 10 * 5800)) // 6
        left = (400_000 - int(number * 10 * gained / 100)) // 6
        parts = [Partition(replicas=(1, 2), adding=(2,), end=end, lag={2: left})] * 6
        configs = {"broker_configs": rates(everywhere(0.5 * MB)), "topic_configs": LISTS}
        return poll({"t": parts}, 10.0 * number, **configs)

    return judge_each(*(seen(number) for number in range(9)))


def test_a_loss_within_the_error_of_the_law_has_no_eta() -> None:
    """Until there is a slope: a gain gives an ETA, and no gain over 36 s never ends."""
    losing, gaining = nearly_lost(-0.02 * MB), nearly_lost(0.05 * MB)
    assert {verdict_of(each) for each in losing[1:3]} == {(False, None, None)}
    assert verdict_of(losing[-1]) == (True, math.inf, math.inf)
    for each in gaining[4:]:
        never, eta, total = verdict_of(each)
        left = sum(known(move.remaining_bytes) for move in each.moves)
        assert never is False
        assert eta == pytest.approx(left / (0.05 * MB), rel=0.1)
        assert total == pytest.approx(left / (0.05 * MB), rel=0.1)


PARTS = 12
BURSTS = [0.0, *[2.0 * MB if number % 4 == 0 else 0.0 for number in range(1, 20)]]
"""0.5 MB/s in the mean, for 10 of 40 s; the first one has come when the mean is known."""

PROBLEM_POLLS = 3
TOO_LOW = "throttle_below_inbound"


def judged(
    produced: Sequence[float], gross: float, limit: float, replicas: Sequence[int] = (1, 2), **fields: int
) -> list[Derived]:
    """Twelve partitions go from 1 to 2 at a gross rate, while these rates come in by turns of 10 s."""
    polls, total = [], 0.0
    for number, rate in enumerate(produced):
        total += 10 * rate
        end = 1_000_000 + int(total / PARTS / BYTES_PER_OFFSET)
        lag = 500_000 + int((total - 10 * gross * number) / PARTS / BYTES_PER_OFFSET)
        parts = [Partition(replicas=replicas, adding=(2,), end=end, lag={2: lag})] * PARTS
        configs = rates(everywhere(limit), replica_fetch_response_max_bytes=1 << 20)
        polls.append(poll({"t": parts}, 10.0 * number, broker_configs=configs, topic_configs=LISTS, **fields))
    return judge_each(*polls)


def test_a_move_that_gains_on_bursts_ends() -> None:
    for each in judged(BURSTS, 0.7 * MB, 0.75 * MB)[2:]:
        move = each.moves[0]
        left = sum(known(each.remaining_bytes) for each in each.moves)
        assert move.never_ends is False
        assert move.eta is not None
        assert move.eta <= known(each.totals.eta) + 1e-6 < math.inf
        assert move.eta <= 1.6 * left / (0.2 * MB)
        assert found(each) == set()


def test_an_in_sync_follower_that_takes_the_limit_for_a_moment_ends_nothing() -> None:
    """Its bursts are more than the limit: nothing is left of it for 10 of 40 s."""
    for each in judged(BURSTS, 0.9 * MB, 1.5 * MB, replicas=(1, 3, 2))[2:]:
        assert each.moves[0].never_ends is False
        assert found(each) == set()


def test_a_rise_that_lasts_is_shown_soon() -> None:
    risen = 8
    derived = judged([0.2 * MB] * risen + [2 * MB] * 10, 1 * MB, 1 * MB)
    never = [each.moves[0].never_ends for each in derived]
    raised = [(1, "leader", "below_inbound") in found(each) for each in derived]
    assert True not in never[: risen + 1]
    assert never.index(True) <= risen + 3
    assert all(never[never.index(True) :])
    assert raised.index(True) <= never.index(True) + PROBLEM_POLLS - 1
    assert all(raised[raised.index(True) :])


def test_a_steady_loss_is_shown_once_it_has_settled() -> None:
    """A sidecar that has just started has no mean over 36 s: it takes what it has, of 12 s at least."""
    derived = judged([2 * MB] * 6, 1 * MB, 1 * MB)
    assert [each.moves[0].never_ends for each in derived] == [None, None] + [True] * 4
    assert [each.moves[0].eta for each in derived] == [None, None] + [math.inf] * 4
    assert (2, "follower", "below_inbound") in found(derived[3])


def test_a_throttle_that_a_burst_exceeds_is_no_cause_at_once() -> None:
    """A move that has advanced under it is stuck after 180 s; one that never did, after the stall of 30 s.

    After a burst of two minutes it needs four more to be as near to its end as before, and is not stuck meanwhile.
    """

    def stuck(produced: Sequence[float]) -> list[str]:
        return [str(each.moves[0].stuck or "") for each in judged(produced, 1 * MB, 1 * MB)]

    risen, shown = 8, 7 + 18
    assert stuck([0.2 * MB] * risen + [2 * MB] * 20) == [""] * shown + [TOO_LOW] * (28 - shown)
    assert stuck([0.2 * MB] * risen + [3 * MB] * 12 + [0.0] * 30) == [""] * (risen + 12 + 30)
    assert stuck([2 * MB] * 6) == [""] * 3 + [TOO_LOW] * 3


def test_a_sidecar_that_starts_in_a_burst_waits() -> None:
    derived = judged([0.0, 2 * MB, 0.0, 0.0, 0.0], 0.7 * MB, 1 * MB)
    assert True not in [each.moves[0].never_ends for each in derived]
    assert math.inf not in [each.moves[0].eta for each in derived]


def test_a_load_that_is_over_is_no_problem() -> None:
    """100 MB in 10 s are still above the limit in the mean of 36 s, and come in no more."""
    derived = judged([0.0, 0.0, 0.0, 10 * MB, *[0.0] * 8], 1 * MB, 1 * MB)
    for each in derived[4:]:
        assert each.moves[0].never_ends is not True
        assert each.moves[0].eta != math.inf
        assert found(each) == set()


def test_rates_on_the_page_are_of_the_last_poll() -> None:
    derived = judged(BURSTS, 0.9 * MB, 1.5 * MB, replicas=(1, 3, 2))
    in_burst, after = (derived[number].bytes_in.sum() for number in (8, 9))
    assert (in_burst, after) == (pytest.approx(2 * MB, rel=0.01), 0.0)
