"""What the page says of one follower, poll by poll, and what the brokers themselves say of it."""

import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.damage import log_files
from tests.cluster.page import Missed, Page, in_time
from tests.cluster.sidecar import INTERVAL, SLOW_MACHINE, Sidecar
from tests.support.threads import repeating

TO_AGREE: Final = 2
"""Polls that must agree before a state is shown."""

TO_KNOW: Final = 3
"""Samples of a replica that its state needs."""

LARGEST_OVERHEAD: Final = 1.1
"""Bytes in the log per byte of payload, at most, where records are of 1000 bytes and in batches."""

SMALL: Final = ClusterSettings(
    brokers=2,
    tiered=False,
    broker_properties={"replica.fetch.max.bytes": 1024, "replica.fetch.response.max.bytes": 1024},
    controller_properties={"broker.session.timeout.ms": 120_000},
)
"""No broker is fenced, and a fetch returns one batch of each partition, so a follower can be slow."""

RUNS = 0.05
"""Seconds that a follower runs on once it has copied something."""


@dataclass
class Follower:
    """One follower of a sidecar's page. Its story has the state of every poll that was looked at, "" for none."""

    sidecar: Sidecar
    topic: str
    broker: int
    partition: int = 0
    story: list[str] = field(default_factory=list)

    def state(self, page: Page) -> str:
        """The one state that it is shown in, "" while it has no series of a state."""
        states = page.by("state", "replica_state", topic=self.topic, partition=self.partition, broker=self.broker)
        assert set(states.values()) <= {1.0}
        assert len(states) <= 1, f"one follower, one state: {states}"
        return next(iter(states), "")

    def get(self, page: Page, name: str) -> float | None:
        """A number of its own, `replica_` left out of the name."""
        return page.get(f"replica_{name}", topic=self.topic, partition=self.partition, broker=self.broker)

    def one(self, page: Page, name: str) -> float:
        return page.one(f"replica_{name}", topic=self.topic, partition=self.partition, broker=self.broker)

    def until(
        self,
        state: str,
        cause: Callable[[Page], object] = lambda _: True,
        on_the_way: Collection[str] = (),
        timeout: float = SLOW_MACHINE,
    ) -> "Reached":
        """Read every page until it is in a state; counted are the polls in time, from the first that shows the cause.

        Any other state than the one that it is in now, and those `on_the_way`, fails.
        """
        first, missed, seen = None, list[Missed](), list[str]()
        for page in self.sidecar.pages(timeout):
            now = self.state(page)
            seen.append(now)
            first = seen[0] if first is None else first
            if missed or cause(page):
                missed.append(page.down())
            if now == state and missed:
                break
            assert now in {first, state, *on_the_way}, f"on the way to {state or 'nothing'}: {in_short(seen)}"
        self.story += seen
        print(f"{self.topic}-{self.partition} on {self.broker}: {in_short(seen)}: missed since its cause {missed}")
        return Reached(page, in_time(missed))

    def stays(self, state: str, polls: int = 3) -> list[Page]:
        """The next pages, in each of which it is in that state and no other."""
        pages = [page for page, _ in zip(self.sidecar.pages(), range(polls), strict=False)]
        seen = [self.state(page) for page in pages]
        self.story += seen
        assert seen == [state] * polls
        return pages

    def pages_in(self, state: str, timeout: float = SLOW_MACHINE) -> Iterator[Page]:
        """Every page from now on in which it is in that state, until it has none; any other state fails."""
        for page in self.sidecar.pages(timeout):
            self.story.append(self.state(page))
            if not self.story[-1]:
                return
            assert self.story[-1] == state, in_short(self.story)
            yield page


@dataclass(frozen=True)
class Reached:
    """The first page that shows a state, and how many polls it took."""

    page: Page
    polls: int


@dataclass(frozen=True)
class Limits:
    """What the brokers' own settings say, in seconds."""

    lag: float
    """replica.lag.time.max.ms"""
    wait: float
    """replica.fetch.wait.max.ms"""
    window: float
    """The quota window."""

    @classmethod
    def of(cls, cluster: Cluster) -> "Limits":
        window = ("replication.quota.window.num", "replication.quota.window.size.seconds")
        keys = ("replica.lag.time.max.ms", "replica.fetch.wait.max.ms", *window)
        found = {key: float(value or math.nan) for key, value in cluster.admin.broker_config(1, keys).items()}
        return cls(found[keys[0]] / 1000, found[keys[1]] / 1000, found[window[0]] * found[window[1]])

    @property
    def slack(self) -> float:
        """Error of a moment in `/metrics`: a fetch that waits, and a poll on either side of it."""
        return self.wait + 2 * INTERVAL

    def polls(self, seconds: float) -> int:
        """Polls within which is shown what takes so long to be true."""
        return math.ceil(seconds / INTERVAL) + 1 + TO_AGREE


def in_short(states: Collection[str]) -> str:
    """A story in short: every state with the polls in a row that it was shown."""
    return ", ".join(f"{state or '-'} x {len(list(run))}" for state, run in groupby(states))


def count_by_state(page: Page, broker: int) -> dict[str, float]:
    """Followers outside the ISR that a broker hosts, by state, without counts of 0."""
    counts = page.by("state", "broker_out_of_sync_replicas", broker=broker)
    return {state: count for state, count in counts.items() if count}


def left_at(cluster: Cluster, topic: str, broker: int) -> float:
    """When the brokers have taken a follower out of the ISR."""
    wait_for(lambda: broker not in cluster.admin.isr(topic)[0], what="the follower is dropped")
    return time.time()


def duty_cycle(cluster: Cluster, leader: int, broker: int, topic: str) -> AbstractContextManager[None]:
    """Let a broker run until its follower has got on, and stop until its leader has written twice as much."""
    (source,) = wait_for(lambda: log_files(cluster, leader, topic, "log"), what="the leader has a log")
    (copy,) = wait_for(lambda: log_files(cluster, broker, topic, "log"), what="the follower has a log")
    written, copied = source.stat().st_size, copy.stat().st_size

    def stop() -> None:
        nonlocal written, copied
        cluster.pause(broker)
        enough = written + 2 * (copy.stat().st_size - copied)
        wait_for(lambda: source.stat().st_size >= enough, what="the leader writes twice as much", interval=RUNS)
        written, copied = source.stat().st_size, copy.stat().st_size
        cluster.resume(broker)
        wait_for(lambda: copy.stat().st_size > copied, what="the follower gets on", interval=RUNS / 10)

    return repeating(stop, RUNS)


def at_most(cluster: Cluster, broker: int, topic: str, size: int) -> AbstractContextManager[None]:
    """Stop a broker for half a second each time that its follower has copied so many bytes."""
    (log,) = log_files(cluster, broker, topic, "log")
    before = log.stat().st_size

    def stop() -> None:
        nonlocal before
        if log.stat().st_size >= before + size:
            cluster.pause(broker)
            before = log.stat().st_size
            time.sleep(0.5)
            cluster.resume(broker)

    return repeating(stop, RUNS / 10)


def out_of_sync(cluster: Cluster) -> dict[int, int]:
    """How many replicas on each broker are missing from the ISR, as the brokers themselves say."""
    counts = dict.fromkeys(cluster.broker_ids, 0)
    for brokers in cluster.admin.out_of_sync().values():
        for broker in brokers:
            counts[broker] += 1
    return counts
