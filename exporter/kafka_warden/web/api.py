"""`/api/v1`: the rows of the status page as JSON, and the OpenAPI document of their types, docs/openapi.json."""

import json
import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

from kafka_warden.model import SIDES
from kafka_warden.views import Views, recent, rows
from kafka_warden.views.fields import Of, fields_of
from kafka_warden.views.plain import INFINITE, plain
from kafka_warden.views.specs import BY_NAME, MOST_SIDES, TABLES
from kafka_warden.views.table_spec import CONTAINED, TableSpec
from kafka_warden.web.responses import QueryError, Response, matching, number, parameters

Schema = dict[str, Any]

PREFIX: Final = "/api/v1/"
OPENAPI: Final = f"{PREFIX}openapi.json"
ROWS: Final = 100
MOST_ROWS: Final = 1_000
FARTHEST: Final = 1_000_000
ABOUT: Final = """\
What /metrics and the status page show, as JSON, of the same poll. Read only. Bytes, seconds, ratios from 0 to 1. null \
is unknown; the text "+Inf" is unlimited, or never. Fields keep their names and meanings within v1; new ones may be \
added. The login and the rate limit of the web configuration file apply."""

_SIMPLE: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"anyOf": [{"type": "number"}, {"const": INFINITE}]},
}


def to_json(value: Any) -> bytes:
    """Write a value. Only ASCII: every name can be written, also one that is no valid Unicode."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode()


def answer(views: Views, name: str, query: bytes) -> Response | None:
    """Answer for a path below the prefix; `None` if there is no such path."""
    try:
        values = parameters(query)
        if name in BY_NAME:
            return _table(views, BY_NAME[name], values)
        if name == "cluster":
            _only(values)
            return _blind() if views.cluster is None else _json(views, data=views.cluster)
        if name == "exporter":
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
    table = views.tables[spec.name]
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


@cache
def openapi() -> bytes:
    """Return the document that describes all answers."""
    return to_json(make())


def schema(kind: Any) -> Schema:
    """Return the JSON schema of a type that rows have."""
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    if is_dataclass(kind):
        return {"$ref": f"#/components/schemas/{kind.__name__}"}  # type: ignore[union-attr]  # it is a class
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return schema(parts[0])
    if origin is types.UnionType:
        return {"anyOf": [{"type": "null"} if part is type(None) else schema(part) for part in parts]}
    if origin is tuple:
        return {"type": "array", "items": schema(parts[0])}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": schema(parts[1])}
    raise TypeError(f"no schema for {kind}")


def _row(row: type) -> Schema:
    fields = fields_of(row)
    properties = {}
    for name, (kind, about) in fields.items():
        properties[name] = {**schema(kind), "description": str(about)}
        if isinstance(about, Of):
            properties[name]["x-metric"] = f"kafka_warden_{about.metric}"
    return {
        "type": "object",
        "description": (row.__doc__ or "").strip(),
        "required": list(fields),
        "properties": properties,
    }


def _path(name: str, about: str, extra: Schema, *parameters: Schema) -> Schema:
    fields = {
        "time": {
            "anyOf": [{"type": "number"}, {"type": "null"}],
            "description": "Unix time of the poll that is shown, or was shown last",
        },
        "fresh": {"type": "boolean", "description": "False without a fresh poll"},
        **extra,
    }
    content = {"type": "object", "required": list(fields), "properties": fields}
    return {
        "get": {
            "summary": about,
            "responses": {
                "200": {"description": about, "content": {"application/json": {"schema": content}}},
                "400": {"$ref": "#/components/responses/Error"},
                "503": {"$ref": "#/components/responses/Error"},
            },
            "operationId": name,
            "parameters": list(parameters),
        }
    }


def _parameter(name: str, kind: Schema, about: str) -> Schema:
    return {"name": name, "in": "query", "schema": kind, "description": about}


def _path_of(spec: TableSpec) -> Schema:
    count = {"type": "integer", "minimum": 0}
    extra = {
        "total": {**count, "description": "Rows that there are; of more than 10,000 only the first are served"},
        "offset": count,
        "limit": count,
        "data": {"type": "array", "items": schema(spec.row)},
    }
    kinds = {name: kind for name, (kind, _) in fields_of(spec.row).items()}
    parameters = [
        _parameter("limit", {**count, "maximum": 1000, "default": 100}, "Most rows to return"),
        _parameter("offset", {**count, "default": 0}, "Rows to leave out before"),
    ]
    for name in spec.filters:
        about = "Part of the value" if name in CONTAINED else "The whole value"
        parameters.append(_parameter(name, schema(int if int in (kinds[name], *get_args(kinds[name])) else str), about))
    return _path(spec.name, spec.about, extra, *parameters)


def make() -> Schema:
    """Make the document."""
    paths = {
        "/cluster": _path("cluster", "The cluster in numbers", {"data": schema(rows.Cluster)}),
        "/exporter": _path("exporter", "The exporter itself", {"data": schema(rows.ExporterRow)}),
        "/history": _path(
            "history",
            f"The last hour, of at most {MOST_SIDES} brokers and sides",
            {"data": schema(recent.History)},
            _parameter("broker", {"type": "integer"}, "Id of a broker"),
            _parameter("side", {"enum": ["leader", "follower"]}, "A side"),
            _parameter(
                "sides",
                {"type": "integer", "minimum": 0, "maximum": MOST_SIDES, "default": MOST_SIDES},
                "Most brokers and sides to return",
            ),
        ),
        **{f"/{spec.name}": _path_of(spec) for spec in TABLES},
    }
    kinds = [rows.Cluster, rows.ExporterRow, recent.SideHistory, recent.History, *(spec.row for spec in TABLES)]
    failure = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "kafka-warden", "version": "v1", "description": ABOUT},
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": {kind.__name__: _row(kind) for kind in kinds},
            "responses": {
                "Error": {"description": "What is wrong", "content": {"application/json": {"schema": failure}}}
            },
        },
    }
