"""What moves lack, poll after poll: no estimate of it may jump, or a healthy move seems to stand still."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_warden.derive import Derived
from kafka_warden.model import UNKNOWN, BrokerConfig, Snapshot, TopicConfig
from tests.building import BYTES_PER_OFFSET, Partition, judge_each, known, snapshot
from tests.derive.throttled import MB, STEP, everywhere, poll, throttle

POLLS = range(20)
ODD = 6
"""The poll in which something is odd."""
LEADER, TARGET = 0, 1
"""Rows of the replicas."""

Column = Mapping[int, int]


def answered(
    number: int, partition: Partition, sizes: Column | None = None, *, compacted: bool = False, **starts: int
) -> Snapshot:
    """A poll of one throttled move; `sizes` by row are those of the poll before, `leader` and `target` local starts."""
    configured = throttle(TopicConfig("*", "*", compacted=compacted), everywhere(2 * MB))
    seen = poll({"t": [partition]}, STEP * number, **configured)
    replicas, start = seen.replicas, seen.replicas.start.copy()
    size, sized_at = replicas.size.copy(), replicas.sized_at.copy()
    for row, old in (sizes or {}).items():
        size[row], sized_at[row] = old, sized_at[row] - STEP
    start[LEADER], start[TARGET] = starts.get("leader", start[LEADER]), starts.get("target", start[TARGET])
    return replace(
        seen,
        replicas=replace(replicas, size=size, sized_at=sized_at, start=start),
        partitions=replace(seen.partitions, start=start[[LEADER]]),
    )


def moving(number: int, gained: int = 2_000, **fields: Any) -> Partition:
    """1 MB/s come in, and the target gains so many messages of 100 bytes a second on its leader."""
    second = int(STEP) * number
    made = {"end": 2_000_000 + second * 10_000, "lag": {2: 500_000 - second * gained}}
    return Partition(**{"replicas": (1, 2), "adding": (2,), **made, **fields})


def heavy(number: int, gained: int = 500) -> Partition:
    """What was written of late, all that the target lacks included, weighs 150 bytes a message instead of 100."""
    seen = moving(number, gained)
    sizes = {broker: 100 * end + 50 * (end - 1_000_000) for broker in (1, 2) if (end := seen.end_at(broker))}
    return replace(seen, sizes=sizes)


def remaining(seen: list[Derived]) -> list[float | None]:
    """MB that the move lacks in each poll."""
    bytes_ = (each.moves[0].remaining_bytes for each in seen if each.moves)
    return [None if left is None else round(left / MB, 6) for left in bytes_]


def stuck(seen: list[Derived]) -> list[str]:
    return [str(move.stuck) for each in seen for move in each.moves if move.stuck is not None]


def judged(make: Callable[[int], Snapshot], polls: range = POLLS) -> list[Derived]:
    return judge_each(*(make(number) for number in polls))


def cleaned(number: int, gained: int = 500_000) -> Partition:
    """The leader's 10 million offsets were cleaned down to 10 bytes each; what is appended weighs 1,000."""
    sizes = {1: 100_000_000 + number * 1_000_000, 2: 10_000_000 + number * gained * 10}
    return Partition(
        replicas=(1, 2), adding=(2,), end=10_000_000 + number * 1000, lag={2: 9_000_000 - number * gained}, sizes=sizes
    )


def test_a_compacted_log_weighs_what_is_left_of_it() -> None:
    """90 of 100 MB are missing, half a MB/s is copied and a fifth of that appended, of records of another weight."""
    seen = judged(lambda number: answered(number, cleaned(number), compacted=True), range(12))

    assert remaining(seen) == [90 - 4 * number for number in range(12)]
    assert seen[-1].moves[0].eta == pytest.approx(46 / 0.4, rel=0.1)
    assert seen[-1].bytes_in.tolist() == [pytest.approx(100_000)]
    assert seen[-1].lag.sum_bytes.values[1] == pytest.approx(46 * MB)
    assert [each.moves[0].stalled for each in seen] == [0.0] * 12
    assert stuck(seen) == []


