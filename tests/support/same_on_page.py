"""What every number of the status page must be: numbers of rows of `/api/v1`, by table and column, tile and line."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafka_warden.formatting import in_bytes, in_rate
from kafka_warden.views.alerts import SEVERITIES
from kafka_warden.web.status.render import ROWS
from tests.support.answers import Answers, number
from tests.support.page_numbers import Place, tokens
from tests.support.same_numbers import Row, same


def differences(answers: Answers) -> tuple[list[str], Counter[str]]:
    """Return what differs between page and API, and how many numbers of each kind of place were compared."""
    wrong, compared = list(_missing(answers)), Counter[str]()
    for part, page in answers.pages.items():
        wrong += page.wrong
        for place, shown in page.found.items():
            compared[place[0]] += len(shown)
            wanted = expected(answers, place, part)
            if not same(shown, wanted):
                wrong.append(f"page {part} {place}: {shown}, in the API {wanted}")
    return wrong, compared


def _index(answers: Answers, path: str, keys: tuple[str, ...]) -> dict[str, Row]:
    return {"/".join(str(row[key]) for key in keys): row for row in answers.api[path]}


Shown = Callable[[Row, Answers], list[float | None]]


def _bar(name: str) -> Shown:
    return lambda row, _: [None if row[name] is None else min(number(row[name]) or 0.0, 1.0), number(row[name])]


def _text(name: str) -> Shown:
    return lambda row, _: list(tokens(row[name]))


def _state(row: Row, _: Answers) -> list[float | None]:
    return [number(row["stalled"]) if row["cause"] else None, *tokens(row["sentence"])]


def _limit_used(row: Row, _: Answers) -> list[float | None]:
    used, limit = number(row["partitions"]), number(row["partition_limit"])
    if limit is None or math.isinf(limit):
        return []
    return [min((used or 0.0) / limit, 1.0), used, limit]


def _volume(row: Row, _: Answers) -> list[float | None]:
    total, usable = number(row["total_bytes"]), number(row["usable_bytes"])
    return [1 - usable / total, 1 - usable / total, total] if total and usable is not None else []


def _tokens_left(row: Row, _: Answers) -> list[float | None]:
    left, burst = number(row["tokens"]), number(row["burst"])
    if not burst or math.isinf(burst):
        return [left]
    return [None if left is None else min(max(left / burst, 0.0), 1.0), left, burst]


def _side_plot(row: Row, answers: Answers) -> list[float | None]:
    if all((row["broker"], row["side"]) != (side["broker"], side["side"]) for side in answers.api["/history"]["sides"]):
        return []
    rate = answers.plot("catch_up", row["broker"], row["side"])
    limit = answers.plot("limit", row["broker"], row["side"])
    return [
        *(tokens(in_rate(rate)) if rate is not None else []),
        *(tokens(in_rate(limit)) if limit is not None else []),
    ]


MOVED: Final = ("topic", "partition", "broker")
COLUMNS: Final[Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str | Shown | tuple[str, ...]]]]] = {
    "Replicas that reassignments add or wait for": (
        "/moves",
        MOVED,
        {
            "Partition": "partition",
            "From → to": ("leader", "broker"),
            "Progress": _bar("progress"),
            "Left": "remaining_bytes",
            "Rate": "bytes_per_second",
            "ETA": "eta",
            "State": _state,
        },
    ),
    "Moves between log directories": (
        "/log-dir-moves",
        MOVED,
        {"Partition": "partition", "Broker": "broker", "Left": "remaining_bytes", "ETA": "eta"},
    ),
    "Problems of throttles": (
        "/throttle-problems",
        ("broker", "side", "problem"),
        {"Broker": "broker", "For": "seconds", "Means": _text("sentence")},
    ),
    "Limits of brokers": (
        "/throttles",
        ("broker", "side"),
        {
            "Broker": "broker",
            "Limit": "limit",
            "Use": _bar("use"),
            "Copies": "catch_up",
            "In-sync floor": "floor",
            "Headroom": "headroom",
            "Last hour": _side_plot,
        },
    ),
    "Topics with partitions that are offline or under min ISR": (
        "/topics",
        ("topic",),
        {"Offline partitions": "offline_partitions", "Under min ISR": "under_min_isr_partitions"},
    ),
    "Replicas that may lead partitions without a leader, once their broker runs": (
        "/leader-candidates",
        (*MOVED, "member_of"),
        {"Partition": "partition", "Broker": "broker"},
    ),
    "Followers out of sync or with a problem": (
        "/replicas",
        MOVED,
        {
            "Partition": "partition",
            "Leader": "leader",
            "Broker": "broker",
            "Out of sync": "out_of_sync_seconds",
            "Behind": "behind_seconds",
            "Messages": "lag_messages",
            "Bytes": "lag_bytes",
        },
    ),
    "Brokers": (
        "/brokers",
        ("broker",),
        {
            "Broker": "broker",
            "Leads": "leaders",
            "Hosts": "replicas",
            "Partition limit used": _limit_used,
            "Under-replicated": "under_replicated_partitions",
            "Lag": "lag_bytes",
        },
    ),
    "Log directories": (
        "/log-dirs",
        ("broker", "log_dir"),
        {"Broker": "broker", "Volume used": _volume, "Free": "usable_bytes", "Logs": "bytes"},
    ),
    "Clients with a controller mutation quota": (
        "/clients",
        ("user", "client_id"),
        {
            "Tokens left": _tokens_left,
            "Quota": "quota",
            "Mutations": "mutations_per_second",
            "Next admitted in": "admission_delay",
        },
    ),
    "Problems of tiered storage": (
        "/tiered-problems",
        ("broker", "problem"),
        {"Broker": "broker", "For": "seconds", "Means": _text("sentence")},
    ),
    "Topics with remote storage": (
        "/tiered-topics",
        ("topic",),
        {
            "Overdue": "overdue_bytes",
            "Nothing copied for": "stalled_seconds",
            "Allowed lag": "allowed_lag_bytes",
            "Allowed age": "allowed_lag_seconds",
        },
    ),
    "Remote copies and reads": (
        "/tiered-brokers",
        ("broker",),
        {
            "Broker": "broker",
            "Copies": "copy_rate",
            "Copy quota": "copy_quota",
            "Reads": "fetch_rate",
            "Read quota": "fetch_quota",
            "Copy lag": "copy_lag_bytes",
            "Copy errors": "copy_errors",
            "Read errors": "fetch_errors",
        },
    ),
    "Requests of the sidecar": (
        "/sources",
        ("source", "broker"),
        {
            "Broker": _text("broker"),
            "Took": "duration",
            "Last answered": lambda row, _: [None if row["last_success"] is None else math.floor(row["last_success"])],
            "Failures since the start": lambda row, _: list(map(float, row["errors"].values())),
        },
    ),
}
"""Name of each table: its path in the API, the fields that name a row, and what each column shows, in order."""


def _tiles(answers: Answers) -> Mapping[str, list[Any]]:
    """Return what each tile shows: fields of the cluster, and what is made of them."""
    one = answers.api["/cluster"]
    brokers, out = one["brokers"], one["out_of_sync"]
    active, left = brokers.get("active", 0), answers.plot("remaining_bytes")
    return {
        "Brokers": [active, sum(brokers.values()), *(count for state, count in brokers.items() if state != "active")],
        "Controller": tokens(one["controller"]),
        "Partitions": [one["partitions"], one["replicas"], one["topics"]],
        "Offline": [one["offline_partitions"]],
        "Under min ISR": [one["under_min_isr_partitions"], one["at_min_isr_partitions"]],
        "Under-replicated": [one["under_replicated_partitions"]],
        "Out of sync": [sum(out.values()), sum(out.values()), *out.values()],
        "Partition headroom": [one["partition_headroom"], one["partition_limit"]],
        "Partitions moving": [one["reassigning_partitions"], one["move_ratio"]],
        "Left to copy": [one["remaining_bytes"], len(answers.api["/moves"])],
        "All done in": [one["eta"], *tokens(one["bottleneck_broker"])],
        "Recommended throttle": [one["recommended_throttle"], one["deadline"]],
        "Left to copy, last hour": tokens(in_bytes(left)) if left is not None else [],
    }


def _lines(answers: Answers, place: Place, part: tuple[str, int]) -> list[Any] | None:
    """Return what a line shows; `None` for one that is not known."""
    api, (what, row) = answers.api, place
    severities = Counter(each["severity"] for each in api["/problems"])
    sidecar, cluster = api["/sidecar"], api["/cluster"]
    jmx = [100] if sidecar["jmx"] and _shown_throttles(answers) else []
    tables = ("moves", "throttle-problems", "replicas", "brokers", "clients", "tiered-problems")
    totals = [len(api[f"/{name}"]) for name in tables]
    lines: dict[str, Callable[[], list[Any]]] = {
        "title": lambda: [*filter(None, [severities["critical"]]), *tokens(cluster["cluster_id"])],
        "verdict": lambda: [severities[each] for each in SEVERITIES if severities[each]],
        "brand": lambda: tokens(cluster["kafka_version"]),
        "freshness": lambda: [math.floor(sidecar["snapshot_time"]), sidecar["poll_interval"]],
        "contents": lambda: [totals[0] + len(api["/log-dir-moves"]), *totals[1:]],
        "problem, sentence": lambda: tokens(api["/problems"][int(row)]["sentence"]),
        "problem, since": lambda: [api["/problems"][int(row)]["seconds"]],
        "beside": lambda: tokens(f"{answers.plot('out_of_sync'):.0f}"),
        # The sentence on the use of a limit has "above 100%".
        "note": lambda: [*jmx, *sidecar["dropped_series"].values()],
        "pager": lambda: _pager(answers, row.removeprefix("Pages of ").replace(" ", "_"), part),
    }
    return lines[what]() if what in lines else None


def _pager(answers: Answers, name: str, part: tuple[str, int]) -> list[int]:
    total = len(_shown_throttles(answers) if name == "throttles" else answers.api[f"/{name.replace('_', '-')}"])
    first = 1 + ROWS * (part[1] - 1 if part[0] == name else 0)
    return [first, min(first + ROWS - 1, total), total]


FIXED: Final = {
    "empty": "a fixed text that names a KIP",
    "footer": "the version of the program, which the web server was started with",
}
"""Places of the page whose numbers are in no row."""


def expected(answers: Answers, place: Place, part: tuple[str, int]) -> list[float] | str:
    """Return the numbers that a place must show, or why that is not known."""
    table, _, column = place[0].rpartition(": ")
    if place[0] in FIXED:
        return answers.pages[part].found[place]
    if place[0] == "tile":
        wanted: list[Any] | None = _tiles(answers).get(place[1])
    elif table in COLUMNS:
        path, keys, columns = COLUMNS[table]
        row, show = _index(answers, path, keys).get(place[1]), columns.get(column, ())
        if row is None:
            return "no such row"
        if callable(show):
            wanted = show(row, answers)
        else:
            wanted = [row[each] for each in ((show,) if isinstance(show, str) else show)]
    else:
        wanted = _lines(answers, place, part)
    return "no such place" if wanted is None else [value for value in map(number, wanted) if value is not None]


def _shown_throttles(answers: Answers) -> list[Row]:
    """Return the throttles that the page shows: those that limit, copy or list something."""
    return [
        row
        for row in answers.api["/throttles"]
        if row["limit"] not in (None, "+Inf") or row["catch_up"] or row["throttled_replicas"]
    ]


def _missing(answers: Answers) -> Iterator[str]:
    """Yield rows of the API that no part of the page has, and numbers that are shown nowhere."""
    for table, (path, keys, _) in COLUMNS.items():
        shown = {row for page in answers.pages.values() for row in page.rows[table]}
        rows = _shown_throttles(answers) if path == "/throttles" else answers.api[path]
        wanted = {"/".join(str(row[key]) for key in keys) for row in rows}
        if shown != wanted:
            yield f"page, {table}: rows {sorted(shown ^ wanted)} are only on one side"
    for tile, wanted_numbers in _tiles(answers).items():
        optional = tile == "Partition headroom" or not answers.api["/moves"]
        if not optional and ("tile", tile) not in answers.pages["", 1].found and any(wanted_numbers):
            yield f"page: no tile {tile}"
