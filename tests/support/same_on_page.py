"""What every number of the status page must be: numbers of rows of `/api/v1`, by table and column, tile and line."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafka_warden.formatting import in_bytes, in_rate
from kafka_warden.views.alerts import SEVERITIES
from kafka_warden.views.plain import row_of
from kafka_warden.views.specs import TABLES
from kafka_warden.views.table_spec import NAMES, Column, TableSpec
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


def _index(answers: Answers, spec: TableSpec) -> dict[str, Row]:
    return {"/".join(str(row[key]) for key in spec.key): row for row in answers.api[f"/{spec.name}"]}


def _wanted(spec: TableSpec, column: Column, row: Row) -> list[Any]:
    """Return the numbers of a cell. Texts are those of `top`, which makes its rows of the same answer."""
    if column.share:
        # Some are made of other fields.
        share = number(row[column.field]) if column.field in row else column.value(row_of(spec.row, row))
        return [] if share is None else [min(max(share, 0.0), 1.0), share]
    if column.unit == "timestamp":
        return [None if row[column.field] is None else math.floor(row[column.field])]
    if column.number:
        return [row[column.field]]
    # Names are no numbers, and unknown texts are dashes.
    return [] if column.field in NAMES else list(tokens(column.text(row_of(spec.row, row))))


def _side_plot(row: Row, answers: Answers) -> list[float | None]:
    if all((row["broker"], row["side"]) != (side["broker"], side["side"]) for side in answers.api["/history"]["sides"]):
        return []
    rate = answers.plot("catch_up", row["broker"], row["side"])
    limit = answers.plot("limit", row["broker"], row["side"])
    return [
        *(tokens(in_rate(rate)) if rate is not None else []),
        *(tokens(in_rate(limit)) if limit is not None else []),
    ]


SPECS: Final = {spec.title: spec for spec in TABLES if spec.name != "problems"}
"""By the name of the table."""


def _tiles(answers: Answers) -> Mapping[str, list[Any]]:
    """Return what each tile shows: fields of the cluster, and what is made of them."""
    one = answers.api["/cluster"]
    brokers, out = one["brokers"], one["out_of_sync"]
    active, left = brokers.get("active", 0), answers.plot("remaining_bytes")
    return {
        "Brokers": [active, sum(brokers.values()), *(count for state, count in brokers.items() if state != "active")],
        "Controller": tokens(one["controller"]),
        "Partitions": [one["partitions"], one["topics"], one["replicas"]],
        "Offline": [one["offline_partitions"]],
        "Under min ISR": [
            one["under_min_isr_partitions"],
            one["at_min_isr_partitions"],
            *([one["unknown_min_isr_partitions"]] if one["unknown_min_isr_partitions"] else ()),
        ],
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
    sidecar, cluster = api["/exporter"], api["/cluster"]
    jmx = [100] if sidecar["jmx"] and api["/throttles"] else []
    lines: dict[str, Callable[[], list[Any]]] = {
        "title": lambda: [
            *filter(None, [severities["critical"]]),
            *tokens(cluster["cluster_name"] or cluster["cluster_id"]),
        ],
        "verdict": lambda: [severities[each] for each in SEVERITIES if severities[each]],
        "brand": lambda: tokens(cluster["kafka_version"]),
        "freshness": lambda: [math.floor(sidecar["snapshot_time"]), sidecar["poll_interval"]],
        "problem, sentence": lambda: tokens(api["/problems"][int(row)]["sentence"]),
        "problem, since": lambda: [api["/problems"][int(row)]["seconds"]],
        "beside": lambda: tokens(f"{answers.plot('out_of_sync'):.0f}"),
        # The sentence on the use of a limit has "above 100%".
        "note": lambda: [*jmx, *sidecar["dropped_series"].values()],
        "pager": lambda: _pager(answers, row.removeprefix("Pages of ").replace(" ", "_"), part),
    }
    return lines[what]() if what in lines else None


def _pager(answers: Answers, name: str, part: tuple[str, int]) -> list[int]:
    total = len(answers.api[f"/{name.replace('_', '-')}"])
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
    elif table in SPECS:
        spec = SPECS[table]
        row = _index(answers, spec).get(place[1])
        if row is None:
            return "no such row"
        found = next((each for each in spec.columns if each.title == column), None)
        wanted = _side_plot(row, answers) if found is None else _wanted(spec, found, row)
    else:
        wanted = _lines(answers, place, part)
    return "no such place" if wanted is None else [value for value in map(number, wanted) if value is not None]


def _missing(answers: Answers) -> Iterator[str]:
    """Yield rows of the API that no part of the page has, and numbers that are shown nowhere."""
    for table, spec in SPECS.items():
        shown = {row for page in answers.pages.values() for row in page.rows[table]}
        wanted = set(_index(answers, spec))
        if shown != wanted:
            yield f"page, {table}: rows {sorted(shown ^ wanted)} are only on one side"
    for tile, wanted_numbers in _tiles(answers).items():
        optional = tile == "Partition headroom" or not answers.api["/moves"]
        if not optional and ("tile", tile) not in answers.pages["", 1].found and any(wanted_numbers):
            yield f"page: no tile {tile}"
