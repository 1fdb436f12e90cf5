"""The events of a recording: load, a burst, three moves, a restarted sidecar, a paused broker.

Each move has the sides of its brokers to itself: a broker's leader and follower throttle are separate limits.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final

from sandbox import demo_scene
from sandbox.cluster import Cluster
from sandbox.demo_scene import Transfer
from sandbox.record_truth import Diary
from sandbox.record_watch import Watch
from sandbox.waiting import wait_for

COMPLETES: Final = Transfer("orders", 3, source=1, target=2, stored=12_000_000, inbound=150_000.0, limit=1_500_000)
CANCELLED: Final = Transfer("audit", 1, source=2, target=3, stored=40_000_000, inbound=50_000.0, limit=800_000)
# One partition passes at most its limit and a burst of 1 MiB per quota window (11 s): 0.3 MB/s, half of the
# inbound rate.
STUCK: Final = Transfer("payments", 1, source=3, target=1, stored=20_000_000, inbound=600_000.0, limit=200_000)
QUIET: Final = replace(STUCK, inbound=50_000.0)
"""The same before its rush hour: KIP-73's MoveTime goes by the busiest broker, whether or not it takes part."""
TRANSFERS: Final = (COMPLETES, CANCELLED, QUIET)
CAUSE: Final = "throttle_below_inbound"

EVENTS: Final = "events"
"""A topic on all brokers: about a hundred records a second, and one large burst."""
EVENTS_PARTITIONS: Final = 3
EVENTS_BYTES_IN: Final = 100_000.0
LEDGER: Final = "ledger"
"""A quiet topic on all brokers: an alert on lag in messages never fires for its followers."""
LEDGER_BYTES_IN: Final = 2_000.0
BROKERS: Final = 3

PAUSED: Final = 3
"""Broker; nothing moves to or from it by then."""

BURST_RECORD: Final = 100
BURST_BYTES_IN: Final = 60e6
"""Bytes per second. It is more than a producer reaches with records this small, so it produces at full speed."""
BURST_MESSAGES: Final = 4000.0
"""A burst must cause at least this lag: `replica.lag.max.messages`, the limit of Kafka before 0.9."""
CANCELLED_AT: Final = 0.3
"""Progress, from 0 to 1."""
END_WITHIN_SECONDS: Final = 20.0
"""The stuck move must end within this time after its throttle is raised."""

REST_POLLS: Final = 10
BURST_POLLS: Final = 3
STUCK_POLLS: Final = 15
OUT_POLLS: Final = 8
"""While nothing happens; while a burst goes on; while a move is stuck; while followers are out of sync."""
LONG_SECONDS: Final = 150.0
"""Time limit of each step of the recording."""


WAITS: Final = 0.8
"""Share of a limit that a lagging replica really uses: waits in its fetcher cost up to a fifth."""


def limit_for(inbound: float, remaining: float, seconds: float) -> int:
    """The limit that ends a move within so many seconds (alerts/runbooks/KafkaReassignmentStuck.md).

    Args:
        inbound: Bytes per second into what lags; no follower of it is in sync.
        remaining: Remaining bytes.
        seconds: In which they shall go.
    """
    return round((inbound + remaining / seconds) / WAITS)


