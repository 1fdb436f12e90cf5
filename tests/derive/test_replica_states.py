"""States of a follower over rows of polls made by hand, a poll every 10 s."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from kafka_warden.model import UNKNOWN, Broker, Source, SourceStatus
from tests.building import Partition, answered, judge_each
from tests.derive.following import RATE, REPLICA, brokers, loaded, page, polls, seen, shown, state


def statuses(*silent: int) -> dict[tuple[Source, str], SourceStatus]:
    hung = SourceStatus(up=False, duration=5.0, last_success=None, errors={"timeout": 1})
    return {(Source.OFFSETS, str(broker)): hung if broker in silent else answered() for broker in (1, 2, 3)}


def test_follower_without_trouble() -> None:
    judged = judge_each(*seen(polls(40), loaded))
    assert [state(derived, 2) for derived in judged] == ["unknown"] * 3 + ["in_sync"] * 2
    assert state(judged[-1], 1) == "in_sync"
    assert page(judged[-1], "replica_state") == {}


@pytest.mark.parametrize(
    ("why", "partition", "expected"),
    [
        ("not advancing over a quota window", lambda at: loaded(at, 1000 + int(at) * 100, out=(2,)), "stuck"),
        ("advancing, and what is produced outruns it", lambda at: loaded(at, 1000 + int(at) * 50, out=(2,)), "slow"),
        ("always 20 s behind, past the limit", lambda at: loaded(at, 2000), "slow"),
        ("a reassignment that only adds", lambda at: loaded(at, 9000, adding=(2,)), "bootstrapping"),
        ("first seen at its leader's start", lambda at: loaded(at, 10_000 + int(at) * 50, out=(2,)), "bootstrapping"),
    ],
)
def test_state(why: str, partition: Callable[[float], Partition], expected: str) -> None:
    assert shown(partition, 90)[-2:] == [expected] * 2, why


def test_stuck_without_answering() -> None:
    def partition(clock: float) -> Partition:
        hangs = clock > 40
        return loaded(clock, int(clock) * 100 if hangs else 0, silent=(2,) * hangs, out=(2,) * (clock > 60))

    states = shown(partition, 100, status=lambda clock: statuses(*(2,) * (clock > 40)))

    assert states[3:] == ["in_sync"] * 3 + ["unknown"] * 2 + ["stuck"] * 3


def test_stuck_before_kafka_drops_it() -> None:
    judged = judge_each(*seen(polls(90), lambda clock: loaded(clock, max(int(clock) - 30, 0) * 100)))
    assert [state(derived, 2) for derived in judged[6:]] == ["in_sync", "in_sync", "stuck", "stuck"]
    assert page(judged[-1], "broker_out_of_sync_replicas")["2", "stuck"] == 0


def test_recovering() -> None:
    states = shown(lambda clock: loaded(clock, max(5000 - int(clock) * 80, 0), out=(2,)), 120)
    assert states[4:] == ["recovering"] * 9


def each_second(partition: Callable[[float], Partition], until: int, **fields: Any) -> list[str]:
    return [state(derived, 2) for derived in judge_each(*seen(polls(until, every=1), partition, **fields))]


def test_burst_after_silence_is_not_stuck() -> None:
    """A follower that had everything a quota window ago cannot have stood still behind its leader for one."""

    def partition(clock: float) -> Partition:
        return Partition(end=500 if clock < 20 else 9000, lag={2: 8500 * (clock >= 20)}, out=(2,))

    states = each_second(partition, 40)

    assert (set(states[13:21]), set(states[22:31]), set(states[34:])) == ({"recovering"}, {"unknown"}, {"stuck"})


@pytest.mark.parametrize(
    ("why", "lag", "out_from", "expected"),
    [
        # Until it is out of the ISR, less than a quota window, it advanced: its progress is unknown.
        ("hung", lambda at: max(at - 20, 0) * RATE, 26, ["unknown", "in_sync", "unknown", "stuck"]),
        # Over a quota window its lag grew, and now it shrinks.
        (
            "woken",
            lambda at: (at - 20) * RATE if at <= 50 else 30 * RATE - (at - 50) * 50,
            30,
            ["unknown", "in_sync", "stuck", "recovering"],
        ),
        ("caught up, whatever it did a window ago", lambda _: 0, -1, ["unknown", "recovering"]),
    ],
)
def test_what_a_poll_a_second_shows(
    why: str, lag: Callable[[float], float], out_from: int, expected: list[str]
) -> None:
    """Each state once, in order: no follower is slow because it stood still, or because it is not back in the ISR."""

    def partition(clock: float) -> Partition:
        return loaded(clock, int(max(lag(clock), 0)), out=(2,) * (clock > out_from))

    assert [shown for shown, _ in groupby(each_second(partition, 70))] == expected, why


def down(clock: float) -> dict[int, Broker]:
    return brokers(*(2,) * (20 < clock <= 40))


def test_returned_follower_is_not_slow() -> None:
    def partition(clock: float) -> Partition:
        lag = (clock - 20) * RATE if clock <= 40 else 20 * RATE - (clock - 40) * 50
        return loaded(clock, int(max(lag, 0)), out=(2,) * (clock > 20))

    states = each_second(partition, 80, brokers=down)

    assert states[40:47] == ["offline"] * 3 + ["recovering"] * 4
    assert "slow" not in states


def test_returned_follower_that_does_not_get_on() -> None:
    """It is back for less than a quota window: that it stood still while its broker was down says nothing."""

    def partition(clock: float) -> Partition:
        return loaded(clock, int(max(clock - 20, 0)) * RATE, out=(2,) * (clock > 20))

    states = each_second(partition, 60, brokers=down)

    assert (set(states[42:50]), set(states[57:])) == ({"unknown"}, {"stuck"})


def test_unknown_lag_is_not_slow() -> None:
    """A follower that goes on above its new leader's end has an unknown lag: that is no reason to call it slow."""

    def partition(clock: float) -> Partition:
        if clock < 50:
            return loaded(clock, 400, out=(2,))
        return Partition(end=9000, lag={2: -int(clock) * 100}, leader=3, epoch=int(clock), out=(2,))

    assert set(shown(partition, 90)[6:]) == {"unknown"}


