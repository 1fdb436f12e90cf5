"""Faults of real brokers and their clients: each costs what it must and no more, and is over when it is undone."""

import time
from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction

import pytest

from tests.alerts.stage import Fired, Stage
from tests.faults import faults_acls as acls
from tests.faults import faults_brokers as brokers
from tests.faults import faults_clients as clients
from tests.faults.conftest import Stages
from tests.faults.witness import Used, Witness

LONGEST = 1200
"""Seconds: the throttled faults wait for hundreds of polls, or for 60 of six seconds and more."""

pytestmark = [pytest.mark.cluster, pytest.mark.realtime, pytest.mark.full_faults, pytest.mark.timeout(LONGEST)]

Fault = Callable[[Witness], Iterator[set[Fired]]]
"""Causes a fault, asserts what proves it, yields the alerts that it must bring, and undoes it."""

FAULTS: list[Fault] = [
    each
    for module in (brokers, acls, clients)
    for name, each in vars(module).items()
    if isgeneratorfunction(each) and each.__module__ == module.__name__ and not name.startswith("_")
]
LONGER = 25.0
"""Seconds, longer than the longest `for` at this scale."""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_costs_what_it_must(stages: Stages, fault: Fault) -> None:
    """Every scrape is answered, just the right alerts fire, and two polls after its end all is as before."""
    with stages.lend() as (stage, baseline):
        _cause(fault, stage, baseline)


def _cause(fault: Fault, stage: Stage, baseline: Used) -> None:
    stage.until_quiet()
    began = time.time()
    with Witness(stage) as witness:
        steps = fault(witness)
        expected = next(steps)
        try:
            held = stage.until_held(expected)
            if not expected:
                time.sleep(LONGER)
        finally:
            assert next(steps, None) is None, "a fault yields once"
        witness.assert_recovered()
        stage.until_quiet()
        witness.until_at(baseline)
    witness.assert_no_secret()
    print(f"{fault.__name__}: {time.time() - began:.0f} s")
    assert stage.fired_for(time.time() - began) == expected
    assert held.keys() == expected
