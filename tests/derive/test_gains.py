"""What the end of many moves costs: counting each must not look through all topics again."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.building import Partition, judge_each, snapshot

TOPICS = 40
LOOKS: list[int] = []


class Counted(tuple[str, ...]):
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
    object.__setattr__(seen, "topics", Counted(seen.topics))
    return seen


def looks(ended: int) -> int:
    """How often all topics are looked through in three polls."""
    polls = [poll(number, ended) for number in range(3)]
    LOOKS.clear()
    judge_each(*polls)
    return len(LOOKS)


@pytest.mark.parametrize("ended", [2, TOPICS - 1])
def test_moves_that_end_together_cost_no_look_at_all_topics_each(ended: int) -> None:
    """However many there are."""
    assert looks(ended) == looks(1)
