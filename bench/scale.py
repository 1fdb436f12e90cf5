"""`python -m bench.scale`: CPU of evaluating and rendering one poll, on generated snapshots of growing clusters.

No broker is asked: 5 % of the followers are behind, 2 % of the partitions move, of which a tenth ends in each poll,
1 % of all change their leader between two polls, a topic is made and one deleted in each, and what is remembered is
full. With `--polls` it measures whole polls of scripted brokers instead (`scale_polls.py`).
"""

import argparse
import gc
import math
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench import scale_polls
from bench.report import median, show
from kafka_warden.app import tune_interpreter
from kafka_warden.catalogue import Build, ExporterState, View
from kafka_warden.derive import Memory, derive
from kafka_warden.exposition import Exposition
from kafka_warden.model import (
    UNKNOWN,
    Broker,
    BrokerConfig,
    Limit,
    Origin,
    Parameters,
    PartitionTable,
    ReplicaTable,
    Side,
    Snapshot,
    Source,
    SourceStatus,
    TopicConfig,
)
from kafka_warden.views import Recent, make_views
from kafka_warden.web.status import render

SIZES = (10_005, 25_000, 50_000, 100_000, 200_000)
FITTED = 25_000
"""Smallest number of partitions for the fit: below it, the fixed cost of a poll is a large part."""

BROKERS = 50
FACTOR = 3
PARTITIONS_A_TOPIC = 50
BEHIND, MOVING, CHANGED = 0.05, 0.02, 0.01
ENDING = 10
"""In each poll, one of this number of moves ends."""

INTERVAL = 10.0
FULL = 8
"""Polls until a full 60 s are remembered."""

MEASURED = 10
RECORDS_A_POLL = 1000
RECORD = 100
EPOCH = 1_700_000_000.0
SMALL_MS, LARGE_SECONDS, EXPONENT = 100.0, 3.0, 1.05
MEGABYTE = 1e6


@dataclass(frozen=True)
class Cost:
    """CPU seconds of one poll, medians, and the greatest resident memory so far in bytes."""

    partitions: int
    derive: float
    render: float
    memory: float
    series: int
    rows: float
    """CPU seconds for the rows of the status page, NaN where they were not made."""
    page: float
    """CPU seconds for the page from the rows."""

    @property
    def together(self) -> float:
        """Seconds of both."""
        return self.derive + self.render


