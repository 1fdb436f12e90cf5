"""A round of faults on a stage: what fires and what is sent is compared with what must, and with the committed record.

The dashboards, too: every query that `recorded/panels.json` lists for a fault must change before the fault is undone.
`ALERT_MATRIX=write` in the environment writes what was seen instead, after each round that passed: `recorded/*.json`
and the matrix of `alerts/matrix.md`.
"""

import os
import time
from contextlib import ExitStack

from tests.alerts import matrix, panels, shown
from tests.alerts.fault import Fault, Round, Timed
from tests.alerts.faults import FAULTS, render
from tests.alerts.stage import FAST, Fired, Stage
from tests.support.dashboards import Key, targets

WRITING = os.environ.get("ALERT_MATRIX") == "write"


def play(stage: Stage, scene: Round) -> None:
    """Cause the faults, wait for their alerts, undo them, and wait until everything has resolved.

    Raises:
        AssertionError: Something else fired, or something did not, or not as the matrix has it, or a panel showed
            nothing of it.
    """
    stage.until_quiet()
    stage.webhook.received.clear()
    began = time.time()
    with ExitStack() as causes:
        brought = {fault: causes.enter_context(fault.happen(stage)) for fault in scene.faults}
        expected = set[Fired]().union(*brought.values())
        held = stage.until_held(expected)
        stage.until_notified({alert for alert in expected if not held[alert]})
        print(f"{scene.name}: all fire after {time.time() - began:.0f} s")
        unmoved = _look(stage, [fault.name for fault in scene.faults], began)
        print(f"{scene.name}: panels looked at after {time.time() - began:.0f} s")
    print(f"{scene.name}: undone after {time.time() - began:.0f} s")
    stage.until_quiet()
    seconds = time.time() - began
    stage.cluster.admin.delete_topic(*stage.cluster.admin.topics())
    print(f"{scene.name}: over after {seconds:.0f} s")
    print(f"{scene.name}: notifications {[(each.name, len(each.labels)) for each in stage.webhook.received]}")
    _require("fired in Prometheus", stage.fired_for(time.time() - began), expected)
    _require("held by Alertmanager", set(held), expected)
    for fault, alerts in brought.items():
        _compare(fault, _signs(alerts, held), {matrix.NOTIFICATIONS: stage.notifications_of(alerts)})
    assert not unmoved, f"show nothing of it: {sorted(unmoved)}; ALERT_MATRIX=write writes recorded/panels.json"


def play_timed(stage: Stage, timed: Timed) -> None:
    """Cause one fault, measure how long its alerts take, watch on, and undo it; its alerts need not resolve.

    Raises:
        AssertionError: An alert was late, something else fired, or not as the records have it.
    """
    stage.caused()
    began, counted = time.time(), dict[str, int]()
    with timed.fault.happen(stage) as expected:
        if timed.alert:
            first = {alert for alert in expected if alert.alert == timed.alert}
            counted[matrix.SECONDS] = round(stage.until_fired(first, timed.within))
            print(f"{timed.fault.name}: fires after {counted[matrix.SECONDS]} s")
        held = stage.until_held(expected)
        stage.until_notified({alert for alert in expected if not held[alert]})
        time.sleep(max(0.0, stage.caused_at + timed.watched - time.time()))
        _require("fired in Prometheus", stage.fired_for(time.time() - began), expected)
    print(f"{timed.fault.name}: undone after {time.time() - began:.0f} s")
    assert stage.notified() <= expected, f"notified, and must not: {sorted(stage.notified() - expected)}"
    counted[matrix.NOTIFICATIONS] = stage.notifications_of(expected)
    if timed.pace is FAST:
        counted.pop(matrix.SECONDS, None)
    _compare(timed.fault, _signs(expected, held), counted)


def _look(stage: Stage, faults: list[str], began: float) -> set[Key]:
    """The queries that must show these faults and do not."""
    known, queries = panels.read(), targets()
    wanted = [query for query in queries if not set(faults).isdisjoint(known.get(str(query), ()))]
    unmoved = shown.until_moved(stage.prometheus, wanted, began)
    if not WRITING:
        return unmoved
    panels.write(panels.recorded(known, faults, shown.those_that_moved(stage.prometheus, queries, began)))
    return set()


def _require(what: str, seen: set[Fired], expected: set[Fired]) -> None:
    assert seen == expected, (
        f"{what}, and must not: {sorted(seen - expected)}; must, and not: {sorted(expected - seen)}"
    )


def _signs(brought: set[Fired], held: dict[Fired, bool]) -> dict[str, str]:
    """What Alertmanager did with each alert of a fault; one of several that is sent is enough."""
    sent = {each.alert for each in brought if not held[each]}
    return {each.alert: matrix.FIRED if each.alert in sent else matrix.MUTED for each in brought}


def _compare(fault: Fault, seen: dict[str, str], counted: dict[str, int]) -> None:
    """Compare what one fault brought with the records, or write it there; one notification is the most."""
    print(f"{fault.name}: {counted}")
    assert counted[matrix.NOTIFICATIONS] <= 1, f"{fault.name}: {counted}"
    record = matrix.read()
    if WRITING:
        known = {each.name for each in FAULTS}
        record[fault.name] = {matrix.ALERTS: seen, **counted}
        matrix.write({name: brought for name, brought in record.items() if name in known})
        matrix.write_table(render(record))
    else:
        advice = "ALERT_MATRIX=write writes what was seen"
        recorded = record.get(fault.name, {}).get(matrix.ALERTS)
        assert seen == recorded, f"seen {seen}, recorded {recorded}; {advice}"
