"""The tables on the screen, with the columns of each, in their order."""

from collections.abc import Mapping
from typing import Any, Final

from kafka_warden.top.columns import (
    BYTES,
    COUNT,
    FEW,
    ID,
    INSTANT,
    MILLISECONDS,
    NAME,
    RATE,
    SHARE,
    TEXT,
    TIME,
    WORDS,
    Column,
    Grid,
)
from kafka_warden.views import curves
from kafka_warden.views.curves import Curve
from kafka_warden.views.notes import source_state
from kafka_warden.views.rows import History
from kafka_warden.web.api.tables import MOST_SIDES


def _partition(row: Any) -> str:
    return f"{row.topic}-{row.partition}"


def _side(history: History, row: Any) -> Curve | None:
    of = {(each.broker, each.side): each for each in history.sides}
    return curves.of_side(history, of[row.broker, row.side]) if (row.broker, row.side) in of else None


def _move_state(row: Any) -> str:
    return "stuck" if row.cause else "never ends" if row.never_ends else "copying" if row.adding else "waiting"


_PARTITION: Final = Column("Partition", "topic", NAME, of=_partition)
_MOVED: Final = ("topic", "partition", "broker")

GRIDS: Final = (
    Grid(
        "problems",
        "Needs a look",
        "Nothing needs a look.",
        (
            Column("Severity", "severity", WORDS),
            Column("For", "seconds", TIME, 2),
            Column("What", "sentence", TEXT),
        ),
        ("kind", "sentence"),
    ),
    Grid(
        "moves",
        "Moves",
        "No reassignment is in progress, or none is known.",
        (
            _PARTITION,
            Column("From", "leader", ID, 5),
            Column("To", "broker", ID, 3),
            Column("Done", "progress", SHARE, 2),
            Column("Left", "remaining_bytes", BYTES, 4),
            Column("Rate", "bytes_per_second", RATE, 6),
            Column("ETA", "eta", TIME, 1),
            Column("State", "cause", WORDS, of=_move_state),
            Column("Stalled", "stalled", TIME, 7),
            Column("Why", "sentence", TEXT, 8),
        ),
        _MOVED,
        sides=0,
        curve=lambda history, _: curves.of_remaining(history),
    ),
    Grid(
        "log-dir-moves",
        "Between log directories",
        "No replica moves to another log directory.",
        (
            _PARTITION,
            Column("Broker", "broker", ID),
            Column("Left", "remaining_bytes", BYTES, 1),
            Column("ETA", "eta", TIME),
        ),
        _MOVED,
    ),
    Grid(
        "throttles",
        "Throttles",
        "No throttle is set, or the limits are not known.",
        (
            Column("Broker", "broker", ID),
            Column("Side", "side", WORDS),
            Column("Limit", "limit", RATE),
            Column("Use", "use", SHARE, 2),
            Column("Copies", "catch_up", RATE, 1),
            Column("In-sync floor", "floor", RATE, 4),
            Column("Headroom", "headroom", RATE, 3),
            Column("Listed", "throttled_replicas", COUNT, 5),
            Column("Origin", "origin", WORDS, 6),
        ),
        ("broker", "side"),
        shows=lambda row: row.in_use,
        sides=MOST_SIDES,
        curve=_side,
    ),
    Grid(
        "throttle-problems",
        "Throttle problems",
        "No throttle has a problem.",
        (
            Column("Broker", "broker", ID),
            Column("Side", "side", WORDS, 1),
            Column("Problem", "problem", WORDS),
            Column("For", "seconds", TIME, 2),
            Column("Means", "sentence", TEXT, 3),
        ),
        ("broker", "side", "problem"),
    ),
    Grid(
        "replicas",
        "Out of sync",
        "Every follower is in sync, or is being moved.",
        (
            _PARTITION,
            Column("Leader", "leader", ID, 4),
            Column("Broker", "broker", ID, 2),
            Column("State", "state", WORDS),
            Column("Out of sync", "out_of_sync_seconds", TIME),
            Column("Behind", "behind_seconds", TIME, 1),
            Column("Messages", "lag_messages", COUNT, 5),
            Column("Bytes", "lag_bytes", BYTES, 3),
        ),
        _MOVED,
        sides=0,
        curve=lambda history, _: curves.of_out_of_sync(history),
    ),
    Grid(
        "topics",
        "Topics at risk",
        "No topic has a partition that is offline or under min ISR.",
        (
            Column("Topic", "topic", NAME),
            Column("Offline", "offline_partitions", COUNT),
            Column("Under min ISR", "under_min_isr_partitions", COUNT, 1),
        ),
        ("topic",),
    ),
    Grid(
        "leader-candidates",
        "Leader candidates",
        "No partition is without a leader, or no replica of one may lead it.",
        (_PARTITION, Column("Broker", "broker", ID), Column("Member of", "member_of", WORDS)),
        (*_MOVED, "member_of"),
    ),
    Grid(
        "brokers",
        "Brokers",
        "No broker is known.",
        (
            Column("Broker", "broker", ID),
            Column("State", "state", WORDS),
            Column("Host", "host", NAME, 5),
            Column("Leads", "leaders", COUNT, 4),
            Column("Hosts", "replicas", COUNT, 3),
            Column("Headroom", "partition_headroom", COUNT, 6),
            Column("Under-replicated", "under_replicated_partitions", COUNT, 1),
            Column("Lag", "lag_bytes", BYTES, 2),
        ),
        ("broker",),
    ),
    Grid(
        "log-dirs",
        "Log directories",
        "No log directory is known.",
        (
            Column("Broker", "broker", ID),
            Column("Directory", "log_dir", NAME),
            Column("State", "online", WORDS, of=lambda row: row.state),
            Column("Free", "usable_bytes", BYTES),
            Column("Volume", "total_bytes", BYTES, 2),
            Column("Logs", "bytes", BYTES, 1),
        ),
        ("broker", "log_dir"),
    ),
    Grid(
        "clients",
        "Clients",
        "No client has a bucket of controller mutations, or JMX is off.",
        (
            Column("User", "user", NAME, of=lambda row: row.user or "any"),
            Column("Client id", "client_id", NAME, of=lambda row: row.client_id or "any"),
            Column("Tokens", "tokens", FEW),
            Column("Burst", "burst", FEW, 3),
            Column("Quota/s", "quota", FEW, 2),
            Column("Mutations/s", "mutations_per_second", FEW, 4),
            Column("Admitted in", "admission_delay", TIME, 1),
        ),
        ("user", "client_id"),
    ),
    Grid(
        "tiered-topics",
        "Tiered topics",
        "No topic is known to have remote storage.",
        (
            Column("Topic", "topic", NAME),
            Column("Overdue", "overdue_bytes", BYTES),
            Column("Nothing copied for", "stalled_seconds", TIME),
            Column("Allowed lag", "allowed_lag_bytes", BYTES, 1),
            Column("Allowed age", "allowed_lag_seconds", TIME, 1),
        ),
        ("topic",),
    ),
    Grid(
        "tiered-brokers",
        "Tiered brokers",
        "No broker reports remote storage.",
        (
            Column("Broker", "broker", ID),
            Column("Copies", "copy_rate", RATE),
            Column("Copy quota", "copy_quota", RATE, 1),
            Column("Reads", "fetch_rate", RATE, 2),
            Column("Read quota", "fetch_quota", RATE, 3),
            Column("Copy lag", "copy_lag_bytes", BYTES, 4),
            Column("Copy errors", "copy_errors", COUNT, 5),
            Column("Read errors", "fetch_errors", COUNT, 6),
        ),
        ("broker",),
    ),
    Grid(
        "tiered-problems",
        "Tiered problems",
        "No quota of tiered storage has a problem.",
        (
            Column("Broker", "broker", ID),
            Column("Problem", "problem", WORDS),
            Column("For", "seconds", TIME, 1),
            Column("Means", "sentence", TEXT, 2),
        ),
        ("broker", "problem"),
    ),
    Grid(
        "sources",
        "Requests of the sidecar",
        "No request was sent yet.",
        (
            Column("Request", "source", WORDS),
            Column("Broker", "broker", ID, of=lambda row: row.broker or "any"),
            Column("State", "up", WORDS, of=lambda row: source_state(row.up, row.not_available)),
            Column("Took", "duration", MILLISECONDS, 3),
            Column("Last answered", "last_success", INSTANT, 2),
            Column(
                "Failures",
                "errors",
                TEXT,
                1,
                lambda row: ", ".join(f"{count} {reason}" for reason, count in row.errors.items()) or "none",
            ),
        ),
        ("source", "broker"),
    ),
)
BY_NAME: Final[Mapping[str, Grid]] = {grid.name: grid for grid in GRIDS}