def main() -> int:
    """Measure every size and print the table; the exit code shows whether every target was reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="PARTITIONS")
    parser.add_argument("--polls", type=int, metavar="N", help="N whole polls of scripted brokers, of the last size")
    parser.add_argument("--status", action="store_true", help="in each poll a client looks at the status page")
    options = parser.parse_args()
    sizes = options.sizes
    if options.polls:
        return show(scale_polls.measure(sizes[-1], options.polls))
    tune_interpreter()
    costs = []
    for size in sizes:
        costs.append(measure(size, status=options.status))
        print(_row(costs[-1]), file=sys.stderr, flush=True)
    exponent = growth([cost for cost in costs if cost.partitions >= FITTED])
    print("\n".join(_table(costs, exponent)))
    small = next((cost for cost in costs if cost.partitions == SIZES[0]), None)
    large = costs[-1].together <= LARGE_SECONDS
    return 0 if large and not exponent > EXPONENT and (small is None or 1000 * small.together <= SMALL_MS) else 1


def measure(partitions: int, *, status: bool = False) -> Cost:
    """Evaluate and render polls of a cluster of that size until a full minute is remembered, then measure some more."""
    parameters = Parameters(poll_interval=INTERVAL, network_bytes_per_second=125e6)
    exposition, recent, memory = Exposition(parameters.series_budget), Recent(), None
    evaluated, rendered, series = [], [], 0
    looked: list[tuple[float, float]] = []
    for number, snapshot in enumerate(snapshots(partitions, FULL + MEASURED)):
        started = time.process_time()
        memory, view = evaluate(snapshot, memory, parameters)
        halfway = time.process_time()
        recent.add(view)
        page = exposition.render(view.exporter, view)
        ended = time.process_time()
        if status:
            looked.append(look(view, recent))
        del view  # as the sidecar does before it evaluates again
        if number >= FULL:
            evaluated.append(halfway - started)
            rendered.append(ended - halfway)
            series = page.text.count(b"\n")
    gc.collect()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows, html = (median(list(each)[FULL:]) for each in zip(*looked, strict=True)) if looked else (math.nan, math.nan)
    return Cost(partitions, median(evaluated), median(rendered), used, series, rows, html)


def look(view: View, recent: Recent) -> tuple[float, float]:
    """Make the rows and the status page; return the CPU seconds of each."""
    started = time.process_time()
    views = make_views(view, view.exporter, recent.read())
    halfway = time.process_time()
    render.status(views, b"", "0")
    return halfway - started, time.process_time() - halfway


def evaluate(snapshot: Snapshot, memory: Memory | None, parameters: Parameters) -> tuple[Memory, View]:
    """Evaluate one poll, all topics of which are shown."""
    memory, derived = derive(snapshot, memory, parameters)
    sidecar = ExporterState(snapshot, Build("0", "0", "3"), snapshot.time)
    return memory, View(derived, sidecar, np.ones(len(snapshot.topics), bool))


def growth(costs: Sequence[Cost]) -> float:
    """Exponent of CPU over partitions, least squares over the logarithms; NaN for fewer than two sizes."""
    if len(costs) < 2:
        return float("nan")
    sizes = np.log([cost.partitions for cost in costs])
    return float(np.polyfit(sizes, np.log([cost.together for cost in costs]), 1)[0])


def snapshots(partitions: int, polls: int, seed: int = 1) -> Iterator[Snapshot]:
    """Generate the snapshots of `polls` polls, 10 s apart."""
    chance = np.random.default_rng(seed)
    moving = chance.random(partitions + PARTITIONS_A_TOPIC) < MOVING
    behind = chance.random((partitions + PARTITIONS_A_TOPIC, FACTOR + 1)) < BEHIND
    led_by = np.zeros(partitions + PARTITIONS_A_TOPIC, np.int32)
    epoch = np.zeros_like(led_by)
    for poll in range(polls):
        changed = chance.random(len(led_by)) < CHANGED
        led_by[changed] = (led_by[changed] + 1) % FACTOR
        epoch[changed] += 1
        yield _snapshot(partitions, poll, moving, behind, led_by, epoch)


def _snapshot(
    partitions: int, poll: int, moving: np.ndarray, behind: np.ndarray, led_by: np.ndarray, epoch: np.ndarray
) -> Snapshot:
    clock = 1000.0 + poll * INTERVAL
    # In every poll one topic is deleted and one is created, so the rows always change.
    first = poll % 2 * PARTITIONS_A_TOPIC
    uid = np.arange(first, first + partitions)
    uid[-1] += poll
    uid = np.minimum(uid, len(moving) - 1)
    moves, stays = moving[uid], FACTOR
    width = stays + moves.astype(np.int32)
    row_of = np.cumsum(width) - width
    partition = np.repeat(np.arange(partitions, dtype=np.int32), width)
    place = (np.arange(len(partition)) - row_of[partition]).astype(np.int32)
    broker = ((uid[partition] * 7 + place * 11) % BROKERS).astype(np.int32)
    leads = place == led_by[uid][partition]
    # Each of them has ended in one poll of ten: then its new replica stays.
    going = moves & ((uid + poll) % ENDING > 0)
    adding, over = (place == stays) & going[partition], (place == stays) & ~going[partition]
    removing = going[partition] & (place == stays - 1) & ~leads
    late = (behind[uid[partition], place] | adding) & ~leads & ~over
    end = np.full(len(partition), (poll + 20) * RECORDS_A_POLL, np.int64)
    end[late] -= 5 * RECORDS_A_POLL + (uid[partition][late] % 97) * 10 - poll * 50
    topic = (uid // PARTITIONS_A_TOPIC).astype(np.int32)
    names = tuple(f"topic-{index:05d}" for index in range(int(topic[0]), int(topic[-1]) + 1))
    brokers = {number: Broker(number, f"host-{number}", 9092) for number in range(BROKERS)}
    answered = SourceStatus(up=True, duration=0.1, last_success=EPOCH + clock, errors={})
    limit = {side: Limit(5e6, Origin.BROKER) for side in (Side.LEADER, Side.FOLLOWER)}
    return Snapshot(
        time=EPOCH + clock,
        clock=clock,
        cluster_id="generated",
        topics=names,
        topic_ids=tuple(name.encode().ljust(16, b"\0") for name in names),
        partitions=PartitionTable(
            topic=topic - topic[0],
            number=(uid % PARTITIONS_A_TOPIC).astype(np.int32),
            leader=broker[row_of + led_by[uid]],
            leader_epoch=epoch[uid],
            leader_row=(row_of + led_by[uid]).astype(np.int32),
            start=np.zeros(partitions, np.int64),
            tiered=np.full(partitions, UNKNOWN, np.int64),
            copy_due=np.full(partitions, UNKNOWN, np.int64),
            reassigning=going,
        ),
        replicas=ReplicaTable(
            partition=partition,
            broker=broker,
            in_isr=~late,
            offline=np.zeros(len(partition), bool),
            adding=adding,
            removing=removing,
            end=end,
            size=end * RECORD,
            sized_at=np.full(len(partition), clock),
            start=np.where(leads | adding, 0, UNKNOWN),
            eligible=np.full(len(partition), UNKNOWN, np.int32),
        ),
        brokers=brokers,
        controller=1,
        offsets_at=dict.fromkeys(brokers, clock),
        broker_configs=dict.fromkeys(brokers, BrokerConfig(limits=limit)),
        topic_configs=dict.fromkeys(names, TopicConfig("*", "*")),
        status={(Source.OFFSETS, str(number)): answered for number in brokers},
    )


def _row(cost: Cost) -> str:
    return (
        f"| {cost.partitions:,} | {1000 * cost.derive:.0f} ms | {1000 * cost.render:.0f} ms "
        f"| {1000 * cost.together:.0f} ms | {cost.series:,} | {cost.memory / MEGABYTE:.0f} MB |"
    )


def _table(costs: Sequence[Cost], exponent: float) -> Iterator[str]:
    yield "| Partitions x 3 | Evaluation | Rendering | Together | Lines of `/metrics` | Memory |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, costs)
    for cost in costs:
        if not math.isnan(cost.rows):
            rows, page = 1000 * cost.rows, 1000 * cost.page
            yield f"\nStatus page of {cost.partitions:,} partitions: rows {rows:.0f} ms, page {page:.0f} ms"
    yield f"\nGrowth from {FITTED:,} partitions on: exponent {exponent:.2f} (at most {EXPONENT})"


if __name__ == "__main__":
    sys.exit(main())
