"""How often polls start when they take longer than the interval."""

from collections.abc import Iterable

from structlog.testing import capture_logs

from kafka_warden.timer import SETTLED, Pace

INTERVAL = 10.0


def logged(pace: Pace, durations: Iterable[float]) -> list[str]:
    with capture_logs() as logs:
        for seconds in durations:
            pace.ended(seconds)
    return [each["log_level"] for each in logs]


def test_a_poll_under_way_counts() -> None:
    pace = Pace(INTERVAL)
    pace.running(25.0)
    assert pace.interval == 30
    pace.running(1.0)
    assert pace.interval == 30


def test_polls_near_the_interval_are_logged_once() -> None:
    pace = Pace(INTERVAL)
    assert logged(pace, [10.1, 9.9] * 20) == ["warning"]
    assert logged(pace, [9.9] * (SETTLED - 2)) == []
    assert logged(pace, [9.9] * 5) == ["info"]
    assert logged(pace, [10.1, 10.1]) == ["warning"]
