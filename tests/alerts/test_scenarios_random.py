"""Every alert fires in time and no harmless work fires one, while scrapes are lost at random and exporters restart.

Each case is a cluster of its own. All cases of one interval are one test of promtool.
"""

import itertools
import math
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.rules.delays import Intervals
from tests.alerts.scenarios import changes, every
from tests.alerts.scenarios.changes import moving, mutations, throttle_problem
from tests.alerts.scenarios.fault import Change, Fault
from tests.alerts.scenarios.scenario import fires, silent
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, after, age, during, ramp
from tests.support.promtool import Check, Series, block, failures, write
from tests.support.rules import alerting_rules

POLL: Final = 10.0
INTERVALS: Final = ((15, 15), (30, 30), (60, 60), (60, 15))
"""Of scrapes and of evaluations, in seconds."""
LOST: Final = (0.02, 0.1, 0.2)
"""Shares of scrapes that fail."""
START: Final = 40 * MINUTE
"""Of what happens: later than most windows of the rules are long."""
DECIDED: Final = 35.0
"""Seconds after the start of an exporter in which it has not all of its verdicts."""
BRIDGED: Final = 200.0
"""For how many seconds alerts do without a scrape."""
OWN: Final = "KafkaWardenRestarting"
"""It may fire where many scrapes fail, or an exporter restarts on and on."""
LENGTH: Final = 150.0
"""Of a test, in minutes."""
QUIET: Final = 90.0
"""Until when harmless work must be silent, in minutes: its longest ends after an hour."""
TIMEOUT: Final = 900.0

FAULTS: Final = {each.name: each for each in every(Fault)}


def _restart_all(exporter: Exporter, start: float) -> None:
    """Restart all brokers, each with some topics without copies."""
    end = changes.rolling_restart(exporter, start, down=200, catch_up=120)
    alone = during(start, end, lambda t: 4.0 if (t - start) % 380 < 200 else 0.0)
    exporter.set("offline_partitions", alone)


def _burst(exporter: Exporter, start: float) -> None:
    end = start + 2 * MINUTE
    exporter.set("broker_out_of_sync_replicas", during(start, end, 30), broker=2, state="slow")
    exporter.add("under_replicated_partitions", lambda t: 30.0 if start <= t < end else 0.0)
    mutations(exporter, during(start, end, -20, 50))
    throttle_problem(exporter, "below_inbound", age(start, end))
    exporter.set("log_dir_usable_bytes", after(end, 5e11, ramp(start, end, 6e11, 5e11)), broker=2, log_dir="/data/a")


def _move(exporter: Exporter, start: float) -> None:
    end = start + HOUR / 2
    left = during(start, end, ramp(start, end, changes.STILL, 0))
    moving(exporter, value=during(start, end, 50), remaining=left, eta=during(start, end, lambda t: end - t, None))
    exporter.set("broker_out_of_sync_replicas", during(start, end, 20), broker=2, state="moving")
    throttle_problem(exporter, "left_behind", age(end, end + 5 * MINUTE))


def _update(exporter: Exporter, start: float) -> None:
    """Stop the process for a minute; the new one starts with other counts."""
    exporter.outages = tuple(sorted([*exporter.outages, (start, start + MINUTE)]))


HARMLESS: Final[dict[str, Change]] = {
    "rolling restart": _restart_all,
    "burst": _burst,
    "normal move": _move,
    "update of the exporter": _update,
}
"""Work that is no fault."""