def test_the_light_head_of_a_compacted_log_is_soon_copied() -> None:
    """Of 10 million offsets 100 MB were left; 100,000 after them weigh as much again, and are all that is missing."""
    sizes = {1: 200_000_000, 2: 100_000_000}
    partition = Partition(replicas=(1, 2), adding=(2,), end=10_100_000, lag={2: 100_000}, sizes=sizes)
    assert remaining(judged(lambda number: answered(number, partition, compacted=True), range(2))) == [100, 100]


def test_a_cleaning_is_no_progress_and_stops_no_move() -> None:
    """The leader cleans half of its log in the eighth poll, the target a third of its copy before: none is a jump."""

    def make(number: int) -> Snapshot:
        leader, own = 200 * MB, 10 * MB
        for second in range(1, number + 1):
            leader, own = leader + 2 * MB, own + 4 * MB
            leader = leader / 2 if second == 8 else leader
            own = own * 2 / 3 if second == 5 else own
        seen = cleaned(number, gained=100_000)
        return answered(number, replace(seen, sizes={1: int(leader), 2: int(own)}), compacted=True)

    left = remaining(judged(make, range(16)))
    # What is copied and appended in the poll of a cleaning is seen only as far as it outweighs that.
    assert left[:8] == [190, 188, 186, 184, 182, 184, 182, 180]
    # 178 of 216 MB were to be copied, and as large a share of the 108 that are left is.
    assert left[8] == pytest.approx(178 / 2, rel=0.03)
    assert left[9:] == [pytest.approx(known(left[8]) - 2 * number, abs=1e-3) for number in range(1, 8)]
    assert stuck(judged(make, range(16))) == []


@pytest.mark.parametrize("row", [LEADER, TARGET])
def test_log_dirs_that_were_not_answered_once(row: int) -> None:
    def make(number: int) -> Snapshot:
        before = moving(number - 1).size_at(row + 1)
        return answered(number, moving(number), {row: before} if number == ODD else None)

    seen = judged(make)

    assert remaining(seen) == [50 - 2 * number for number in POLLS]
    assert stuck(seen) == []


@pytest.mark.parametrize("row", [LEADER, TARGET])
def test_log_dirs_that_are_silent_for_good(row: int) -> None:
    """Missing messages count as at the last answer with both sizes, 150 bytes each."""

    def make(number: int) -> Snapshot:
        old = heavy(ODD - 1).size_at(row + 1)
        seen = answered(number, heavy(number), {row: old} if number >= ODD else None)
        at = np.where(np.arange(2) == row, min(STEP * number, STEP * (ODD - 1)), STEP * number)
        return replace(seen, replicas=replace(seen.replicas, sized_at=at))

    seen = judged(make)

    assert remaining(seen) == [75 - 0.75 * number for number in POLLS]
    assert stuck(seen) == []


def test_silent_log_dirs_end_no_lack_of_progress() -> None:
    def make(number: int) -> Snapshot:
        old = moving(number - 1, gained=0).size_at(1)
        return answered(number, moving(number, gained=0), {LEADER: old} if number % 2 else None)

    seen = judged(make)

    assert remaining(seen) == [50] * len(POLLS)
    assert seen[-1].moves[0].stalled == STEP * POLLS[-1]
    assert [each.moves[0].stuck is not None for each in seen[5:]] == [True] * len(seen[5:])


def test_a_start_that_retention_moved_on_one_side() -> None:
    """For one poll the sizes are not comparable; missing messages are half as large again as the rest of the log."""
    seen = judged(lambda number: answered(number, heavy(number), leader=10 if number == ODD else 0))
    assert remaining(seen) == [75 - 0.75 * number for number in POLLS]
    assert stuck(seen) == []


