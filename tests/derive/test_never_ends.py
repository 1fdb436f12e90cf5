"""Moves that never end: only the throttle can be why, and an ETA of +Inf is shown with them and with nothing else."""

import math
from typing import Any

import pytest

from kafka_warden.derive import Derived
from kafka_warden.model import UNLIMITED, Source, SourceStatus, TopicConfig
from tests.building import Partition, Topics, answered, judge_each, known
from tests.derive.throttled import ALL, MB, everywhere, poll, rates

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