class Case:
    """What happens in one cluster: a fault or harmless work in turn, and by chance when, and which scrapes fail."""

    def __init__(self, seed: int) -> None:
        rng, names = random.Random(seed), [*FAULTS, *HARMLESS]
        self.seed, self.cluster, self.name = seed, f"c{seed}", names[seed % len(names)]
        self.step, self.evaluation = rng.choice(INTERVALS)
        self.restarts, self.lost = rng.random() < 1 / 3, rng.choice(LOST)
        self.start = START + rng.uniform(0, 60)

    def _usual(self) -> Exporter:
        rng = random.Random(self.seed)
        failed = {n * self.step for n in range(int(LENGTH * MINUTE) // self.step) if rng.random() < self.lost}
        first = rng.uniform(0, 5 * MINUTE)
        restarts = [(first + n * 300, first + n * 300 + rng.uniform(5, 25)) for n in range(40 * self.restarts)]
        return Exporter(LENGTH, step=self.step, cluster=self.cluster, outages=restarts, lost=lambda t: t in failed)

    def exporter(self) -> Exporter:
        exporter = self._usual()
        change = FAULTS[self.name].change if self.name in FAULTS else HARMLESS[self.name]
        change(exporter, self.start)
        return exporter

    def deadline(self) -> float:
        """The time until which the alert has fired.

        A scrape without data, also of a new process, adds its interval, and the time begins again after `BRIDGED`
        seconds without a scrape.
        """
        usual, start = self._usual(), self.start
        worst = FAULTS[self.name].longest(Intervals(self.step, self.evaluation, POLL))
        scrapes = range(int(start // self.step + 1) * self.step, int(LENGTH * MINUTE), self.step)
        starting = [(begin, begin + DECIDED) for _, begin in usual.outages]
        good = [t for t in scrapes if usual.answers(t) and not any(begin <= t < end for begin, end in starting)]
        needed = math.ceil(worst / self.step)
        for before, scrape in itertools.pairwise([start, *good]):
            if scrape - before > BRIDGED:
                start = scrape
            if sum(start <= t <= scrape for t in good) >= needed:
                return scrape + worst - (needed - 1) * self.step
        return LENGTH * MINUTE

    def checks(self) -> Iterator[Check]:
        tolerated = OWN if self.restarts or self.lost > LOST[0] else ""
        if self.name in HARMLESS:
            yield silent(until=QUIET, besides=tolerated, cluster=self.cluster)
            return
        fault, start = FAULTS[self.name], self.start / MINUTE
        labels = {"cluster": self.cluster, **fault.labels}
        yield silent(fault.alert, since=0.0, until=start, besides=tolerated, **labels)
        yield fires(fault.alert, since=start, until=self.deadline() / MINUTE, **labels)


def written(cases: Sequence[Case], folder: Path) -> list[Path]:
    """Write one test for each interval, and one file for each evaluation interval."""
    groups: dict[int, dict[int, list[Case]]] = defaultdict(lambda: defaultdict(list))
    for each in cases:
        groups[each.evaluation][each.step].append(each)
    files = []
    for evaluation, steps in groups.items():
        blocks = []
        for step, members in steps.items():
            series: list[Series] = [one for each in members for one in each.exporter().series()]
            checks = [check for each in members for check in each.checks()]
            blocks.append(block(f"scrapes every {step} s", step, series, checks))
        files.append(write(folder / f"{evaluation}.test.yml", blocks, evaluation))
    return files


def test_every_alert_has_a_fault() -> None:
    """Each alert is in the table of faults, except one that two exporters cause together."""
    assert {fault.alert for fault in FAULTS.values()} | {"KafkaWardenClusterLabelAmbiguous"} == {
        rule["alert"] for rule in alerting_rules()
    }


SHARD: Final = [pytest.mark.full_alerts, pytest.mark.timeout(TIMEOUT + 60)]


@pytest.mark.parametrize(
    "seeds",
    [range(4), *(pytest.param(range(n, n + 50), marks=SHARD) for n in range(4, 204, 50))],
    ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}",
)
def test_alerts_fire_in_time_and_work_is_silent(seeds: range, tmp_path: Path) -> None:
    """A fault fires within its worst case and the share of the scrapes that were lost; other work is silent."""
    cases = [Case(seed) for seed in seeds]
    printed = failures(*written(cases, tmp_path), timeout=TIMEOUT)
    failed = {int(seed) for seed in re.findall(r'cluster=~\\?"c(\d+)', printed)}
    assert not printed, "\n".join([printed, *(str(vars(each)) for each in cases if each.seed in failed)])