def test_the_first_estimate_by_size_is_no_lack_of_progress() -> None:
    """Until the starts are equal only the average of the log is known: a jump up restarts the clock."""
    seen = judged(lambda number: answered(number, heavy(number), target=UNKNOWN if number < ODD else 0))

    assert remaining(seen)[ODD:] == [75 - 0.75 * number for number in POLLS[ODD:]]
    assert remaining(seen)[ODD - 1] == pytest.approx(0.1 * 125 * 5, rel=0.1)
    assert seen[ODD].moves[0].stalled == 0.0
    assert stuck(seen) == []
    # 75 kB/s are gained, whatever the jump was.
    assert seen[ODD + 3].moves[0].eta == pytest.approx(68.25 / 0.075, rel=0.2)


def led_by(leader: int, number: int, epoch: int, gained: int = 5_000) -> Partition:
    """Broker 3's log takes a tenth more room than broker 1's."""
    sizes = {1: 100_000_000, 3: 110_000_000, 2: 40_000_000 + number * gained * 100}
    lag = {2: 600_000 - number * gained}
    return Partition(replicas=(1, 2, 3), leader=leader, epoch=epoch, adding=(2,), end=10**6, lag=lag, sizes=sizes)


@pytest.mark.parametrize("silent", [False, True])
def test_another_leader_restarts_the_clock(silent: bool) -> None:
    """The bytes of its larger log are no lack of progress, also with no leader or answer in between."""

    def make(number: int) -> Snapshot:
        seen = led_by(1 if number < ODD else 3, number, int(number >= ODD))
        if silent and number == ODD:
            seen = replace(seen, leader=UNKNOWN)
        if silent and number == ODD + 1:
            seen = replace(seen, silent=(3,))
        return poll({"t": [seen]}, STEP * number)

    seen = judged(make)

    assert remaining(seen)[ODD - 1] == 57.5
    assert remaining(seen)[ODD + 2 :] == [70 - 0.5 * number for number in POLLS[ODD + 2 :]]
    assert stuck(seen) == []
    assert seen[ODD + 2].moves[0].stalled == 0.0


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("silent", [(), (2,)])
def test_a_log_that_begins_again_restarts_the_clock(silent: tuple[int, ...], compacted: bool) -> None:
    """The target lost its disk, or the move was cancelled and started again between two polls."""

    def make(number: int) -> Snapshot:
        copied = (number - ODD if number > ODD else 30 + number if number < ODD else 0) * 100_000
        target = Partition(replicas=(1, 2), adding=(2,), end=10**7, lag={2: 10**7 - copied})
        return answered(number, replace(target, silent=silent if number == ODD else ()), compacted=compacted)

    seen = judged(make)

    assert remaining(seen)[ODD - 1] == 650
    assert remaining(seen)[ODD + 1 :] == [1000 - 10 * (number - ODD) for number in POLLS[ODD + 1 :]]
    assert stuck(seen) == []
    assert seen[ODD + 1].moves[0].stalled == seen[-1].moves[0].stalled == 0.0
    assert known(seen[-1].totals.eta) == pytest.approx(870, rel=0.1)


def test_a_log_that_was_truncated_at_an_election_restarts_no_clock() -> None:
    """A new epoch of the same leader: the move stands still from the first poll on."""

    def make(number: int) -> Snapshot:
        target = Partition(replicas=(1, 2), adding=(2,), epoch=int(number >= ODD), end=10**6)
        return answered(number, replace(target, lag={2: 500_000 + 10 * (number >= ODD)}))

    seen = judged(make)

    assert seen[-1].moves[0].stalled == STEP * POLLS[-1]


