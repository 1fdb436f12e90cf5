"""`/api/v1`: the rows of the status page as JSON. Pure functions of the rows, the path and the query."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from kafka_warden.model import SIDES
from kafka_warden.views import Views
from kafka_warden.views.specs import BY_NAME, MOST_SIDES
from kafka_warden.views.table_spec import TableSpec
from kafka_warden.web.openapi import make, to_json
from kafka_warden.web.responses import QueryError, Response, matching, number, parameters

PREFIX: Final = "/api/v1/"
OPENAPI: Final = f"{PREFIX}openapi.json"
ROWS: Final = 100
MOST_ROWS: Final = 1_000
FARTHEST: Final = 1_000_000


@cache
def openapi() -> bytes:
    """Return the document that describes all answers."""
    return to_json(make())


def answer(views: Views, name: str, query: bytes) -> Response | None:
    """Answer for a path below the prefix; `None` if there is no such path."""
    try:
        values = parameters(query)
        if name in BY_NAME:
            return _table(views, BY_NAME[name], values)
        if name == "cluster":
            _only(values)
            return _blind() if views.cluster is None else _json(views, data=views.cluster)
        if name == "sidecar":
            _only(values)
            return _json(views, data=views.sidecar)
        if name == "history":
            return _history(views, values)
    except QueryError as problem:
        return error(400, str(problem))
    return None


def error(status: int, problem: str, headers: Mapping[str, str] | None = None) -> Response:
    """Make an answer that reports a problem."""
    return Response(status, to_json({"error": problem}), {"Content-Type": "application/json", **(headers or {})})


def _table(views: Views, spec: TableSpec, values: dict[str, str]) -> Response:
    _only(values, "limit", "offset", *spec.filters)
    offset, limit = number(values, "offset", 0, FARTHEST), number(values, "limit", ROWS, MOST_ROWS)
    if not (views.fresh or spec.of_sidecar):
        return _blind()
    table = getattr(views, spec.attribute)
    filters = {name: values[name] for name in spec.filters if name in values}
    rows = matching(table.rows, filters)
    total = len(rows) if filters else table.total
    return _json(views, total=total, offset=offset, limit=limit, data=rows[offset : offset + limit])


def _history(views: Views, values: dict[str, str]) -> Response:
    _only(values, "broker", "side", "sides")
    broker = number(values, "broker", -1, 2**31)
    most = number(values, "sides", MOST_SIDES, MOST_SIDES)
    keys = [
        (each, side)
        for each, side in views.history.shown_sides()
        if broker in (-1, each) and values.get("side", side) == side
    ]
    if "side" in values and values["side"] not in SIDES:
        raise QueryError("side: expected leader or follower")
    return _json(views, data=views.history.history(keys[:most]))


def _only(values: dict[str, str], *known: str) -> None:
    for name in values:
        if name not in known:
            raise QueryError(f"unknown parameter; expected {', '.join(known) or 'none'}")


def _blind() -> Response:
    return error(503, "there is no fresh snapshot; see problems and sources", {"Retry-After": "5"})


def _json(views: Views, **fields: Any) -> Response:
    body = to_json({"time": views.time, "fresh": views.fresh, **fields})
    return Response(200, body, {"Content-Type": "application/json"})
