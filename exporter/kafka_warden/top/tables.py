"""The tables on the screen, with the columns of each, in their order."""

from collections.abc import Mapping
from typing import Any, Final

from kafka_warden.top.columns import Grid
from kafka_warden.views import curves
from kafka_warden.views.curves import Curve
from kafka_warden.views.notes import source_state
from kafka_warden.views.rows import History
from kafka_warden.web.api.tables import MOST_SIDES

_PARTITION: Final = {"topic": lambda row: f"{row.topic}-{row.partition}"}


def _side(history: History, row: Any) -> Curve | None:
    of = {(each.broker, each.side): each for each in history.sides}
    return curves.of_side(history, of[row.broker, row.side]) if (row.broker, row.side) in of else None


def _move_state(row: Any) -> str:
    return "stuck" if row.cause else "never ends" if row.never_ends else "copying" if row.adding else "waiting"


def _failures(row: Any) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in row.errors.items()) or "none"


GRIDS: Final = (
    Grid("problems", "Needs a look", "Nothing needs a look.", "Severity severity, For seconds, What sentence"),
    Grid(
        "moves",
        "Moves",
        "No reassignment is in progress, or none is known.",
        "Partition topic, State cause, ETA eta, To broker, Done progress, Left remaining_bytes, Rate bytes_per_second, "
        "From leader, Stalled stalled, Why sentence",
        {**_PARTITION, "cause": _move_state},
        sides=0,
        curve=lambda history, _: curves.of_remaining(history),
    ),
    Grid(
        "log-dir-moves",
        "Between log directories",
        "No replica moves to another log directory.",
        "Partition topic, Broker broker, ETA eta, Left remaining_bytes",
        _PARTITION,
    ),
    Grid(
        "throttles",
        "Throttles",
        "No throttle is set, or the limits are not known.",
        "Broker broker, Side side, Limit limit, Copies catch_up, Use use, Headroom headroom, In-sync floor floor, "
        "Listed throttled_replicas, Origin origin",
        sides=MOST_SIDES,
        curve=_side,
    ),
    Grid(
        "throttle-problems",
        "Throttle problems",
        "No throttle has a problem.",
        "Broker broker, Side side, Problem problem, For seconds, Means sentence",
    ),
    Grid(
        "replicas",
        "Out of sync",
        "Every follower is in sync, or is being moved.",
        "Partition topic, State state, Out of sync out_of_sync_seconds, Broker broker, Behind behind_seconds, "
        "Bytes lag_bytes, Leader leader, Messages lag_messages",
        _PARTITION,
        sides=0,
        curve=lambda history, _: curves.of_out_of_sync(history),
    ),
    Grid(
        "topics",
        "Topics at risk",
        "No topic has a partition that is offline or under min ISR.",
        "Topic topic, Offline offline_partitions, Under min ISR under_min_isr_partitions",
    ),
    Grid(
        "leader-candidates",
        "Leader candidates",
        "No partition is without a leader, or no replica of one may lead it.",
        "Partition topic, Broker broker, Member of member_of",
        _PARTITION,
    ),
    Grid(
        "brokers",
        "Brokers",
        "No broker is known.",
        "Broker broker, State state, Under-replicated under_replicated_partitions, Lag lag_bytes, Hosts replicas, "
        "Leads leaders, Headroom partition_headroom, Host host",
    ),
    Grid(
        "log-dirs",
        "Log directories",
        "No log directory is known.",
        "Broker broker, Directory log_dir, State online, Free usable_bytes, Logs bytes, Volume total_bytes",
        {"online": lambda row: row.state},
    ),
    Grid(
        "clients",
        "Clients",
        "No client has a bucket of controller mutations, or JMX is off.",
        "User user, Client id client_id, Tokens tokens, Admitted in admission_delay, Quota/s quota, Burst burst, "
        "Mutations/s mutations_per_second",
    ),
    Grid(
        "tiered-topics",
        "Tiered topics",
        "No topic is known to have remote storage.",
        "Topic topic, Overdue overdue_bytes, Nothing copied for stalled_seconds, Allowed lag allowed_lag_bytes, "
        "Allowed age allowed_lag_seconds",
    ),
    Grid(
        "tiered-brokers",
        "Tiered brokers",
        "No broker reports remote storage.",
        "Broker broker, Copies copy_rate, Copy quota copy_quota, Reads fetch_rate, Read quota fetch_quota, "
        "Copy lag copy_lag_bytes, Copy errors copy_errors, Read errors fetch_errors",
    ),
    Grid(
        "tiered-problems",
        "Tiered problems",
        "No quota of tiered storage has a problem.",
        "Broker broker, Problem problem, For seconds, Means sentence",
    ),
    Grid(
        "sources",
        "Requests of the sidecar",
        "No request was sent yet.",
        "Request source, Broker broker, State up, Failures errors, Last answered last_success, Took duration",
        {"up": lambda row: source_state(row.up, row.not_available), "errors": _failures},
    ),
)
BY_NAME: Final[Mapping[str, Grid]] = {grid.name: grid for grid in GRIDS}
