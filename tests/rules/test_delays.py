"""The longest time from a fault to its alert."""

import math
from pathlib import Path

import pytest

from kafka_warden.poller import PollerSettings
from kafka_warden.rules.delays import CASES, DEADLINE, SELDOM_ASKED, Case, Intervals, delays
from kafka_warden.rules.render import TEMPLATES, alerts, rules, severities, templates
from kafka_warden.rules.thresholds import seconds, thresholds
from tests.alerts.scenarios import every
from tests.alerts.scenarios.fault import Fault
from tests.alerts.scenarios.scenario import firing, silent
from tests.support.exporter_pages import Exporter
from tests.support.over_time import MINUTE
from tests.support.promtool import block, failures, write

DEFAULTS = Intervals()
ALERTS = [alert for template in templates() for alert in alerts(rules(template))]
START = 31 * MINUTE + 1
"""Just after a poll, a scrape and an evaluation; windows of half an hour are full."""


def of(alert: str, fault: str = "", intervals: Intervals = DEFAULTS, **changed: str) -> float:
    (found,) = [time for case, time in delays(changed, intervals).items() if (case.alert, case.fault) == (alert, fault)]
    return found


def test_every_alert_has_its_cases() -> None:
    assert {
        (case.alert, severity, thresholds()[case.wait].value)
        for case in CASES
        for severity in ([case.severity] if case.severity else severities()[case.alert])
    } == {(alert["alert"], alert["labels"]["severity"], alert["for"]) for alert in ALERTS}
    assert len({(case.alert, case.fault) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert} {case.fault}")
def test_what_adds_up_is_in_the_rule(case: Case) -> None:
    template = next(each for each in templates() if f"- alert: {case.alert}\n" in each.read_text())
    text = template.read_text() + (template.parent / "macros.jinja").read_text()
    # The state of sidecars is in a file that all others read.
    text += (template.parent / "state.rules.yml").read_text()
    words = " ".join((*case.adds, *(case.rarely or ()), case.wait))
    assert all(name in text for name in words.replace("(1 -", "").replace(")", "").replace("*", "").split())


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        # poll, its deadline, two scrapes, evaluation, `for` of 15 s up to the next evaluation
        (DEFAULTS, 10 + 5 + 2 * 15 + 15 + 15),
        (Intervals(60, 60, 10), 10 + 5 + 2 * 60 + 60 + 60),
        (Intervals(15, 15, 4), 4 + 2 + 2 * 15 + 15 + 15),
        (Intervals(15, 10, 10), 10 + 5 + 2 * 15 + 10 + 20),
    ],
)
def test_two_samples_have_to_agree(intervals: Intervals, expected: float) -> None:
    assert of("KafkaClusterUnreachable", "", intervals) == expected


def test_look_backs_and_records_add_up() -> None:
    assert of("KafkaBrokerUnreachable", "shut down in order", broker_restart="2m", broker_for="20s") == (
        10 + 5 + 15 + 2 * 15 + 120 + 30
    )


def test_rare_polls_find_a_dead_broker_fenced() -> None:
    rare = Intervals(30, 30, 30)
    assert of("KafkaBrokerUnreachable", "killed or hangs", rare) == 30 + 5 + 30 + 2 * 30 + 180 + 60
    assert of("KafkaBrokerUnreachable", "killed or hangs", rare, seldom="31") == 30 + 5 + 30 + 2 * 30 + 60


def test_ages_are_those_of_polls() -> None:
    blocked = ("KafkaThrottleTooLow", "blocked")
    rest = 60 + 5 + 15 + 15 + 15
    assert of(*blocked, throttle_blocked_age="300") == rest + 300
    assert of(*blocked, throttle_blocked_age="301") == rest + 310
    assert of(*blocked, throttle_blocked_age="1") == rest + 20


def test_polls_are_as_the_exporter_makes_them() -> None:
    made = PollerSettings()
    assert (DEFAULTS.poll, DEADLINE) == (made.interval, made.deadline)
    assert SELDOM_ASKED == made.log_dirs == made.slow


def test_shares_are_multiplied() -> None:
    assert of("KafkaControllerMutationThrottled", "refused without a pause") == (
        10 + 5 + 15 + 15 + 0.25 * 1800 + 30 + 60
    )
    assert of("KafkaThrottleLeftBehind", "after moves without a pause", throttle_batches_share="0.75") == (
        60 + 5 + 15 + 2 * 15 - 50 + 900 + 30 + 15
    )


def test_a_sidecar_that_ends_needs_no_poll() -> None:
    assert of("KafkaWardenDown", "does not answer") == 2 * 15 + math.ceil(200 / 15) * 15 + 660


@pytest.mark.parametrize(("duration", "expected"), [("5m", 300.0), ("1h30m", 5400.0), ("250ms", 0.25), ("1d", 86400.0)])
def test_durations_are_read_as_prometheus_writes_them(duration: str, expected: float) -> None:
    assert seconds(duration) == expected


@pytest.mark.process
@pytest.mark.parametrize(
    "intervals",
    [Intervals(60, 60, 10), pytest.param(DEFAULTS, marks=pytest.mark.full_alerts)],
    ids=lambda each: f"{each.scrape:g}",
)
@pytest.mark.parametrize("fault", every(Fault), ids=lambda each: each.name)
def test_alerts_fire_within_it(fault: Fault, intervals: Intervals, tmp_path: Path) -> None:
    longest, step = fault.longest(intervals), int(intervals.scrape)
    exporter = Exporter((START + longest) / MINUTE + 1, step=step, poll=intervals.poll)
    fault.change(exporter, START)
    checks = [
        firing(fault.alert, (START + longest) / MINUTE, None, **fault.labels),
        silent(fault.alert, since=0.0, until=(START + longest / 3) / MINUTE, **fault.labels),
    ]
    files = [
        tmp_path / each.name
        for each in templates()
        if each.name == "state.rules.yml" or f"- alert: {fault.alert}\n" in each.read_text()
    ]
    for file in files:
        file.write_text(rules(TEMPLATES / file.name))
    test = block(fault.name, step, exporter.series(), checks)
    assert failures(write(tmp_path / "fault.test.yml", [test], int(intervals.evaluation), files)) == ""
