"""`python -m bench.stuck`: time until `/metrics` shows a stuck move, after the brokers show it."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.cluster import Target
from bench.sidecar import running_sidecar
from bench.stuck_pages import Move, Pages, Poll, reading
from bench.stuck_truth import Rises, watched
from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.damage import rotten

INTERVALS = (1.0, 5.0, 10.0)
"""Seconds between polls of three sidecars that look at the same cluster at once."""

ROUNDS = 3
MEGABYTE = 1_000_000
FETCH = 1 << 20
"""`replica.fetch.max.bytes`."""

FACT_POLLS = 2
POLLS, WINDOWS, WINDOW = 3, 2, 11.0
TURNS = 5
SOUND = 20
SOUND_BYTES = 14 * MEGABYTE
LONG = 300.0


@dataclass(frozen=True)
class Result:
    """One move in the snapshots of one sidecar.

    Attributes:
        what: The case.
        interval: Seconds between polls.
        seconds: From the truth to the beginning of the first poll that says it.
        measured: What is held against `goal`, in `unit`.
        goal: At most.
        unit: `polls` or `s`.
    """

    what: str
    interval: float
    seconds: float
    measured: float
    goal: float
    unit: str

    @property
    def reached(self) -> bool:
        """Whether it came in time."""
        return self.measured <= self.goal


@dataclass
class Stage:
    """The cluster and its readers; `wrong` has the stuck moves that do not belong to the case."""

    cluster: Cluster
    pages: Sequence[Pages]
    wrong: int = 0

    def stuck(self, wanted: dict[Move, str], timeout: float = LONG) -> None:
        """Wait until every sidecar shows it, from now on."""
        now = time.time()
        found = lambda: all(of.first(move, cause, now) for of in self.pages for move, cause in wanted.items())  # noqa: E731
        wait_for(found, timeout, f"every sidecar says {wanted}")

    def seen(self, *moves: Move) -> None:
        """Wait until every sidecar shows these moves."""
        now = time.time()
        shown = lambda of: any(poll.began > now and poll.moves >= set(moves) for poll in of.polls)  # noqa: E731
        wait_for(lambda: all(map(shown, self.pages)), LONG, f"every sidecar shows {moves}")

    def over(self) -> None:
        """Wait until nothing moves, neither in the cluster nor in `/metrics`."""
        wait_for(lambda: not self.cluster.admin.reassignments(), LONG, "every move has ended")
        now = time.time()
        gone = lambda of: any(poll.began > now and not poll.moves for poll in of.polls)  # noqa: E731
        wait_for(lambda: all(map(gone, self.pages)), LONG, "no page shows a move")

    def others(self, since: float, *moves: Move) -> None:
        """Count polls since then in which another move was shown as stuck."""
        polls = (poll for of in self.pages for poll in of.polls if poll.began > since)
        self.wrong += sum(not poll.causes.keys() <= set(moves) for poll in polls)


def main() -> int:
    """Let moves get stuck and print the table; the exit code shows whether exactly these were reported in time."""
    parser = argparse.ArgumentParser(prog="python -m bench.stuck", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of every case, default {ROUNDS}")
    options = parser.parse_args()
    results: list[Result] = []
    with _stage() as stage:
        for number in range(options.rounds):
            for case in (_facts, _whole, _single):
                results += case(stage, f"{case.__name__[1:]}-{number}")
    print("\n".join(_table(results, stage.wrong)))
    return 0 if all(result.reached for result in results) and not stage.wrong else 1


@contextmanager
def _stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(ClusterSettings(profile="default", jmx=False, tiered=False)))
        target = Target.of(cluster, 0)
        sidecars = {each: stack.enter_context(running_sidecar(target, each, jmx=False)) for each in INTERVALS}
        yield Stage(cluster, stack.enter_context(reading(sidecars)))


def _facts(stage: Stage, name: str) -> list[Result]:
    """A throttle of 0, then a target that is killed, which is the only leader of another move."""
    admin, began = stage.cluster.admin, time.time()
    blocked, orphan, headless = (f"{kind}-{name}" for kind in ("blocked", "orphan", "headless"))
    moves = {blocked: (1, 2), orphan: (1, 3), headless: (3, 2)}
    for topic, (source, _) in moves.items():
        _fill(stage.cluster, topic, [source], 40 * MEGABYTE)
    admin.reassign({(blocked, 0): [2]}, throttle=MEGABYTE)
    stage.seen((blocked, 0, 2))
    for broker in (1, 2):
        admin.set_throttle_rate(broker, 0)
    moment = time.time()
    stage.stuck({(blocked, 0, 2): "throttle_blocked"})
    results = [*_polls(stage, "fact: throttle of 0", (blocked, 0, 2), "throttle_blocked", moment)]
    for broker in (1, 2):
        admin.set_throttle_rate(broker, 10 * MEGABYTE)
    stage.over()

    admin.reassign({(orphan, 0): [3], (headless, 0): [2]}, throttle=MEGABYTE)
    stage.seen((orphan, 0, 3), (headless, 0, 2))
    stage.cluster.kill(3)
    killed = time.time()
    wait_for(lambda: admin.describe(headless)[0].leader < 0, LONG, "no replica leads")
    leaderless = time.time()
    stage.stuck({(orphan, 0, 3): "target_down", (headless, 0, 2): "no_leader"})
    results += _polls(stage, "fact: target killed", (orphan, 0, 3), "target_down", killed)
    results += _polls(stage, "fact: no leader", (headless, 0, 2), "no_leader", leaderless)
    stage.cluster.start(3)
    stage.cluster.wait_ready(3)
    for broker in stage.cluster.broker_ids:
        admin.set_throttle_rate(broker, 10 * MEGABYTE)
    stage.over()
    stage.others(began, *((topic, 0, target) for topic, (_, target) in moves.items()))
    admin.clear_throttle(moves)
    return results


def _whole(stage: Stage, name: str) -> list[Result]:
    """All moves to a broker reach a log that its leader cannot read, after some seconds of progress."""
    began, move = time.time(), (name, 0, 2)
    _fill(stage.cluster, name, [1], 25 * MEGABYTE)
    with rotten(stage.cluster, name, 1, 18 * MEGABYTE) as repair, watched(stage.cluster, name, 2) as truth:
        stage.cluster.admin.reassign({(name, 0): [2]}, throttle=MEGABYTE)
        stage.stuck({move: "no_progress"})
        results = [*_since_it_got_on(stage, "whole move of a broker", move, truth, None)]
        repair()
        stage.over()
    stage.others(began, move)
    stage.cluster.admin.clear_throttle([name])
    return results


def _single(stage: Stage, name: str) -> list[Result]:
    """One of many moves reaches a log that its leader cannot read; the others between the same brokers progress."""
    began, throttle, sound = time.time(), 2 * MEGABYTE, f"sound-{name}"
    move = (name, 0, 2)
    _fill(stage.cluster, name, [1], 5 * MEGABYTE)
    numbers = range(SOUND)
    stage.cluster.admin.create_topic(sound, assignment={number: [1] for number in numbers})
    stage.cluster.load.produce(sound, bytes=SOUND_BYTES, record_size=10_000, partitions=numbers)
    with rotten(stage.cluster, name, 1, 2 * MEGABYTE) as repair, watched(stage.cluster, name, 2) as truth:
        moves = {(name, 0): [2], **{(sound, number): [2] for number in numbers}}
        stage.cluster.admin.reassign(moves, throttle=throttle)
        stage.stuck({move: "no_progress"})
        results = [*_since_it_got_on(stage, f"one of {SOUND + 1} moves between two brokers", move, truth, throttle)]
        repair()
        for broker in (1, 2):
            stage.cluster.admin.set_throttle_rate(broker, 50 * MEGABYTE)
        stage.over()
    stage.others(began, move)
    stage.cluster.admin.clear_throttle([name, sound])
    return results


def _polls(stage: Stage, what: str, move: Move, cause: str, moment: float) -> Iterator[Result]:
    """Compare the number of polls that could see a fact with two."""
    for of in stage.pages:
        found = of.first(move, cause, moment)
        if found is not None:
            count, poll = found
            yield Result(what, of.interval, poll.began - moment, count, FACT_POLLS, "polls")


def _since_it_got_on(stage: Stage, what: str, move: Move, truth: Rises, throttle: float | None) -> Iterator[Result]:
    """Compare the time since the last poll with progress with the bound plus one poll."""
    for of in stage.pages:
        found = of.first(move, "no_progress", truth.last)
        if found is not None:
            _, poll = found
            goal = _bound(of, poll, throttle) + of.interval
            yield Result(what, of.interval, poll.began - truth.last, poll.stalled[move], goal, "s")


def _bound(of: Pages, poll: Poll, throttle: float | None) -> float:
    """The bound of docs/spec/moves.md#stuck; for one of many moves it uses the metrics of all moves there."""
    pair = max(POLLS * of.interval, WINDOWS * WINDOW)
    if throttle is None:
        return pair
    return max(pair, TURNS * len(poll.moves) * FETCH / min(throttle, sum(poll.rates.values())))


def _fill(cluster: Cluster, topic: str, replicas: Sequence[int], size: int) -> None:
    cluster.admin.create_topic(topic, assignment={0: list(replicas)})
    cluster.load.produce(topic, bytes=size, record_size=10_000)


def _table(results: Sequence[Result], wrong: int) -> Iterator[str]:
    yield "| Case | A poll every | After the brokers show it | Counted as the goal | Goal | |"
    yield "|---|---|---|---|---|---|"
    for one in sorted(results, key=lambda result: (result.what, result.interval)):
        held, goal = (f"{value:.3g} {one.unit}" for value in (one.measured, one.goal))
        verdict = "reached" if one.reached else "missed"
        yield f"| {one.what} | {one.interval:g} s | {one.seconds:.1f} s | {held} | {goal} | {verdict} |"
    yield ""
    yield f"Polls in which another move was said to be stuck: {wrong}"


if __name__ == "__main__":
    sys.exit(main())
