"""The longest time from a fault to its alert, for each alert: a sum of intervals and thresholds.

A fault begins when Kafka knows of it: the controller fences a broker 9 s to 18 s after its last heartbeat. In this
order pass: the rest of a poll interval, and the poll; polls and seconds that the exporter needs to decide; a scrape, or
two that have to agree; an evaluation, and one more for each record of another group on the way, since groups are
evaluated at different moments; look-backs of the condition; and `for`, both up to the next evaluation.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kafka_warden.derive import stuck, throttle_problems
from kafka_warden.derive.law import DEFAULT_WINDOW, FLAT_SLOPE_SECONDS
from kafka_warden.rules.thresholds import DURATION, numbers, thresholds

DEADLINE: Final = 5.0
"""Seconds: `poll.deadline`, unless half the poll interval is less."""
SELDOM_ASKED: Final = 60.0
"""Seconds between two requests for log directories (`poll.log_dirs`) and for configurations of what is at rest."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds between two scrapes, two evaluations and two polls."""

    scrape: float = 15.0
    evaluation: float = 15.0
    poll: float = 10.0


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of fault that an alert reports.

    Attributes:
        alert: Its name.
        fault: When the time begins; empty for the fault that the alert is named after.
        wait: The threshold in its `for`.
        adds: Thresholds, or products of two, that pass before `for`, one after the other: ages that the exporter
            measures (in seconds) and look-backs (durations).
        rarely: The same, if polls are at least `seldom` apart.
        records: Records of other groups, one after the other.
        samples: Scrapes that have to agree.
        every: Seconds between two requests for the data, if these are more than a poll interval.
        polls: Further polls that the exporter needs to decide.
        least: Seconds that it needs at least.
        polled: Whether polls and scrapes are on the way; if not, the fault is that they end.
        severity: Of an alert with several ones, the one that reports this fault.
    """

    alert: str
    fault: str
    wait: str
    adds: tuple[str, ...] = ()
    rarely: tuple[str, ...] | None = None
    records: int = 0
    samples: int = 1
    every: float = 0.0
    polls: int = 0
    least: float = 0.0
    polled: bool = True
    severity: str = ""


_STALL: Final = stuck.WINDOWS * DEFAULT_WINDOW.seconds
_HELD: Final = throttle_problems.POLLS - 1
_MOVE, _COPY, _FETCH, _LOW = (
    "KafkaReassignmentStuck",
    "KafkaRemoteCopyHeldBack",
    "KafkaRemoteFetchHeldBack",
    "KafkaThrottleTooLow",
)

CASES: Final = (
    Case("KafkaBrokerUnreachable", "killed or hangs", "broker_for", (), ("broker_restart_seldom",), records=1),
    Case(
        "KafkaBrokerUnreachable",
        "shut down in order",
        "broker_for",
        ("broker_restart",),
        ("broker_restart_seldom",),
        records=1,
    ),
    Case("KafkaBrokerUnreachable", "fenced, and answers", "broker_for", ("fenced_wait",)),
    Case("KafkaBrokerUnreachable", "has old metadata", "broker_for", ("metadata_stale",)),
    Case("KafkaClusterUnreachable", "", "outage_for", samples=2),
    Case("KafkaNoActiveController", "", "outage_for", samples=2),
    Case(
        "KafkaControllerMutationThrottled",
        "refused without a pause",
        "throttled_for",
        ("throttled_over * throttled_share", "share_step"),
    ),
    Case("KafkaLogDirOffline", "", "log_dir_for", every=SELDOM_ASKED),
    Case("KafkaLogDirFilling", "above its share", "filling_for", every=SELDOM_ASKED, severity="warning"),
    Case("KafkaLogDirFilling", "above its higher share", "two_samples", every=SELDOM_ASKED, severity="critical"),
    Case(
        "KafkaLogDirFilling",
        "begins to fill up, full soon",
        "filling_for",
        ("disk_recent",),
        every=SELDOM_ASKED,
        severity="warning",
    ),
    Case("KafkaPartitionLimit", "", "limit_for"),
    Case(_MOVE, "cannot go on by itself", "stuck_for", polls=stuck.POLLS, least=_STALL),
    Case(_MOVE, "producers write more than before", "stuck_for", least=stuck.BURST),
    Case(_MOVE, "other causes", "stuck_for", ("stuck_wait",), records=1, polls=stuck.POLLS, least=_STALL),
    Case("KafkaReassignmentWillMissItsTime", "the ETA is too late", "miss_for"),
    Case("KafkaReplicasOutOfSync", "stuck", "out_of_sync_for", polls=2, least=DEFAULT_WINDOW.seconds, records=1),
    Case("KafkaReplicasOutOfSync", "", "out_of_sync_for", ("out_of_sync_restart",), records=1),
    Case("KafkaReplicasOutOfSync", "advance", "out_of_sync_for", ("out_of_sync_recovery",), records=1),
    Case("KafkaReplicasOutOfSync", "advance, broker had an alert", "out_of_sync_for", ("catch_up",), records=1),
    Case("KafkaIsrFlapping", "the last change that counts", "flapping_for"),
    Case("KafkaPartitionUnderMinIsr", "", "under_min_isr_for", samples=2),
    Case("KafkaPartitionUnderMinIsr", "again and again", "under_min_isr_for", ("flapping_over",)),
    Case("KafkaPartitionUnderMinIsr", "many more", "two_samples"),
    Case("KafkaPartitionAtMinIsr", "warning", "at_min_isr_for", records=1, severity="warning"),
    Case("KafkaPartitionAtMinIsr", "critical", "at_min_isr_long", records=1, severity="critical"),
    Case("KafkaPartitionOffline", "", "offline_for", (), ("broker_restart",), records=1, samples=2),
    Case(
        "KafkaPartitionOffline",
        "a broker is shut down in order",
        "offline_for",
        ("broker_restart",),
        records=1,
        samples=2,
    ),
    Case("KafkaPartitionOffline", "again and again", "offline_for", ("flapping_over",)),
    Case("KafkaPartitionOffline", "many more", "two_samples", (), ("broker_restart",)),
    Case("KafkaUncleanLeaderElection", "", "unclean_for"),
    Case(_LOW, "blocked", "throttle_for", ("throttle_blocked_age",), every=SELDOM_ASKED, polls=_HELD),
    Case(
        _LOW,
        "below the inbound rate",
        "throttle_for",
        ("throttle_below_age",),
        every=SELDOM_ASKED,
        polls=_HELD,
        least=FLAT_SLOPE_SECONDS,
    ),
    Case(_LOW, "holds replicas", "throttle_for", ("throttle_originals_age",), every=SELDOM_ASKED, polls=_HELD),
    Case("KafkaThrottleInconsistent", "one side", "throttle_for", ("throttle_lopsided_age",), every=SELDOM_ASKED),
    Case("KafkaThrottleInconsistent", "rates differ", "throttle_for", ("throttle_uneven_age",), every=SELDOM_ASKED),
    Case("KafkaThrottleLeftBehind", "after one move", "throttle_for", ("throttle_left_age",), every=SELDOM_ASKED),
    Case(
        "KafkaThrottleLeftBehind",
        "after moves without a pause",
        "throttle_for",
        ("throttle_batches * (1 - throttle_batches_share)", "share_step"),
        records=1,
    ),
    Case(_COPY, "quota", "held_back_for", polls=1),
    Case(_COPY, "errors", "held_back_for", ("errors_over",)),
    Case(_COPY, "nothing is copied", "held_back_for", ("copy_stalled",)),
    Case(_COPY, "falls behind fast", "held_back_for", ("copy_trend",)),
    Case(_COPY, "falls behind slowly", "held_back_for", ("copy_trend_long",)),
    Case(_FETCH, "quota", "held_back_for", polls=1),
    Case(_FETCH, "errors", "held_back_for", ("errors_over",)),
    Case("KafkaWardenDown", "does not answer", "sidecar_for", ("answered",), records=1, polled=False),
    Case("KafkaWardenDown", "has old data", "sidecar_for", ("page_age",), records=1, polls=3),
    Case("KafkaWardenRestarting", "the last restart that counts", "restarts_for"),
    Case("KafkaWardenClusterLabelAmbiguous", "", "ambiguous_for"),
    Case(
        "KafkaWardenBlind",
        "no exporter answers",
        "blind_for",
        ("answered",),
        records=1,
        polled=False,
        severity="critical",
    ),
    Case("KafkaWardenBlind", "all have old data", "blind_for", ("page_age",), records=1, polls=3, severity="critical"),
    Case("KafkaWardenBlind", "lag of replicas unknown", "sidecar_for", ("lag_unknown",), records=1, severity="warning"),
    Case("KafkaWardenBlind", "a request is not answered", "sidecar_for", ("bridge",), records=1, severity="warning"),
    Case("KafkaWardenBlind", "other data are missing", "sidecar_for", records=1, severity="warning"),
    Case("KafkaWardenBlind", "beans are missing", "jmx_for", ("bridge",), records=1, severity="info"),
    Case("KafkaWardenAccessRefused", "", "refused_for", records=1, every=SELDOM_ASKED),
    Case("KafkaWardenHistoryLost", "a write fails", "sink_for", ("bridge",)),
    Case("KafkaWardenHistoryLost", "nothing is written", "sink_for", ("written_within",)),
    Case("KafkaWardenHistoryLost", "rows are lost", "sink_for"),
    Case("KafkaWardenCertificateExpiring", "", "certificate_for"),
    Case("KafkaWardenConfigurationNotUsed", "", "configuration_for"),
)


def delays(changed: Mapping[str, str], intervals: Intervals) -> dict[Case, float]:
    """Return the longest time of each case in seconds. `changed`: thresholds with other values, as in the file."""
    known = numbers(changed)
    ages = {name for name, threshold in thresholds().items() if threshold.unit != DURATION}
    return {case: _seconds(case, known, ages, intervals) for case in CASES}


def _seconds(case: Case, known: Mapping[str, float], ages: set[str], intervals: Intervals) -> float:
    adds = case.adds if case.rarely is None or intervals.poll < known["seldom"] else case.rarely
    age = sum(_value(each, known) for each in adds if each in ages)
    total = 0.0
    if case.polled:
        decides = max(case.polls * intervals.poll, case.least + age)
        total += max(intervals.poll, case.every) + _rounded(decides, intervals.poll)
        total += min(DEADLINE, intervals.poll / 2) + case.samples * intervals.scrape
    total += (1 + case.records) * intervals.evaluation
    waits = [*(_value(each, known) for each in adds if each not in ages), known[case.wait]]
    return total + sum(_rounded(each, intervals.evaluation) for each in waits)


def _value(product: str, known: Mapping[str, float]) -> float:
    """The value of a threshold, or of a product, whose second factor may be what a share leaves of 1."""
    first, _, second = product.partition(" * ")
    rest = second.removeprefix("(1 - ").removesuffix(")")
    share = 1.0 if not second else known[second] if rest == second else 1 - known[rest]
    return known[first] * share


def _rounded(seconds: float, interval: float) -> float:
    """Up to whole intervals."""
    return math.ceil(round(seconds / interval, 6)) * interval
