"""The tables: columns, how values are written, marks, order and filter. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from kafka_warden.errors import ConfigError
from kafka_warden.planning.formatting import in_bytes, in_percent, in_rate, in_time, visible
from kafka_warden.settings.strict import did_you_mean
from kafka_warden.views.fields import fields_of
from kafka_warden.views.rows import Table
from kafka_warden.web.api.tables import TABLES
from kafka_warden.web.query import CONTAINED

UNKNOWN: Final = "-"
CRITICAL: Final = "■"
WARNING: Final = "▲"
_LAST: Final = 253402300800.0
"""Unix s of the year 10000, which Python's dates do not reach."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of a column are written. Without a width a column takes what its texts and the screen allow."""

    write: Callable[[Any], str]
    width: int | None = None
    right: bool = True
    tail: int = 0
    """Cells at the end of a text that stay when it is cut: those of a partition's number."""


def _counted(write: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: "unlimited" if math.isinf(value) else write(value)


def instant(seconds: float) -> str:
    """Write a Unix time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC" if 0 <= seconds < _LAST else UNKNOWN


def words(label: Any) -> str:
    """Write a label value, such as `log_dir_full`, as words."""
    return visible(str(label)).replace("_", " ")


TEXT: Final = Kind(lambda value: visible(str(value)), right=False)
NAME: Final = Kind(TEXT.write, right=False, tail=6)
WORDS: Final = Kind(words, right=False)
ID: Final = Kind(lambda value: visible(str(value)))
BYTES: Final = Kind(_counted(in_bytes), 9)
RATE: Final = Kind(in_rate, 10)
TIME: Final = Kind(in_time, 11)
SHARE: Final = Kind(in_percent, 6)
COUNT: Final = Kind(_counted(lambda value: f"{value:,.0f}"), 9)
FEW: Final = Kind(_counted(lambda value: f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"), 9)  # noqa: PLR2004  # 3 digits
MILLISECONDS: Final = Kind(lambda value: f"{value * 1000:,.0f} ms", 9)
INSTANT: Final = Kind(instant, 23)


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Of columns that do not fit into a line, that with the highest rank is left out first, 0 never."""

    title: str
    field: str
    kind: Kind
    rank: int = 0
    of: Callable[[Any], Any] | None = None
    """Returns the value, where it is not that of the field."""

    def value(self, row: Any) -> Any:
        """Return the value that rows are ordered by; `None` is unknown."""
        return getattr(row, self.field) if self.of is None else self.of(row)

    def text(self, row: Any) -> str:
        """Return the text of the cell."""
        value = self.value(row)
        return UNKNOWN if value is None else self.kind.write(value)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table on the screen: that of `/api/v1` with the same name."""

    name: str
    title: str
    empty: str
    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    """The fields that identify a row."""
    mark: Callable[[Any], str] = lambda _: ""
    shows: Callable[[Any], bool] = lambda _: True
    """Whether people want to see the row."""

    @property
    def of_sidecar(self) -> bool:
        """Whether it has rows without fresh data, too."""
        return RESOURCES[self.name].of_sidecar

    def key(self, row: Any) -> tuple[Any, ...]:
        """Return what identifies a row over several polls."""
        return tuple(getattr(row, name) for name in self.keys)

    def column(self, field: str) -> Column:
        """Return the column of a field.

        Raises:
            ConfigError: there is none.
        """
        known = {column.field: column for column in self.columns}
        if field not in known:
            names = ", ".join(known)
            raise ConfigError(
                f"--sort: {self.name} has no column {field!r}{did_you_mean(field, known)}; it has {names}"
            )
        return known[field]


def _partition(row: Any) -> str:
    return f"{row.topic}-{row.partition}"


def _move_state(row: Any) -> str:
    return "stuck" if row.cause else "never ends" if row.never_ends else "copying"


def _warning(_: Any) -> str:
    return WARNING


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
        lambda row: CRITICAL if row.severity == "critical" else WARNING,
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
        lambda row: CRITICAL if row.cause else WARNING if row.never_ends else "",
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
        "No throttle is set.",
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
        _warning,
    ),
    Grid(
        "replicas",
        "Out of sync",
        "Every follower is in sync.",
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
        lambda row: CRITICAL if row.state in {"stuck", "offline"} else WARNING,
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
        lambda _: CRITICAL,
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
            Column("Hosts", "partitions", COUNT, 3),
            Column("Headroom", "partition_headroom", COUNT, 6),
            Column("Under-replicated", "under_replicated_partitions", COUNT, 1),
            Column("Lag", "lag_bytes", BYTES, 2),
        ),
        ("broker",),
        lambda row: "" if row.state == "active" else CRITICAL,
    ),
    Grid(
        "log-dirs",
        "Log directories",
        "No log directory is known.",
        (
            Column("Broker", "broker", ID),
            Column("Directory", "log_dir", NAME),
            Column("State", "online", WORDS, of=lambda row: "online" if row.online else "offline"),
            Column("Free", "usable_bytes", BYTES),
            Column("Volume", "total_bytes", BYTES, 2),
            Column("Logs", "bytes", BYTES, 1),
        ),
        ("broker", "log_dir"),
        lambda row: CRITICAL if row.online == 0 else "",
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
        lambda row: WARNING if row.tokens is not None and row.tokens < 0 else "",
    ),
    Grid(
        "tiered-topics",
        "Tiered topics",
        "No topic has remote storage.",
        (
            Column("Topic", "topic", NAME),
            Column("Overdue", "overdue_bytes", BYTES),
            Column("Nothing copied for", "stalled_seconds", TIME),
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
        _warning,
    ),
    Grid(
        "sources",
        "Requests of the sidecar",
        "No request was sent yet.",
        (
            Column("Request", "source", WORDS),
            Column("Broker", "broker", ID, of=lambda row: row.broker or "any"),
            Column("State", "up", WORDS, of=lambda row: "answered" if row.up else "not answered"),
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
        lambda row: WARNING if row.up == 0 else "",
    ),
)
BY_NAME: Final[Mapping[str, Grid]] = {grid.name: grid for grid in GRIDS}
RESOURCES: Final = {resource.name: resource for resource in TABLES}


@dataclass(frozen=True, slots=True)
class Order:
    """The order of rows: by a column, or as served, the worst first. The unknown is always last."""

    column: Column | None = None
    reverse: bool = False
    """Numbers smallest first, texts from Z to A."""

    def of(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the rows in this order."""
        if self.column is None:
            return rows[::-1] if self.reverse else rows
        known = [(self.column.value(row), row) for row in rows]
        found = [pair for pair in known if pair[0] is not None]
        largest_first = bool(found) and not isinstance(found[0][0], str)
        found.sort(key=lambda pair: pair[0], reverse=largest_first != self.reverse)
        return [row for _, row in found] + [row for value, row in known if value is None]


SERVED: Final = Order()


def chosen(grid: Grid, table: Table[Any], text: str, order: Order, *, whole: bool = False) -> tuple[Sequence[Any], int]:
    """Return the rows that match all words of a filter, in an order, and how many there are.

    `field=value` is the value of a field, or a part of a topic, a user or a client id; another word is a part of any
    text of the row. Case does not count. `whole`: also rows that people do not want to see.
    """
    terms = [term.partition("=") for term in text.lower().split()]
    rows = [
        row for row in table.rows if (whole or grid.shows(row)) and all(_matches(grid, row, *term) for term in terms)
    ]
    left_out = len(rows) < len(table.rows)
    return order.of(rows), len(rows) if left_out else table.total


def _matches(grid: Grid, row: Any, name: str, separator: str, value: str) -> bool:
    if separator and name in fields_of(RESOURCES[grid.name].row):
        found = str(getattr(row, name)).lower()
        return value in found if name in CONTAINED else value == found
    word = name + separator + value
    return any(word in str(column.value(row)).lower() for column in grid.columns if not column.kind.width)
