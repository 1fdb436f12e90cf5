"""`python -m bench.verdict`: compares the verdict by time with the brokers' own ISR, through pauses and kills."""

import argparse
import json
import re
import sys
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path

from bench.cluster import Target
from bench.sidecar import Sidecar, running_sidecar, shown
from sandbox import Cluster, ClusterSettings, SandboxError, wait_for
from tests.support.threads import repeating

TOPIC = "evaluated"
PARTITIONS = 36
RATE = 250_000
"""Bytes per second over all partitions: about seven records a second each, so that a stopped follower falls behind."""

INTERVAL = 1.0
LOOK = 0.1
SESSION_SECONDS = 30
"""Longer than any pause: leaders remove late followers, not the controller."""

STOPPED_SECONDS = 25.0
FENCED_SECONDS = 90.0
IN_SYNC_SECONDS = 180.0
GOAL = 0.99
LEAST_LEAVES = 50
LIMIT = "replica.lag.time.max.ms"

Replica = tuple[int, int]
"""Partition and broker."""

_BEHIND = re.compile(r"^kafka_warden_replica_behind_seconds\{(.*)\} (\S+)$", re.MULTILINE)
_DOWN = re.compile(r"^kafka_warden_up\{(.*)\} 0(?:\.0)?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True)
class Look:
    """Every partition at one moment, by the brokers."""

    at: float
    leader: Mapping[int, int]
    isr: Mapping[int, frozenset[int]]


@dataclass(frozen=True)
class Poll:
    """The metrics of one poll. A replica that is not in `behind` is not behind."""

    at: float
    behind: Mapping[Replica, float]
    silent: frozenset[int]
    """Brokers that returned no log ends: replicas that they lead are left out."""


@dataclass(frozen=True)
class Verdict:
    """One replica in one poll."""

    replica: Replica
    at: float
    behind: float
    out: bool
    """By the brokers."""
    said: bool
    """By the sidecar."""
    silent: bool
    """Its broker did not answer: the sidecar shows its last answer."""


@dataclass
class Run:
    """All measurements. Seconds."""

    limit: float
    looks: list[Look] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    faults: list[tuple[float, str]] = field(default_factory=list)

    def changes(self) -> dict[Replica, list[tuple[float, bool]]]:
        """Return when each replica left (True) or joined (False) the ISR."""
        found: dict[Replica, list[tuple[float, bool]]] = defaultdict(list)
        for before, after in pairwise(self.looks):
            for partition, isr in after.isr.items():
                was = before.isr.get(partition, isr)
                for broker in was ^ isr:
                    found[partition, broker].append((after.at, broker in was))
        return found

    def verdicts(self, lead: float = 0.0) -> Iterator[Verdict]:
        """Yield the verdicts on replicas that left or joined, outside the time around each change.

        `lead`: seconds by which the verdict may come before a leave. Kafka looks only every half of the limit.
        """
        moments = [look.at for look in self.looks]
        after = self.limit / 2 + 2 * INTERVAL
        for (partition, broker), changes in self.changes().items():
            for poll in self.polls:
                look = self.looks[max(bisect_right(moments, poll.at) - 1, 0)]
                leader = look.leader.get(partition, -1)
                near = any(at - INTERVAL - lead * left <= poll.at <= at + after for at, left in changes)
                if near or leader in {-1, broker} or leader in poll.silent:
                    continue
                behind = poll.behind.get((partition, broker), 0.0)
                out = broker not in look.isr[partition]
                yield Verdict(
                    (partition, broker), poll.at, behind, out, said=behind > self.limit, silent=broker in poll.silent
                )


def main() -> int:
    """Pause and kill brokers one after the other and compare; the exit code shows whether the goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.verdict", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="pauses of every broker, default 1")
    parser.add_argument("--no-kill", action="store_true", help="pauses only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every verdict to this file")
    options = parser.parse_args()
    seen = run(options.rounds, kill=not options.no_kill)
    verdicts = list(seen.verdicts(seen.limit / 2))
    print("\n".join(_table(seen, verdicts)))
    if options.json:
        rows = [[*one.replica, one.at, one.behind, one.out, one.said, one.silent] for one in seen.verdicts()]
        options.json.write_text(json.dumps({"faults": seen.faults, "verdicts": rows}) + "\n", encoding="utf-8")
    leaves = sum(left for changes in seen.changes().values() for _, left in changes)
    return 0 if leaves >= LEAST_LEAVES and min(_shares(verdicts)) >= GOAL else 1


def run(rounds: int, *, kill: bool) -> Run:
    """Cause the faults on its own cluster while a sidecar polls it."""
    session = {"broker.session.timeout.ms": 1000 * SESSION_SECONDS}
    settings = ClusterSettings(jmx=False, tiered=False, controller_properties=session)
    with Cluster(settings) as cluster:
        cluster.admin.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=3)
        seen = Run(float(cluster.admin.broker_config(1, [LIMIT])[LIMIT] or "nan") / 1000)
        with (
            cluster.load.background(TOPIC, RATE, partitions=range(PARTITIONS), acks=1),
            running_sidecar(Target.of(cluster, PARTITIONS), INTERVAL, jmx=False) as sidecar,
            _watched(cluster, sidecar, seen),
        ):
            time.sleep(2 * seen.limit)
            for broker in cluster.broker_ids * rounds:
                _fault(seen, f"broker {broker} is paused")
                cluster.pause(broker)
                time.sleep(STOPPED_SECONDS)
                cluster.resume(broker)
                _fault(seen, f"broker {broker} resumes")
                _settle(cluster, seen)
            for broker in cluster.broker_ids[-1:] if kill else ():
                _fault(seen, f"broker {broker} is killed")
                cluster.kill(broker)
                # One that starts earlier is in the ISR again while its old session lasts and its port is still closed.
                wait_for(partial(_is_gone, cluster, broker), FENCED_SECONDS, "it is fenced")
                cluster.start(broker)
                _fault(seen, f"broker {broker} starts")
                _settle(cluster, seen)
    return seen


def _is_gone(cluster: Cluster, broker: int) -> bool:
    return broker not in cluster.admin.brokers()


def _settle(cluster: Cluster, seen: Run) -> None:
    """Wait until every replica is in sync, and then as long as a verdict needs after a change."""
    wait_for(lambda: not cluster.admin.out_of_sync(), IN_SYNC_SECONDS, "every replica is in sync")
    time.sleep(1.5 * seen.limit + 2 * INTERVAL)


def _fault(seen: Run, what: str) -> None:
    seen.faults.append((time.time(), what))
    print(what, file=sys.stderr, flush=True)


@contextmanager
def _watched(cluster: Cluster, sidecar: Sidecar, seen: Run) -> Iterator[None]:
    """Ask the brokers and read `/metrics`, each on its own thread, while the block runs."""

    def ask() -> None:
        with suppress(SandboxError):
            states = cluster.admin.describe(TOPIC)
            leaders = {partition: state.leader for partition, state in states.items()}
            isr = {partition: frozenset(state.isr) for partition, state in states.items()}
            seen.looks.append(Look(time.time(), leaders, isr))

    def read() -> None:
        poll = _read(sidecar)
        if not seen.polls or poll.at > seen.polls[-1].at:
            seen.polls.append(poll)

    with repeating(ask, LOOK), repeating(read, LOOK):
        yield


def _read(sidecar: Sidecar) -> Poll:
    page = sidecar.read()
    behind = ((dict(_LABEL.findall(labels)), float(value)) for labels, value in _BEHIND.findall(page))
    down = (dict(_LABEL.findall(labels)) for labels in _DOWN.findall(page))
    return Poll(
        shown(page) or 0.0,
        {(int(of["partition"]), int(of["broker"])): seconds for of, seconds in behind if of["topic"] == TOPIC},
        frozenset(int(of["broker"]) for of in down if of["source"] == "offsets"),
    )


def _shares(verdicts: Sequence[Verdict]) -> tuple[float, float]:
    """Return sensitivity and specificity; NaN, which reaches no goal, if there is no verdict."""
    right = {out: [one.said == out for one in verdicts if one.out is out] for out in (True, False)}
    sensitivity, specificity = (sum(hits) / len(hits) if hits else float("nan") for hits in right.values())
    return sensitivity, specificity


def _table(seen: Run, verdicts: Sequence[Verdict]) -> Iterator[str]:
    changes = seen.changes()
    left = sum(gone for each in changes.values() for _, gone in each)
    joined = sum(len(each) for each in changes.values()) - left
    yield f"{len(changes)} replicas, {left} leaves, {joined} joins, {len(seen.polls)} polls, limit {seen.limit:g} s"
    yield ""
    yield "| Left out around a change | Verdicts out of the ISR | In it | Sensitivity | Specificity |"
    yield "|---|---|---|---|---|"
    yield _row("1 poll before, half the limit + 2 polls after", list(seen.verdicts()))
    yield _row("the same, and half the limit before a leave", verdicts)
    yield from _disagreements(seen, verdicts)


def _row(what: str, verdicts: Sequence[Verdict]) -> str:
    sensitivity, specificity = _shares(verdicts)
    out = sum(one.out for one in verdicts)
    return f"| {what} | {out} | {len(verdicts) - out} | {sensitivity:.2%} | {specificity:.2%} |"


def _disagreements(seen: Run, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield consecutive polls in which verdict and ISR differ, grouped by the fault before them."""
    found: dict[str, list[str]] = defaultdict(list)
    for (partition, broker), of_one in groupby(verdicts, key=lambda one: one.replica):
        for (wrong, out), row in groupby(of_one, key=lambda one: (one.said != one.out, one.out)):
            if wrong:
                polls = list(row)
                first = polls[0]
                at, fault = max((fault for fault in seen.faults if fault[0] <= first.at), default=(first.at, "start"))
                where = "out and not behind" if out else "in and behind"
                silent = ", their broker silent" if first.silent else ""
                what = (
                    f"{first.at - at:.1f} s after {fault}: {where}{silent}, by {first.behind:.0f} s, {len(polls)} polls"
                )
                found[what].append(f"{partition} on {broker}")
    for what, replicas in found.items():
        yield f"- {what}: {len(replicas)} replicas ({', '.join(replicas)})"


if __name__ == "__main__":
    sys.exit(main())
