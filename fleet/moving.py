"""Reassignments under a throttle, as `kafka-reassign-partitions` makes them, at the speed of docs/spec/throttle-law.md.

A move takes one replica of each of some partitions of one topic from one broker to another. The tool lists all present
replicas on the leader's side and the new one on the follower's, and sets the limit on all brokers that take part.
"""

from dataclasses import dataclass, field
from itertools import permutations
from typing import Final

import numpy as np

from fleet.shares import enough, floors, spread
from fleet.topology import OFFSETS
from fleet.truth import Happened, Moved
from fleet.world import NO_REPLICA, Down, World
from kafka_warden.derive import law
from kafka_warden.derive.law import fair_shares
from kafka_warden.history.poll import topic_id_text
from kafka_warden.model import Floats, Longs

FETCH_MAX: Final = 1 << 20
RESPONSE_MAX: Final = 10 << 20
WOBBLE: Final = 0.04
"""Standard deviation of the speed of real moves around the law."""

STEP: Final = 12.0
"""Seconds that a rate holds, at most: the quota window and the wait after it."""

UNTHROTTLED: Final = 80e6
"""Bytes a second of one flow without a limit."""

LEAST: Final = 20 * 60.0
"""Least seconds until a throttle that is too low is raised, and time in which the rest must then be copied."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A move that starts when the one before has ended."""

    at: float
    """Unix seconds."""
    kind: str
    """`plain`, `unthrottled`, `throttle_below_inbound`, `target_down` or `cancelled`."""
    partitions: int
    seconds: float
    """The time for which its throttle is computed."""


@dataclass(slots=True)
class Campaign:
    """A move under way."""

    planned: Planned
    topic: str
    source: int
    target: int
    began: float
    first_limit: float
    limit: float
    """As it is now."""
    listed: dict[int, list[int]]
    """Partition number to the brokers that are listed on the leader's side."""
    bytes_at_start: dict[int, float]
    ended: dict[int, float] = field(default_factory=dict)
    brokers: frozenset[int] = frozenset()
    raised_at: float | None = None
    done_at: float | None = None


