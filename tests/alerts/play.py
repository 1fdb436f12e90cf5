"""A round of faults on a stage: what fires is compared with what must fire, and with the committed record.

The dashboards, too: every query that `grafana/faults.md` lists for a fault must change before the fault is undone.
`ALERT_MATRIX=write` in the environment writes what was seen instead: `recorded/fired.json`, the matrix of
`alerts/README.md`, and `grafana/faults.md`.
"""

import os
import time
from contextlib import ExitStack

from tests.alerts import matrix, panels, shown
from tests.alerts.fault import Fault, Round
from tests.alerts.faults import render
from tests.alerts.stage import Fired, Stage
from tests.support.dashboards import Key, targets

WRITING = os.environ.get("ALERT_MATRIX") == "write"


def play(stage: Stage, scene: Round) -> None:
    """Cause the faults, wait for their alerts, undo them, and wait until everything has resolved.

    Raises:
        AssertionError: Something else fired, or something did not, or not as the matrix has it, or a panel showed
            nothing of it.
    """
    stage.until_quiet()
    began = time.time()
    with ExitStack() as causes:
        brought = {fault: causes.enter_context(fault.happen(stage)) for fault in scene.faults}
        expected = set[Fired]().union(*brought.values())
        held = stage.until_held(expected)
        print(f"{scene.name}: all fire after {time.time() - began:.0f} s")
        unmoved = _look(stage, [fault.name for fault in scene.faults], began)
        print(f"{scene.name}: panels looked at after {time.time() - began:.0f} s")
    print(f"{scene.name}: undone after {time.time() - began:.0f} s")
    stage.until_quiet()
    seconds = time.time() - began
    stage.cluster.admin.delete_topic(*stage.cluster.admin.topics())
    print(f"{scene.name}: over after {seconds:.0f} s")
    _require("fired in Prometheus", stage.fired_for(time.time() - began), expected)
    _require("held by Alertmanager", set(held), expected)
    for fault, alerts in brought.items():
        _compare(fault, alerts, held)
    assert not unmoved, f"show nothing of it: {sorted(unmoved)}; ALERT_MATRIX=write writes grafana/faults.md"


def _look(stage: Stage, faults: list[str], began: float) -> set[Key]:
    """The queries that must show these faults and do not."""
    known, queries = panels.read(), targets()
    wanted = [query for query in queries if not set(faults).isdisjoint(known.get(query.key, ()))]
    unmoved = shown.until_moved(stage.prometheus, wanted, began)
    if not WRITING:
        return unmoved
    panels.write(panels.recorded(known, faults, shown.those_that_moved(stage.prometheus, queries, began)))
    return set()


def _require(what: str, seen: set[Fired], expected: set[Fired]) -> None:
    assert seen == expected, (
        f"{what}, and must not: {sorted(seen - expected)}; must, and not: {sorted(expected - seen)}"
    )


def _compare(fault: Fault, brought: set[Fired], held: dict[Fired, bool]) -> None:
    """Compare what one fault brought with the record, or write it there."""
    muted: dict[str, bool] = {}
    for each in brought:
        muted[each.alert] = muted.get(each.alert, True) and held[each]
    seen = {alert: matrix.MUTED if quiet else matrix.FIRED for alert, quiet in muted.items()}
    record = matrix.read()
    if WRITING:
        record[fault.name] = seen
        matrix.write(record)
        matrix.write_table(render(record))
    else:
        recorded = record.get(fault.name)
        assert seen == recorded, f"seen {seen}, recorded {recorded}; ALERT_MATRIX=write writes what was seen"
