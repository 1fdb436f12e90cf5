"""One fault for each alert, with the time until it fires, and work that is no fault, for the random tests.

Times in seconds. A fault is a change of what an exporter serves that starts at a time and does not end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.alerts.scenarios import changes
from tests.alerts.scenarios.changes import moving, mutations, stuck, throttle_problem
from tests.alerts.scenarios.quotas import overdue, tiered
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Function, after, age, during, in_each, ramp

Change = Callable[[Exporter, float], None]
BRIDGED: Final = 270.0
"""For how long the last answer of a source counts."""
ANSWER: Final = 5.0
"""How long a poll waits for answers at most."""


@dataclass(frozen=True)
class Fault:
    """A fault and its alert.

    Attributes:
        alert: The alert that must fire.
        change: Cause the fault at a time.
        wait: Seconds that the rules wait once Prometheus has a sample of the fault.
        samples: Samples that must show it.
        labels: Of the alert, if it has other instances.
    """

    alert: str
    change: Change
    wait: float
    samples: int = 1
    labels: tuple[tuple[str, str], ...] = ()

    def worst_case(self, poll: float, step: float, evaluation: float) -> float:
        """Return the seconds from the fault until the alert fires at the latest, if every scrape succeeds."""
        seen = poll + min(ANSWER, poll / 2) + self.samples * step
        return seen + evaluation + math.ceil(self.wait / evaluation) * evaluation


def _count(name: str, value: float, **labels: object) -> Change:
    return lambda exporter, start: exporter.set(name, after(start, value, 0), **labels)


def _throttle(problem: str, side: str = "follower") -> Change:
    return lambda exporter, start: throttle_problem(exporter, problem, age(start), side=side)


def _stuck(cause: str) -> Change:
    def change(exporter: Exporter, start: float) -> None:
        moving(exporter, value=after(start - 60, 10), eta=None)
        stuck(exporter, after(start, 1, None), cause, since=start)

    return change


def _stuck_in_log_dir(exporter: Exporter, start: float) -> None:
    where = {"topic": "orders", "partition": 0, "broker": 2}
    exporter.set("log_dir_move_bytes_remaining", after(start, 5e11, None), **where)
    exporter.set("log_dir_move_eta_seconds", after(start, math.inf, None), **where)


def _endless(exporter: Exporter, start: float) -> None:
    moving(exporter, value=after(start, 10), eta=after(start, math.inf, None))


def _controller(exporter: Exporter, start: float) -> None:
    exporter.set("controller_reachable", after(start, 0, 1))
    for source in ("reassignments", "quorum"):
        exporter.set("up", after(start, 0, 1), source=source, broker="")


def _shut_down(exporter: Exporter, start: float) -> None:
    changes.broker_down(exporter, 2, start, ordered=True)


def _fenced(exporter: Exporter, start: float) -> None:
    exporter.set("up", after(start, 0, 1), source="offsets", broker=2)
    exporter.set("broker_fenced_responding", after(start, 1, None), broker=2)
    fenced = after(start, lambda t: (t - start) // 10 + 1, None)
    exporter.set("source_errors_total", fenced, source="offsets", broker=2, reason="fenced")


def _flapping(exporter: Exporter, start: float) -> None:
    exporter.set("broker_out_of_sync_replicas", after(start, in_each(240, 120, 400)), broker=2, state="slow")
    exporter.set("topic_isr_shrinks_total", after(start, lambda t: 400 * ((t - start) // 240 + 1)), topic="orders")


def _log_dir(name: str, share: Function) -> Change:
    def change(exporter: Exporter, start: float) -> None:
        asked = lambda t: share(t // 60 * 60 - start)  # noqa: E731  log directories are asked every minute
        exporter.set(f"log_dir_{name}", asked, broker=2, log_dir="/data/a")

    return change


def _limit(exporter: Exporter, start: float) -> None:
    exporter.set("broker_partitions", after(start, 4500, 100), broker=2)
    exporter.set("broker_partition_limit", 5000, broker=2)


def _cluster_limit(exporter: Exporter, start: float) -> None:
    exporter.set("cluster_partitions", after(start, 180000, 100))
    exporter.set("cluster_partition_limit", 200000)


def _tiered(problem: str) -> Change:
    def change(exporter: Exporter, start: float) -> None:
        tiered(exporter)
        exporter.set("tiered_storage_problem_seconds", after(start, age(start)), broker=2, problem=problem)

    return change


def _copies_fail(exporter: Exporter, start: float) -> None:
    tiered(exporter, errors=after(start, lambda t: (t - start) // 10), copied=lambda t: 1e6 * min(t, start))


def _copies_stop(exporter: Exporter, start: float) -> None:
    tiered(exporter)
    overdue(exporter, after(start, lambda t: 2e9 + 1e6 * (t - start)), after(start, lambda t: t - start))


def _refused(exporter: Exporter, start: float) -> None:
    exporter.set("up", after(start, 0, 1), source="offsets", broker=2)
    count = after(start, lambda t: (t - start) // 10 + 1, None)
    exporter.set("source_errors_total", count, source="offsets", broker=2, reason="authorization")


def _certificate(exporter: Exporter, start: float) -> None:
    exporter.set("certificate_expiry_timestamp_seconds", lambda t: t + (9e7 if t < start else 1e5), certificate="web")
    exporter.set("certificate_lifetime_seconds", 9e7, certificate="web")


def _state_file(exporter: Exporter, start: float) -> None:
    exporter.set("state_last_save_successful", after(start, 0, 1))


def _no_beans(exporter: Exporter, start: float) -> None:
    exporter.set("up", after(start, 0, 1), source="jmx", broker=2)


def _dead_exporter(exporter: Exporter, start: float) -> None:
    exporter.outages = (*(each for each in exporter.outages if each[1] < start), (start, math.inf))


def _restarting(exporter: Exporter, start: float) -> None:
    exporter.outages = (*(each for each in exporter.outages if each[1] < start), *changes.every(180, first=start))


def _wrong_clock(exporter: Exporter, start: float) -> None:
    exporter.set("snapshot_timestamp_seconds", lambda t: t if t < start else t + 600)


FAULTS: Final = {
    "cluster": Fault("KafkaClusterUnreachable", changes.cluster_down, 15, samples=2),
    "controller": Fault("KafkaNoActiveController", _controller, 15, samples=2),
    "power": Fault("KafkaBrokerUnreachable", lambda exporter, start: changes.broker_down(exporter, 2, start), 60),
    "shutdown": Fault("KafkaBrokerUnreachable", _shut_down, 360),
    "fenced": Fault("KafkaBrokerUnreachable", _fenced, 120),
    "stale": Fault(
        "KafkaBrokerUnreachable",
        lambda exporter, start: exporter.set("broker_metadata_stale_seconds", after(start, age(start)), broker=2),
        30 + 60,
    ),
    "stuck replicas": Fault(
        "KafkaReplicasOutOfSync", _count("broker_out_of_sync_replicas", 50, broker=2, state="stuck"), 300
    ),
    "slow replicas": Fault(
        "KafkaReplicasOutOfSync", _count("broker_out_of_sync_replicas", 50, broker=2, state="slow"), 600
    ),
    "flapping": Fault("KafkaIsrFlapping", _flapping, 1800),
    "under min ISR": Fault("KafkaPartitionUnderMinIsr", _count("under_min_isr_partitions", 9), 90),
    "at min ISR": Fault("KafkaPartitionAtMinIsr", _count("at_min_isr_partitions", 9), 1800),
    "offline": Fault("KafkaPartitionOffline", _count("offline_partitions", 9), 90),
    "unclean": Fault("KafkaUncleanLeaderElection", _count("unclean_leader_elections_total", 3, node=1), 15),
    "stuck, blocked": Fault("KafkaReassignmentStuck", _stuck("throttle_blocked"), 150),
    "stuck, no progress": Fault("KafkaReassignmentStuck", _stuck("no_progress"), 300),
    "stuck, directory": Fault("KafkaReassignmentStuck", _stuck_in_log_dir, 300),
    "endless": Fault("KafkaReassignmentWillMissItsTime", _endless, 900),
    "blocked": Fault("KafkaThrottleTooLow", _throttle("blocked"), 315),
    "below inbound": Fault("KafkaThrottleTooLow", _throttle("below_inbound", "leader"), 615),
    "holds original": Fault("KafkaThrottleTooLow", _throttle("holds_original"), 315),
    "lopsided": Fault("KafkaThrottleInconsistent", _throttle("lopsided"), 615),
    "uneven": Fault("KafkaThrottleInconsistent", _throttle("uneven"), 915),
    "left behind": Fault("KafkaThrottleLeftBehind", _throttle("left_behind"), 915),
    "directory offline": Fault("KafkaLogDirOffline", _log_dir("online", lambda t: float(t < 0)), 60 + 120),
    "disk": Fault("KafkaLogDirFilling", _log_dir("usable_bytes", lambda t: 6e11 if t < 0 else 8e10), 60 + 15),
    "full disk": Fault(
        "KafkaLogDirFilling",
        _log_dir("usable_bytes", lambda t: 6e11 if t < 0 else 1e10),
        60 + 15,
        labels=(("severity", "critical"),),
    ),
    "limit": Fault("KafkaPartitionLimit", _limit, 1800),
    "limit of the cluster": Fault("KafkaPartitionLimit", _cluster_limit, 1800),
    "mutations": Fault(
        "KafkaControllerMutationThrottled",
        lambda exporter, start: mutations(exporter, after(start, -20, 50)),
        0.25 * 1800 + 30 + 60,
    ),
    "copy quota": Fault("KafkaRemoteCopyHeldBack", _tiered("copy_held_back"), 900),
    "fetch quota": Fault("KafkaRemoteFetchHeldBack", _tiered("fetch_held_back"), 900),
    "copies fail": Fault("KafkaRemoteCopyHeldBack", _copies_fail, 900, samples=3),
    "copies stop": Fault("KafkaRemoteCopyHeldBack", _copies_stop, 1800 + 900),
    "exporter": Fault("KafkaWardenDown", _dead_exporter, 660),
    "restarts": Fault("KafkaWardenRestarting", _restarting, 3 * 180 + 300),
    "clock": Fault("KafkaWardenBlind", _wrong_clock, 200 + 360, labels=(("data", "none"),)),
    "verdicts": Fault("KafkaWardenBlind", _count("dropped_verdicts", 9), 660, labels=(("data", "some"),)),
    "beans": Fault("KafkaWardenBlind", _no_beans, BRIDGED + 900, labels=(("data", "beans"),)),
    "access": Fault("KafkaWardenAccessRefused", _refused, 660),
    "state file": Fault("KafkaWardenHistoryLost", _state_file, BRIDGED + 600),
    "certificate": Fault("KafkaWardenCertificateExpiring", _certificate, 3600),
    "configuration": Fault(
        "KafkaWardenConfigurationNotUsed",
        lambda exporter, start: exporter.set("config_last_reload_successful", after(start, 0, 1)),
        900,
    ),
}


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
