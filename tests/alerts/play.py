"""A round of faults on a stage: what fires is compared with what must, and with the matrix that is committed.

So are the dashboards: what `grafana/faults.md` says to be moved by a fault must have moved before it is undone.
`ALERT_MATRIX=write` in the environment writes what was seen into `alerts/README.md` and `grafana/faults.md` instead.
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
    """What one fault brought against its column, or into it."""
    assert {each.alert for each in brought} == fault.alerts, f"{fault.name} brings other alerts than it says"
    quiet = {alert: all(held[each] for each in brought if each.alert == alert) for alert in fault.alerts}
    seen = {(fault.name, alert): matrix.MUTED if muted else matrix.FIRED for alert, muted in quiet.items()}
    cells = matrix.read()
    committed = {key: cell for key, cell in cells.items() if key[0] == fault.name}
    if WRITING:
        others = {key: cell for key, cell in cells.items() if key not in committed}
        matrix.write(render({**others, **seen}))
    else:
        assert seen == committed, f"seen {seen}, committed {committed}; ALERT_MATRIX=write writes what was seen"