@dataclass(frozen=True, slots=True)
class Scene:
    """A cluster under load, and the diary of its events."""

    cluster: Cluster
    diary: Diary
    say: Callable[[str], None]
    load: ExitStack
    """Producers go on until it closes."""

    def prepare(self) -> None:
        """Create the topics, fill those that move, and produce to all."""
        replicas = {partition: _ring(partition) for partition in range(EVENTS_PARTITIONS)}
        self.cluster.admin.create_topic(EVENTS, assignment=replicas)
        self.cluster.admin.create_topic(LEDGER, assignment={0: _ring(0)})
        demo_scene.prepare(self.cluster, TRANSFERS, self.load)
        events = self.cluster.load.background(EVENTS, EVENTS_BYTES_IN, partitions=range(EVENTS_PARTITIONS))
        self.load.enter_context(events)
        self.load.enter_context(self.cluster.load.background(LEDGER, LEDGER_BYTES_IN))

    def quiet(self, watch: Watch) -> None:
        """Wait for some polls."""
        watch.polls(REST_POLLS)

    def burst(self, watch: Watch) -> None:
        """Produce at full speed until an in-sync follower lags by thousands of records, and for some more polls."""
        self.say(f"A burst to {EVENTS}: as many small records as one producer makes")
        load = self.cluster.load.background(EVENTS, BURST_BYTES_IN, BURST_RECORD, range(1), acks=1)
        with self.diary.calm("burst", topic=EVENTS, partition=0), load:
            watch.until(
                # Nothing else lags, and no replica is behind for long enough to have its own lag series.
                lambda: watch.most("broker_sum_replica_lag_messages") >= BURST_MESSAGES,
                LONG_SECONDS,
                f"a poll shows a lag of {BURST_MESSAGES:g} messages",
            )
            watch.polls(BURST_POLLS)
        watch.polls(REST_POLLS)

    def healthy_and_cancelled(self, watch: Watch) -> None:
        """Move two topics at once: one move completes, the other is cancelled."""
        for transfer in (COMPLETES, CANCELLED):
            self._start(transfer)
        watch.until(
            lambda: watch.least("reassignment_progress_ratio", topic=CANCELLED.topic) >= CANCELLED_AT,
            LONG_SECONDS,
            f"{CANCELLED.topic} has moved in part",
        )
        self.say(f"Cancelling the move of {CANCELLED.topic}")
        self.cluster.admin.cancel([(CANCELLED.topic, partition) for partition in range(CANCELLED.partitions)])
        self.diary.over(CANCELLED, 0, "cancelled")
        self._until_moved(COMPLETES)
        self._clear((COMPLETES, CANCELLED))
        watch.polls(REST_POLLS)

    def stuck(self, watch: Watch) -> None:
        """Start a move with a throttle below its inbound rate, and wait until a poll shows it as stuck."""
        self.load.enter_context(self.cluster.load.background(STUCK.topic, STUCK.inbound - QUIET.inbound))
        self._start(STUCK)
        self.diary.begin_stuck(STUCK, CAUSE)
        self.still_stuck(watch)

    def still_stuck(self, watch: Watch) -> None:
        """Check in some polls that a move is stuck with the right cause."""
        watch.until(
            lambda: watch.most("reassignment_stuck", topic=STUCK.topic, cause=CAUSE) == 1,
            LONG_SECONDS,
            f"{STUCK.topic} is stuck by {CAUSE}",
        )
        self.say(f"The sidecar reports {STUCK.topic} as stuck: {CAUSE}")
        watch.polls(STUCK_POLLS)

    def raised(self, watch: Watch) -> None:
        """Raise the throttle as the runbook says, and wait for the end of the move."""
        remaining = watch.most("reassignment_bytes_remaining", topic=STUCK.topic)
        limit = limit_for(STUCK.inbound, remaining, END_WITHIN_SECONDS)
        self.say(f"Raising the throttle of {STUCK.topic} to {limit / 1e6:.1f} MB/s")
        demo_scene.set_limit(self.cluster, STUCK, limit)
        self.diary.raised(STUCK, limit)
        self._until_moved(STUCK)
        self._clear((STUCK,))
        watch.polls(REST_POLLS)

    def paused(self, watch: Watch) -> None:
        """Pause a broker until its followers are out of sync for some polls, then resume it."""
        self.say(f"Pausing broker {PAUSED}")
        with self.diary.fault("broker_down", broker=PAUSED):
            self.cluster.pause(PAUSED)
            watch.until(
                lambda: watch.most("replica_out_of_sync_seconds", broker=str(PAUSED)) > 0,
                LONG_SECONDS,
                "followers are out of sync",
            )
            watch.polls(OUT_POLLS)
            self.say(f"Broker {PAUSED} goes on")
            self.cluster.resume(PAUSED)
        self.cluster.wait_in_sync()
        watch.polls(REST_POLLS)

    def _start(self, transfer: Transfer) -> None:
        self.say(
            f"Moving {transfer.topic} from broker {transfer.source} to {transfer.target}:"
            f" throttle {transfer.limit / 1e6:.1f} MB/s, {transfer.inbound / 1e6:.2f} MB/s produced"
        )
        sizes = {
            log.partition: log.size
            for log in self.cluster.admin.log_dirs(transfer.source)
            if log.topic == transfer.topic
        }
        demo_scene.start(self.cluster, transfer)
        self.diary.begin(transfer, sizes)

    def _until_moved(self, transfer: Transfer) -> None:
        left = set(range(transfer.partitions))

        def over() -> bool:
            moving = {partition for topic, partition in self.cluster.admin.reassignments() if topic == transfer.topic}
            for partition in left - moving:
                self.diary.over(transfer, partition, "completed")
            left.intersection_update(moving)
            return not left

        wait_for(over, LONG_SECONDS, f"{transfer.topic} has moved")
        self.say(f"{transfer.topic} has moved")

    def _clear(self, transfers: tuple[Transfer, ...]) -> None:
        self.cluster.admin.clear_throttle([transfer.topic for transfer in transfers])


def _ring(first: int) -> list[int]:
    """Assignments to all brokers, with a different leader for each partition."""
    return [(first + place) % BROKERS + 1 for place in range(BROKERS)]
