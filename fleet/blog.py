"""The example of "Hands-free Kafka replication" (docs/spec/lag.md#time-behind): lag by messages against lag by time.

A threshold of four messages and one of 500 ms look at the topic `foo`, to which a record comes every 100 ms. In each
turn of ten seconds a follower pauses for 100 ms, another one for 300 ms, a batch of exactly four records comes, and
later the same batch is not fetched for two seconds. Only the last is a fault. To `quiet` hardly anything comes: a
follower of it that is stuck for a minute never lacks four messages.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from fleet.growth import Plan
from fleet.made import Creation
from fleet.seen import see
from fleet.settings import Settings
from fleet.simulation import CLOCK, Sight
from fleet.topology import Topic, make_cluster
from fleet.truth import Happened
from fleet.world import World, make_world
from kafka_warden.model import BrokerConfig, Parameters

FOO: Final = Topic("foo", b"foo".ljust(16, b"\0"), 1, 10_000.0, 1000, math.inf, 0.0, 0.0)
QUIET: Final = Topic("quiet", b"quiet".ljust(16, b"\0"), 1, 33.0, 1000, math.inf, 0.0, 0.0)

TURN: Final = 100
"""Polls of a turn."""

BATCH: Final = 4
"""Records: as many as `replica.lag.max.messages` of the example."""

TIME_MAX: Final = 0.5
"""`replica.lag.time.max.ms`, in seconds."""

WAIT: Final = 0.1
"""`replica.fetch.wait.max.ms`, in seconds."""

SHORT, LONG, BURST = 10, range(25, 28), 40
"""Polls of a turn: one follower pauses; another one pauses; a batch that both fetch at once."""

UNFETCHED: Final = range(60, 80)
"""Polls of a turn in which one follower does not fetch, including the batch at its start."""

QUIET_EVERY: Final = 300
"""Polls between two records."""

QUIET_STUCK: Final = (400, 1000)
"""Polls between which a follower of the quiet topic is stuck."""

QUICK, SLOW = 2, 3
"""Brokers; the first leads."""


class Blog:
    """The example, poll by poll."""

    def __init__(self, settings: Settings) -> None:
        cluster = make_cluster(settings, 0)
        replicas = cluster.brokers[None, :3]
        creations = (Creation(0.0, FOO, replicas), Creation(0.0, QUIET, replicas))
        parameters = Parameters(poll_interval=settings.interval)
        self.settings = settings
        self.name = f"blog/{settings.seed}"
        self.runs = 1
        self.world = make_world(settings, cluster, Plan(creations, parameters, 1 << 30, (), 0.0))
        self._record_truth()

    def sights(self) -> Iterator[Sight]:
        """Yield the snapshot of every poll."""
        config = BrokerConfig(replica_lag_time_max=TIME_MAX, replica_fetch_wait_max=WAIT)
        base = self.world.end.copy()
        for poll in range(self.settings.polls):
            moment = round(self.settings.start + poll * self.settings.interval, 6)
            self.world.now = moment
            _show(self.world, "foo", base[0] + foo_end(poll), foo_lag(poll))
            _show(self.world, "quiet", base[1] + poll // QUIET_EVERY, quiet_lag(poll))
            yield Sight(see(self.world, None, CLOCK + poll * self.settings.interval, config), poll == 0)

    def _record_truth(self) -> None:
        truth, polls = self.world.truth, self.settings.polls
        for turn in range(0, polls, TURN):
            truth.calm.append(self._happened("pause", turn + SHORT, 1, QUICK))
            truth.calm.append(self._happened("pause", turn + LONG.start, len(LONG), SLOW))
            truth.calm.append(self._happened("burst", turn + BURST, 1, None))
            truth.faults.append(self._happened("stuck_follower", turn + UNFETCHED.start, len(UNFETCHED), SLOW))
        since, until = QUIET_STUCK
        if until < polls:
            stuck = self._happened("stuck_follower", since, until - since, QUICK, QUIET.name)
            truth.faults.append(stuck)

    def _happened(self, kind: str, since: int, polls: int, broker: int | None, topic: str = FOO.name) -> Happened:
        began = self.settings.start + since * self.settings.interval
        return Happened(kind, began, began + polls * self.settings.interval, topic, 0, broker)


def foo_end(poll: int) -> int:
    """Records of `foo` by a poll, since the first one."""
    turns, tick = divmod(poll, TURN)
    return poll + BATCH * (2 * turns + (tick >= BURST) + (tick >= UNFETCHED.start))


def foo_lag(poll: int) -> Mapping[int, int]:
    """Messages that the followers of `foo` lack at a poll, by broker."""
    tick = poll % TURN
    if tick == SHORT:
        return {QUICK: 1}
    if tick in LONG:
        return {SLOW: tick - LONG.start + 1}
    if tick == BURST:
        return {QUICK: BATCH, SLOW: BATCH}
    return {SLOW: BATCH + tick - UNFETCHED.start} if tick in UNFETCHED else {}


def quiet_lag(poll: int) -> Mapping[int, int]:
    """Messages that the stuck follower of `quiet` lacks at a poll."""
    since, until = QUIET_STUCK
    return {QUICK: poll // QUIET_EVERY - since // QUIET_EVERY} if since <= poll < until else {}


def _show(world: World, topic: str, end: float, lag: Mapping[int, int]) -> None:
    """Set the current log ends of one topic; the ISR is by time."""
    row = world.row(topic, 0)
    there = world.broker[row] > 0
    lacks = np.array([float(lag.get(broker, 0)) for broker in world.broker[row].tolist()])
    world.rate[row] = (end - world.end[row]) * FOO.record / world.settings.interval
    world.end[row] = end
    world.at[row] = np.where(there, end - lacks, 0.0)
    world.caught_at[row] = np.where(lacks == 0, world.now, world.caught_at[row])
    world.isr[row] = there & (world.now - world.caught_at[row] <= TIME_MAX)
