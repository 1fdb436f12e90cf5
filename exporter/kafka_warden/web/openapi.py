"""Rows as JSON, and the OpenAPI document of `/api/v1`, made from their types. docs/openapi.json is the same.

Unknown is null, unlimited and never are the text `+Inf`, as JSON has no infinity.
"""

import json
import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Final, get_args, get_origin

from kafka_warden.views import rows
from kafka_warden.views.fields import Of, fields_of
from kafka_warden.views.specs import MOST_SIDES, TABLES
from kafka_warden.views.table_spec import CONTAINED, TableSpec

INFINITE: Final = "+Inf"


def to_json(value: Any) -> bytes:
    """Write a value. Only ASCII: every name can be written, also one that is no valid Unicode."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """Turn a row, and all in it, into values that JSON has."""
    if isinstance(value, float):
        return value if math.isfinite(value) else INFINITE if value > 0 else "-Inf"
    if value is None or isinstance(value, str | int):
        return value
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value]


Schema = dict[str, Any]

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
        properties[name] = {**schema(kind), "description": about.about}
        if isinstance(about, Of):
            properties[name]["x-metric"] = f"kafka_warden_{about.metric}"
    return {
        "type": "object",
        "description": (row.__doc__ or "").strip(),
        "required": list(fields),
        "properties": properties,
    }


def _answer(about: str, extra: Schema) -> Schema:
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
        "summary": about,
        "responses": {
            "200": {"description": about, "content": {"application/json": {"schema": content}}},
            "400": {"$ref": "#/components/responses/Error"},
            "503": {"$ref": "#/components/responses/Error"},
        },
    }


def _parameter(name: str, kind: Schema, about: str) -> Schema:
    return {"name": name, "in": "query", "schema": kind, "description": about}


def _table(spec: TableSpec) -> Schema:
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
    return {"get": {**_answer(spec.about, extra), "operationId": spec.name, "parameters": parameters}}


def _single(name: str, row: type, about: str, *parameters: Schema) -> Schema:
    return {"get": {**_answer(about, {"data": schema(row)}), "operationId": name, "parameters": list(parameters)}}


def make() -> Schema:
    """Make the document."""
    paths = {
        "/cluster": _single("cluster", rows.Cluster, "The cluster in numbers"),
        "/sidecar": _single("sidecar", rows.SidecarRow, "The sidecar itself"),
        "/history": _single(
            "history",
            rows.History,
            f"The last hour, of at most {MOST_SIDES} brokers and sides",
            _parameter("broker", {"type": "integer"}, "Id of a broker"),
            _parameter("side", {"enum": ["leader", "follower"]}, "A side"),
            _parameter(
                "sides",
                {"type": "integer", "minimum": 0, "maximum": MOST_SIDES, "default": MOST_SIDES},
                "Most brokers and sides to return",
            ),
        ),
        **{f"/{spec.name}": _table(spec) for spec in TABLES},
    }
    kinds = [rows.Cluster, rows.SidecarRow, rows.SideHistory, rows.History, *(spec.row for spec in TABLES)]
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
