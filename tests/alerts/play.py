"""A round of faults on a stage: what fires is compared with what must, and with the matrix that is committed.

`ALERT_MATRIX=write` in the environment writes what was seen into `alerts/README.md` instead.
"""

import os
import time
from contextlib import ExitStack

from tests.alerts import matrix
from tests.alerts.fault import Fault, Round
from tests.alerts.faults import render
from tests.alerts.stage import Fired, Stage

WRITING = os.environ.get("ALERT_MATRIX") == "write"


def play(stage: Stage, scene: Round) -> None:
    """Cause the faults, wait for their alerts, undo them, and wait until everything has resolved.

    Raises:
        AssertionError: Something else fired, or something did not, or not as the matrix has it.
    """
    stage.until_quiet()
    began = time.time()
    with ExitStack() as causes:
        brought = {fault: causes.enter_context(fault.happen(stage)) for fault in scene.faults}
        expected = set[Fired]().union(*brought.values())
        held = stage.until_held(expected)
        print(f"{scene.name}: all fire after {time.time() - began:.0f} s")
    print(f"{scene.name}: undone after {time.time() - began:.0f} s")
    stage.until_quiet()
    seconds = time.time() - began
    stage.cluster.admin.delete_topic(*stage.cluster.admin.topics())
    print(f"{scene.name}: over after {seconds:.0f} s")
    _require("fired in Prometheus", stage.fired_for(time.time() - began), expected)
    _require("held by Alertmanager", set(held), expected)
    for fault, alerts in brought.items():
        _compare(fault, alerts, held)


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
