"""What moves gained: over any cadence of polls, and without looking through all topics for each that ends."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_warden.model import BrokerConfig, Parameters, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, judge, judge_each, snapshot

TOPICS = 40
LOOKS: list[int] = []


class ThrottledTraffic(tuple[str, ...]):
    """Names of topics that count how often they are looked through."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        """Count."""
        LOOKS.append(len(self))
        return super().__iter__()


def poll(number: int, ended: int) -> Any:
    """So many of the moves are over in the third poll, the others go on."""
    moving = Partition(replicas=(1, 2), adding=(2,), end=1000, lag={2: 500 - 50 * number})
    over = Partition(replicas=(1, 2), end=1000)
    topics = {f"t{topic:02d}": [over if number == 2 and topic < ended else moving] for topic in range(TOPICS)}
    seen = snapshot(topics, clock=10.0 * number)
    object.__setattr__(seen, "topics", ThrottledTraffic(seen.topics))
    return seen


def looks(ended: int) -> int:
    """How often all topics are looked through in three polls."""
    polls = [poll(number, ended) for number in range(3)]
    LOOKS.clear()
    judge_each(*polls)
    return len(LOOKS)


@pytest.mark.parametrize("ended", [2, TOPICS - 1])
def test_moves_that_end_together_cost_no_look_at_all_topics_each(ended: int) -> None:
    assert looks(ended) == looks(1)


@pytest.mark.parametrize(
    ("step", "window"), [(10.0, (11, 1.0)), (120.0, (11, 1.0)), (10.0, (30, 5.0)), (10.0, (1, 1.0)), (1.0, (1, 1.0))]
)
def test_rates_of_slow_polls_and_of_long_and_short_windows(step: float, window: tuple[int, float]) -> None:
    """Two polls make a rate however far apart they are, and an unthrottled ETA waits for a window and no longer."""
    config = {broker: BrokerConfig(quota_window_num=window[0], quota_window_size=window[1]) for broker in (1, 2)}
    polls = [
        snapshot(
            {"t": [Partition(replicas=(1, 2), adding=(2,), end=90_000_000, lag={2: 80_000_000 - 10_000 * int(clock)})]},
            clock=clock,
            broker_configs=config,
            topic_configs={"t": TopicConfig()},
        )
        for clock in (step * poll for poll in range(int(600 / step) + 1))
    ]
    (move,) = judge(*polls, parameters=Parameters(poll_interval=step)).moves

    assert move.bytes_per_second == pytest.approx(10_000 * BYTES_PER_OFFSET)
    assert move.eta == pytest.approx((80_000_000 - 10_000 * 600) / 10_000)