def test_states_that_look_back_wait_for_a_quota_window() -> None:
    """At a poll a second three samples span two seconds, which say nothing of a follower that fetches in bursts."""
    states = each_second(lambda clock: loaded(clock, 1000 + int(clock) * 100, out=(2,)), 16)
    assert states == ["unknown"] * 12 + ["stuck"] * 5


def test_bursts_at_a_poll_a_second_are_progress() -> None:
    """A throttled follower fetches every 11 s: between two bursts it is not stuck."""

    def partition(clock: float) -> Partition:
        return Partition(end=1_000_000, lag={2: 900_000 - int(clock) // 11 * 10_000}, out=(2,))

    assert set(each_second(partition, 60)[13:]) == {"recovering"}


@pytest.mark.parametrize(
    ("why", "fields", "partition"),
    [
        ("its broker is fenced", {"brokers": brokers(2)}, {}),
        ("its broker is gone from metadata", {"brokers": brokers(gone=(2,))}, {}),
        ("its log directory is offline", {}, {"offline": (2,)}),
    ],
)
def test_offline(why: str, fields: dict[str, Any], partition: dict[str, Any]) -> None:
    def now(clock: float) -> Partition:
        return loaded(clock, 100, **partition, out=(2,), silent=(2,)) if clock >= 40 else loaded(clock)

    given = {name: lambda clock, value=value: value if clock >= 40 else brokers() for name, value in fields.items()}
    judged = judge_each(*seen(polls(60), now, **given))

    assert [state(derived, 2) for derived in judged[3:]] == ["in_sync"] * 2 + ["offline"] * 2, why
    assert page(judged[-1], "broker_out_of_sync_replicas")["2", "offline"] == 1


def test_offline_at_the_first_poll() -> None:
    assert shown(lambda clock: loaded(clock, out=(2,), silent=(2,)), 0, brokers=brokers(2)) == ["offline"]


@pytest.mark.parametrize("fields", [{"leader": UNKNOWN}, {"silent": (1,)}])
def test_leader_unavailable(fields: dict[str, Any]) -> None:
    states = shown(lambda clock: loaded(clock, 500, out=(2,), **(fields if clock > 30 else {})))
    assert states[-1] == "leader_unavailable"


def withheld(clock: float) -> Partition:
    """Broker 2 does not report its end after 30 s."""
    return loaded(clock, silent=(2,) * (clock > 30))


def test_unknown_while_its_broker_does_not_answer() -> None:
    states = shown(withheld, status=lambda clock: statuses(*(2,) * (clock > 30)))
    assert states == ["unknown"] * 3 + ["in_sync"] * 2 + ["unknown"] * 2


def test_end_withheld_by_a_broker_that_answers() -> None:
    assert shown(withheld)[3:] == ["in_sync"] * 4


def test_a_known_end_is_an_answer() -> None:
    assert shown(loaded, status={})[3:] == ["in_sync"] * 4


def test_unknown_end_of_a_follower_is_not_judged() -> None:
    states = shown(lambda clock: loaded(clock, silent=(2,), out=(2,)), status=lambda _: statuses(2))
    assert set(states) == {"unknown"}


def test_moving() -> None:
    """A reassignment that adds a replica and removes another; once in the ISR and caught up it has arrived."""

    def partition(clock: float) -> Partition:
        if clock > 60:
            return loaded(clock)
        return loaded(clock, 9000 - int(clock), adding=(2,), removing=(3,))

    assert shown(partition, 90) == ["unknown"] * 3 + ["moving"] * 5 + ["in_sync"] * 2


def test_bootstrapping_after_its_disk_was_wiped() -> None:
    """Its end fell while it was away; it bootstraps until it is back in the ISR, however fast it goes."""

    def partition(clock: float) -> Partition:
        if clock < 40:
            return loaded(clock)
        if clock < 60:
            return loaded(clock, silent=(2,), out=(2,))
        return loaded(clock, max(20_000 - int(clock) * 150, 0), out=(2,) * (clock < 150))

    states = shown(partition, 170, brokers=lambda clock: brokers(*(2,) * (40 <= clock < 60)))

    assert states[5:7] == ["offline"] * 2
    assert states[7:16] == ["bootstrapping"] * 9
    assert states[16:] == ["in_sync"] * 2


def test_a_log_that_was_empty_in_the_isr_has_not_restarted() -> None:
    def partition(clock: float) -> Partition:
        return Partition(end=int(clock) * RATE, lag={2: max(int(clock) - 40, 0) * RATE}, out=(2,) * (clock > 40))

    assert shown(partition, 90)[-1] == "stuck"


def test_a_truncation_is_not_bootstrapping() -> None:
    """Records of an old epoch that a new leader does not have are dropped: the log goes on."""

    def partition(clock: float) -> Partition:
        if clock < 40:
            return loaded(clock, out=(2,))
        return Partition(end=13_000 + int(clock), lag={2: -100 if clock < 50 else 50}, leader=3, epoch=1, out=(2,))

    assert "bootstrapping" not in shown(partition, 90)


@pytest.mark.parametrize(("end", "expected"), [(10_050, "stuck"), (10_000, "stuck"), (9_000, "bootstrapping")])
def test_a_return_after_a_truncation_is_not_bootstrapping(end: int, expected: str) -> None:
    """Broker 2 led, and goes down 50 messages ahead of 3, which writes on. A log below that is a new one."""

    def partition(clock: float) -> Partition:
        if clock < 10:
            return Partition(end=10_050, leader=2, lag={3: 50})
        now = 10_000 + int(clock) * RATE
        return Partition(end=now, leader=3, epoch=1, out=(2,), lag={2: now - end}, silent=(2,) if clock < 60 else ())

    assert shown(partition, 120)[-2:] == [expected] * 2


def test_a_log_that_falls_later_is_bootstrapping() -> None:
    """Its end after the election was seen."""

    def partition(clock: float) -> Partition:
        now = 10_000 + int(clock) * RATE
        led = {"leader": 3, "epoch": 1, "out": (2,)} if clock >= 10 else {"leader": 2}
        return Partition(end=now, lag={2: 0 if clock < 60 else int(clock) * RATE - 1000}, **led)

    assert shown(partition, 120)[-2:] == ["bootstrapping"] * 2


def test_seconds_carry_over_a_change_of_state() -> None:
    """Stuck, then recovering: behind since it was last caught up, out of sync since it left the ISR."""

    def partition(clock: float) -> Partition:
        lag = max(int(clock) * 100 - 2000, 0) if clock <= 70 else 8000 - int(clock) * 40
        return loaded(clock, lag, out=(2,) * (clock > 30))

    judged = judge_each(*seen(polls(110), partition))

    assert [state(derived, 2) for derived in judged[6:]] == ["stuck"] * 4 + ["recovering"] * 2
    assert [page(d, "replica_behind_seconds")[REPLICA] for d in judged[6:]] == [10.0 * n for n in range(4, 10)]
    assert [page(d, "replica_out_of_sync_seconds")[REPLICA] for d in judged[6:]] == [10.0 * n for n in range(2, 8)]


def test_election_keeps_what_is_known_of_the_states() -> None:
    """The follower that took over is in sync; the one that stands still stays stuck through it."""

    def partition(clock: float) -> Partition:
        elected = clock >= 60
        return loaded(clock, 1000 + int(clock) * 100, out=(2,), leader=3 if elected else 1, epoch=int(elected))

    judged = judge_each(*seen(polls(90), partition))

    assert [state(derived, 2) for derived in judged[4:]] == ["stuck"] * 6
    assert {state(derived, broker) for derived in judged[4:] for broker in (1, 3)} == {"in_sync"}
