"""Followers fetch, fall behind and catch up; the ISR follows; leaders are elected."""

import numpy as np

from fleet.settings import DAY
from fleet.topology import KEPT_BYTES
from fleet.world import NO_REPLICA, World
from kafka_warden.model import Bools, Floats

LAG_TIME_MAX = 30.0
"""`replica.lag.time.max.ms`, seconds."""

CATCH_UP = 60e6
"""Bytes per second that a lagging follower fetches of one partition."""

LATENCY = (0.01, 0.08)
"""Seconds by which a healthy follower is behind."""

BURST_LATENCY = 0.2
"""The same during a burst: thousands of records, but no fault."""

REBALANCE = 300.0
"""`leader.imbalance.check.interval.seconds`."""


def follow(world: World, until: float, gained: Floats, luck: np.random.Generator) -> None:
    """Let every follower that is not being added fetch until then. `gained` are (P,) records appended since."""
    leads, alive, before = world.leading(), world.alive(), world.at
    latency = np.where(bursting(world, until)[:, None], BURST_LATENCY, luck.uniform(*LATENCY, size=before.shape))
    missing = np.floor(latency * (world.rate / world.record)[:, None] + luck.uniform(size=before.shape))
    # The records of the poll before were fetched long ago: without new records nothing is missing.
    shown = np.maximum(world.end[:, None] - np.minimum(missing, gained[:, None]), 0.0)
    share = _held(world, until)
    fetches = alive & (world.lead >= 0)[:, None] & ~world.adding
    seconds = np.minimum(until - world.now, until - world.returned_at[np.maximum(world.broker, 0)])
    free = np.isnan(share)
    # Even a slow fetch gets the record: a quiet topic is not late on a slow broker.
    part = np.where(share > 0, np.maximum(share * gained[:, None], 1.0), 0.0)
    most = np.where(free, seconds * (CATCH_UP / world.record)[:, None], part)
    reached = np.maximum(before, np.minimum(shown, before + np.floor(most)))
    world.at = np.where(leads, world.end[:, None], np.where(fetches, reached, before))
    caught = fetches & (world.at >= shown) & (free | (share > 0))
    world.caught_at = np.where(leads | caught, until, world.caught_at)
    _count_traffic(world, np.where(fetches & ~leads, world.at - before, 0.0), gained)
    _change_isr(world, until, leads, caught)


def bursting(world: World, moment: float) -> Bools:
    """(P,) partitions with a burst."""
    found = np.zeros(world.partitions, bool)
    for burst in world.bursts:
        if burst.began <= moment < burst.ended:
            found[world.rows(burst.topic)] = True
    return found


def _held(world: World, moment: float) -> Floats:
    """(P, W) share of the inbound rate that a slow replica still gets, NaN elsewhere."""
    share = np.full(world.at.shape, np.nan)
    for held in world.held:
        if held.began <= moment < held.ended:
            rows = slice(None) if held.topic is None else world.row(held.topic, held.partition)
            share[rows] = np.where(world.broker[rows] == held.broker, held.share, share[rows])
    return share


def _count_traffic(world: World, fetched: Floats, gained: Floats) -> None:
    """Add produced and replicated bytes to the counters of brokers; consumers read every record twice."""
    count, record, leaders = world.counted, world.record, np.maximum(world.leaders(), 0)
    produced, copied = gained * record, fetched * record[:, None]
    np.add.at(count["bytes_in_total"], leaders, produced)
    np.add.at(count["bytes_out_total"], leaders, 2 * produced)
    np.add.at(count["replication_bytes_in_total"], np.maximum(world.broker, 0), copied)
    np.add.at(count["replication_bytes_out_total"], leaders, copied.sum(axis=1))


def _change_isr(world: World, until: float, leads: Bools, caught: Bools) -> None:
    led = (world.lead >= 0)[:, None]
    kept = world.isr & (until - world.caught_at <= LAG_TIME_MAX) & world.alive()
    isr = np.where(led, (leads | kept | caught) & ~world.adding & (world.broker > 0), world.isr)
    leaders = np.maximum(world.leaders(), 0)
    np.add.at(world.counted["isr_shrinks_total"], leaders, (world.isr & ~isr).any(axis=1))
    np.add.at(world.counted["isr_expands_total"], leaders, (~world.isr & isr & ~world.adding).any(axis=1))
    world.isr = isr


def elect(world: World, moment: float) -> None:
    """Elect an in-sync replica if the leader is down, and the preferred one when leaders are rebalanced."""
    able = world.isr & world.alive() & ~world.adding
    lost = (world.lead < 0) | ~world.alive()[np.arange(world.partitions), np.maximum(world.lead, 0)]
    chosen = np.where(able.any(axis=1), able.argmax(axis=1), NO_REPLICA)
    turned = moment // REBALANCE > world.now // REBALANCE
    changed = np.where(lost, world.lead != chosen, turned & able[:, 0] & (world.lead != 0))
    world.lead = np.where(changed, np.where(lost, chosen, 0), world.lead).astype(np.int32)
    world.epoch = world.epoch + (changed & (world.lead >= 0)).astype(np.int32)
    # Records that a new leader lacks were never committed, and are produced again.
    world.at = np.where(world.leading() & changed[:, None], world.end[:, None], world.at)
    world.caught_at = np.where(world.leading() & changed[:, None], moment, world.caught_at)


def expire(world: World) -> None:
    """Delete whole segments that are past retention; compacted logs keep their start.

    Retention is by bytes, those of its time on a usual day: a burst deletes older records.
    """
    least = np.array([KEPT_BYTES / each.record for each in world.topics])[world.topic]
    rate = np.array([each.bytes_in / each.record for each in world.topics])[world.topic]
    retention = np.array([each.retention for each in world.topics])[world.topic]
    segment = np.array([each.segment / each.record for each in world.topics])[world.topic]
    factor = world.plan.factor((world.now - world.settings.start) / DAY)
    kept = np.where(np.isfinite(retention), rate * factor * np.where(np.isfinite(retention), retention, 0), np.inf)
    kept = np.maximum(kept, least)
    over = np.maximum(world.end - world.start - kept, 0.0)
    world.start = world.start + (np.floor(over / segment) * np.floor(segment)).astype(np.int64)
    world.at = np.where(world.broker > 0, np.maximum(world.at, world.start[:, None]), world.at)
