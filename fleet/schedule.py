"""The times of all events: each fault has its own slot, so its cause is clear."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from fleet.moving import Planned
from fleet.settings import HOUR, MINUTE, WEEK, chance
from fleet.topology import OFFSETS
from fleet.truth import Happened
from fleet.world import Burst, Down, Held, World

FAULTS: Final = ("slow_follower", "stuck_follower", "broker_down")
MOVES: Final = (
    "plain", "plain", "throttle_below_inbound", "plain", "cancelled", "plain", "target_down", "unthrottled",
)  # fmt: skip

SHORT: Final = 5.0
LONG: Final = 60.0
"""Minutes of a fault, at least and at most."""

BURST_RECORDS: Final = (60_000.0, 200_000.0)
"""Records per second to one partition: a lag of about 9,000 records, above any threshold in messages."""

BURST_BYTES: Final = 40e6
"""Bytes per second to one partition, at most."""

RESTART: Final = 90.0
"""Seconds that a broker is down in a rolling restart."""

AFTER: Final = 0.1
"""Seconds, more than a poll is ever late."""

IDLE: Final = 0.01
"""Share of the mean rate: topics below it are quiet, and a stuck follower of them lacks few messages."""

IDLE_STUCK: Final = 0.4
"""Share of stuck followers that are of a quiet topic on purpose."""

BETWEEN: Final = 240.0
"""Seconds from one broker's return to the next one's restart."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """A time slot of one cluster for one fault. Unix seconds."""

    began: float
    seconds: float


def schedule(world: World) -> list[Planned]:
    """Add faults, bursts and restarts to a cluster, and return its moves."""
    settings = world.settings
    luck = chance(settings, world.cluster.number, "schedule")
    counts = {name: _count(world, getattr(settings, name)) for name in ("faults", "restarts", "moves")}
    kinds = [FAULTS[index % len(FAULTS)] for index in range(counts["faults"])]
    kinds += ["rolling_restart"] * counts["restarts"] + ["move"] * counts["moves"]
    luck.shuffle(kinds)
    length = (settings.end - settings.start) / max(len(kinds), 1)
    planned = list[Planned]()
    for index, kind in enumerate(kinds):
        slot = _Slot(settings.start + (index + 0.1) * length, 0.8 * length)
        if kind == "move":
            planned.append(_move(world, slot, MOVES[len(planned) % len(MOVES)], luck))
        elif kind == "rolling_restart":
            _restart_all(world, slot)
        else:
            _fault(world, slot, kind, luck)
    _bursts(world, _count(world, settings.bursts), chance(settings, world.cluster.number, "bursts"))
    return planned


def _count(world: World, of_week: float) -> int:
    return round(of_week * (world.settings.end - world.settings.start) / WEEK)


def _after_poll(world: World, moment: float) -> float:
    """Round a moment to just after a poll: the next poll shows an event from there completely."""
    settings = world.settings
    polls = math.floor((moment - settings.start) / settings.interval)
    return settings.start + polls * settings.interval + min(AFTER, settings.interval / 10)


def _move(world: World, slot: _Slot, kind: str, luck: np.random.Generator) -> Planned:
    seconds = float(np.clip(slot.seconds * luck.uniform(0.3, 0.7), 5 * MINUTE, 4 * HOUR))
    return Planned(_after_poll(world, slot.began), kind, int(luck.integers(1, 6)), seconds)


def _restart_all(world: World, slot: _Slot) -> None:
    began = moment = _after_poll(world, slot.began)
    for broker in world.cluster.brokers.tolist():
        world.downs.append(Down(broker, moment, moment + RESTART))
        world.truth.calm.append(Happened("restart", moment, moment + RESTART, broker=broker))
        moment += RESTART + BETWEEN
    world.truth.calm.append(Happened("rolling_restart", began, moment))


def _fault(world: World, slot: _Slot, kind: str, luck: np.random.Generator) -> None:
    began = _after_poll(world, slot.began + luck.uniform(0, 0.2) * slot.seconds)
    ended = began + float(np.clip(luck.uniform(SHORT, LONG) * MINUTE, 2 * world.settings.interval, 0.6 * slot.seconds))
    broker = int(luck.choice(world.cluster.brokers))
    if kind == "broker_down":
        world.downs.append(Down(broker, began, ended))
        world.truth.faults.append(Happened(kind, began, ended, broker=broker))
    elif kind == "slow_follower":
        world.held.append(Held(broker, began, ended, share=float(luck.uniform(0.2, 0.7))))
        world.truth.faults.append(Happened(kind, began, ended, broker=broker))
    else:
        _stick(world, began, ended, luck)


def _stick(world: World, began: float, ended: float, luck: np.random.Generator) -> None:
    """Stop one follower of one partition; moves leave it in place (`Mover`)."""
    usual = np.array([topic.bytes_in for topic in world.topics])[world.topic]
    quiet = np.flatnonzero(usual < IDLE * world.settings.bytes_in)
    rows = quiet if len(quiet) and luck.random() < IDLE_STUCK else np.arange(world.partitions)
    row = int(luck.choice(rows))
    broker = int(world.broker[row, int(luck.integers(1, world.cluster.replication_factor))])
    topic, number = world.topics[world.topic[row]].name, int(world.number[row])
    world.held.append(Held(broker, began, ended, 0.0, topic, number))
    world.truth.faults.append(Happened("stuck_follower", began, ended, topic, number, broker))


def _bursts(world: World, count: int, luck: np.random.Generator) -> None:
    names = [topic for topic in world.topics if topic.name != OFFSETS]
    for began in np.sort(luck.uniform(world.settings.start, world.settings.end, count)).tolist():
        topic = names[int(luck.integers(len(names)))]
        since = _after_poll(world, began)
        until = since + max(float(luck.uniform(1, 6)) * MINUTE, world.settings.interval)
        records = min(float(luck.uniform(*BURST_RECORDS)), BURST_BYTES / topic.record)
        world.bursts.append(Burst(topic.name, since, until, records))
        world.truth.calm.append(Happened("burst", since, until, topic.name))