def test_another_leader_restarts_no_other_clock() -> None:
    still = replace(
        led_by(1, 0, 0), replicas=(1, 4), adding=(4,), lag={4: 600_000}, sizes={1: 100_000_000, 4: 40_000_000}
    )
    topics = ({"t": [led_by(1 if number < ODD else 3, number, int(number >= ODD))], "u": [still]} for number in POLLS)
    seen = judge_each(*(poll(each, STEP * number) for number, each in enumerate(topics)))
    assert [each.moves[1].stuck is not None for each in seen[ODD - 1 :]] == [True] * len(seen[ODD - 1 :])


def test_a_new_epoch_of_the_same_leader_is_no_progress() -> None:
    """Its log is the same one; a follower that flaps must not hide that a move stands still."""
    seen = judged(lambda number: poll({"t": [led_by(1, number, number, gained=0)]}, STEP * number))
    assert seen[-1].moves[0].stalled == STEP * POLLS[-1]
    assert seen[-1].moves[0].stuck is not None


def test_lag_and_remaining_of_a_move_are_one_number() -> None:
    seen = judged(lambda number: answered(number, replace(moving(number), sizes={1: 1_000_000, 2: 900_000})))
    for each in seen:
        assert each.lag.bytes.tolist() == [0.0, each.moves[0].remaining_bytes] == [0.0, 100_000.0]
        assert each.lag.sum_bytes.values[:2].tolist() == [0.0, 100_000.0]
        assert each.lag.led_bytes.values[:2].tolist() == [100_000.0, 0.0]


def test_an_empty_target_lacks_what_is_not_in_remote_storage() -> None:
    """Kafka 4.3 may let it begin there, from the first poll on; later it lacks what its leader has beyond its end."""

    def lacks(broker: BrokerConfig, **fields: Any) -> float | None:
        made = {"replicas": (1, 2), "adding": (2,), "start": 1000, "end": 2000, "tiered": 1749, "lag": {2: 2000}}
        seen = snapshot(
            {"t": [Partition(**{**made, "sizes": {2: 0}, **fields})]},
            topic_configs={"t": TopicConfig(remote_storage=True)},
            broker_configs={2: broker},
        )
        starts = np.where(seen.replicas.broker == 2, 0 if fields.get("lag") is None else 1750, seen.replicas.start)
        return known(judge_each(replace(seen, replicas=replace(seen.replicas, start=starts)))[0].moves)[
            0
        ].remaining_bytes

    skips = BrokerConfig(follower_fetch_last_tiered=True)
    assert lacks(skips) == 250 * BYTES_PER_OFFSET
    assert lacks(BrokerConfig()) == 1000 * BYTES_PER_OFFSET
    assert lacks(skips, start=0) == 2000 * BYTES_PER_OFFSET
    assert lacks(skips, tiered=UNKNOWN) == 1000 * BYTES_PER_OFFSET
    assert lacks(skips, lag={2: 100}) == 100 * BYTES_PER_OFFSET


def test_a_cleaned_log_that_lacks_messages_lacks_a_tenth_of_their_bytes() -> None:
    """The change by cleaning is an estimate: equal sizes do not end a move that lacks 500 messages of 100 bytes."""
    move = Partition(replicas=(1, 2), adding=(2,), end=1000, lag={2: 500}, sizes={1: 100_000, 2: 100_000})
    seen = snapshot({"t": [move]}, topic_configs={"t": TopicConfig(compacted=True)})
    assert judge_each(seen)[0].moves[0].remaining_bytes == 5000


@pytest.mark.parametrize("above", [1, 700])
def test_records_that_are_deleted_between_two_answers_make_no_lag_negative(above: int) -> None:
    """The end is of the first answer, the start of the second."""
    lagging = Partition(replicas=(1, 2), end=100_000, lag={2: 300})
    seen = [poll({"t": [lagging]}, STEP * number) for number in range(2)]
    starts = replace(seen[1].partitions, start=np.array([100_000 + above], np.int64))
    derived = judge_each(seen[0], replace(seen[1], partitions=starts))[-1]
    assert (derived.lag.bytes.tolist(), derived.lag.messages.tolist()) == ([0.0, 0.0], [0, 300])