@dataclass(slots=True)
class Mover:
    """Starts moves, copies, and ends them."""

    waiting: list[Planned]
    luck: np.random.Generator
    campaign: Campaign | None = None

    def advance(self, world: World, until: float) -> None:
        """Advance the moves of a cluster from `world.now` to a moment."""
        now = self.campaign
        if now is not None and now.done_at is not None:
            # `--verify` removes the throttle at the first check after the end.
            self.campaign = None
        if self.campaign is None and self.waiting and self.waiting[0].at <= until:
            self.campaign = self._begin(world, self.waiting[0], until)
            # A move without any healthy partition waits for the next poll.
            self.waiting = self.waiting[1:] if self.campaign is not None else self.waiting
            return
        if self.campaign is None or self.campaign.done_at is not None:
            return
        self._operate(world, self.campaign, until)
        moment = world.now
        while moment < until and world.adding.any():
            seconds = min(STEP, until - moment)
            moment += seconds
            self._copy(world, self.campaign, seconds)
            self._complete(world, self.campaign, moment)
        if not world.adding.any():
            self.campaign.done_at = until
            world.catching_up[:] = 0.0
            self._record_truth(world, self.campaign)

    def close(self, world: World) -> None:
        """Record the move that is in progress at the end of the history."""
        if self.campaign is not None and self.campaign.done_at is None:
            self._record_truth(world, self.campaign)

    def _begin(self, world: World, planned: Planned, now: float) -> Campaign | None:
        chosen = self._choose(world, planned)
        if chosen is None:
            return None
        rows, source, target = chosen
        topic = world.topics[world.topic[rows[0]]]
        slot, numbers = world.broker.shape[1] - 1, world.number[rows].tolist()
        sizes = world.sizes()[rows, np.maximum(world.lead[rows], 0)]
        listed = {
            number: world.broker[row][world.broker[row] > 0].tolist() for number, row in zip(numbers, rows, strict=True)
        }
        world.broker[rows, slot] = target
        world.adding[rows, slot] = True
        world.removing[rows] = world.broker[rows] == source
        world.at[rows, slot] = world.start[rows]
        world.sized[rows, slot], world.sized_at[rows, slot] = 0, now
        world.isr[rows, slot] = False
        limit = self._limit(world, planned, rows, sizes)
        campaign = Campaign(
            planned, topic.name, source, target, now, limit, limit, listed,
            dict(zip(numbers, sizes.tolist(), strict=True)),
            brokers=frozenset({target, *(broker for brokers in listed.values() for broker in brokers)}),
        )  # fmt: skip
        if planned.kind == "target_down":
            down = Down(target, now + planned.seconds / 4, now + planned.seconds / 4 + 1800.0)
            world.downs.append(down)
            world.truth.faults.append(Happened("broker_down", down.began, down.ended, broker=target))
            world.truth.faults += [
                Happened("target_down", down.began, down.ended, topic.name, number, target) for number in numbers
            ]
        return campaign

    def _choose(self, world: World, planned: Planned) -> tuple[Longs, int, int] | None:
        """Choose partitions of one topic that one broker has and another does not; if needed, of a busy topic."""
        healthy = (world.lead >= 0) & (world.isr | (world.broker < 0)).all(axis=1)
        for held in world.held:
            if held.topic is not None:
                healthy[world.row(held.topic, held.partition)] = False
        names = [index for index, topic in enumerate(world.topics) if topic.name != OFFSETS]
        weight = np.array([world.rate[world.topic == index].mean() for index in names])
        if planned.kind == "throttle_below_inbound":
            weight = weight**3
        pairs = list(permutations(np.flatnonzero(world.up[1:]) + 1, 2))
        for index in self.luck.choice(names, size=len(names), replace=False, p=weight / weight.sum()).tolist():
            mine = healthy & (world.topic == index)
            for pair in self.luck.permutation(len(pairs)).tolist():
                source, target = (int(each) for each in pairs[pair])
                has, will = (world.broker == source).any(axis=1), (world.broker == target).any(axis=1)
                rows = np.flatnonzero(mine & has & ~will)[: planned.partitions]
                if len(rows):
                    return rows, source, target
        return None

    def _limit(self, world: World, planned: Planned, rows: Longs, sizes: Floats) -> float:
        """Bytes per second that complete it in the planned time, or that are below the produce rate."""
        if planned.kind == "unthrottled":
            return float("inf")
        if planned.kind == "throttle_below_inbound":
            busy = floors(world, rows)
            return float(round(max(0.5 * busy[busy > 0].min(), 1000.0)))
        return enough(world, rows, float(sizes.sum()), planned.seconds)

    def _operate(self, world: World, campaign: Campaign, until: float) -> None:
        """Act as an operator: raise a throttle that is too low, or cancel the move."""
        age, kind = until - campaign.began, campaign.planned.kind
        time_limit = max(campaign.planned.seconds, LEAST)
        if kind == "throttle_below_inbound" and campaign.raised_at is None and age >= time_limit:
            campaign.raised_at = until
            left = sum(size for number, size in campaign.bytes_at_start.items() if number not in campaign.ended)
            rows = np.flatnonzero(world.adding.any(axis=1))
            campaign.limit = enough(world, rows, left, max(campaign.planned.seconds / 2, LEAST))
            world.truth.faults += [
                Happened(kind, campaign.began, until, campaign.topic, number, campaign.target)
                for number in campaign.listed
            ]
        if kind == "cancelled" and age >= campaign.planned.seconds / 3:
            slot = world.broker.shape[1] - 1
            rows = np.flatnonzero(world.adding[:, slot])
            world.broker[rows, slot], world.adding[rows, slot] = NO_REPLICA, False
            world.removing[rows] = False

    def _copy(self, world: World, campaign: Campaign, seconds: float) -> None:
        """Copy for some seconds: every flow at the law's rate, its partitions by turns."""
        slot = world.broker.shape[1] - 1
        world.catching_up[:] = 0.0
        rows = np.flatnonzero(world.adding[:, slot] & (world.lead >= 0) & world.up[world.broker[:, slot]])
        if not len(rows):
            return
        leaders = world.leaders()[rows]
        flows, flow = np.unique(leaders, return_inverse=True)
        bursts = [law.burst(partitions, FETCH_MAX, RESPONSE_MAX) for partitions in np.bincount(flow).tolist()]
        headroom = self._headroom(world, campaign, flows)
        shares = fair_shares(flows, np.full(len(flows), campaign.target), headroom, {campaign.target: campaign.limit})
        for index, share in enumerate(shares.tolist()):
            copied = min(law.gross(share, bursts[index]), UNTHROTTLED)
            copied *= float(np.exp(self.luck.normal(0, WOBBLE)))
            given = spread(world, rows[flow == index], copied * seconds)
            self._count(world, int(flows[index]), campaign.target, given)
            world.catching_up[int(flows[index]), 0] += given / seconds
            world.catching_up[campaign.target, 1] += given / seconds

    def _count(self, world: World, leader: int, target: int, given: float) -> None:
        for name, broker in (("out", leader), ("in", target)):
            world.counted[f"reassignment_bytes_{name}_total"][broker] += given
            world.counted[f"replication_bytes_{name}_total"][broker] += given

    def _headroom(self, world: World, campaign: Campaign, leaders: np.ndarray) -> dict[int, float]:
        """Each leader's limit minus the in-sync traffic of the listed partitions."""
        mine = world.rows(campaign.topic)
        rows = mine[np.isin(world.number[mine], list(campaign.listed))]
        found = {}
        for leader in leaders.tolist():
            led = rows[world.leaders()[rows] == leader]
            followers = world.isr[led].sum(axis=1) - 1
            found[leader] = campaign.limit - float((world.rate[led] * followers).sum())
        return found

    def _complete(self, world: World, campaign: Campaign, moment: float) -> None:
        """Complete the move of every replica that has caught up."""
        slot = world.broker.shape[1] - 1
        near = world.at[:, slot] >= world.end - np.maximum(0.5 * world.rate / world.record, 1.0)
        for row in np.flatnonzero(world.adding[:, slot] & near & (world.lead >= 0)).tolist():
            place = int(np.flatnonzero(world.removing[row])[0])
            for column in (world.broker, world.at, world.sized, world.sized_at):
                column[row, place] = column[row, slot]
            world.isr[row, place], world.caught_at[row, place] = True, moment
            world.broker[row, slot], world.adding[row, slot] = NO_REPLICA, False
            world.isr[row, slot], world.removing[row] = False, False
            if world.lead[row] == place:
                # The new replica is preferred where the old one was, and takes over from it.
                world.at[row, place] = world.end[row]
                world.epoch[row] += 1
            campaign.ended[int(world.number[row])] = moment

    def _record_truth(self, world: World, campaign: Campaign) -> None:
        topic = next(topic for topic in world.topics if topic.name == campaign.topic)
        cause = campaign.planned.kind if campaign.planned.kind in {"throttle_below_inbound", "target_down"} else None
        for number in campaign.listed:
            ended = campaign.ended.get(number, campaign.done_at)
            outcome = "completed" if number in campaign.ended else "running" if ended is None else "cancelled"
            world.truth.moves.append(
                Moved(
                    topic.name, topic_id_text(topic.id), number, campaign.target, campaign.source,
                    campaign.began, ended, outcome, campaign.bytes_at_start[number], campaign.first_limit,
                    campaign.limit if campaign.raised_at is not None else None, campaign.raised_at, cause,
                )
            )  # fmt: skip
