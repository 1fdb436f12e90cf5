"""`/api/v1`: what OpenAPI describes, the rows as they are, parts and filters, and errors that say what to do."""

import json
import threading
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from kafka_warden.exposition import OnDemand, Page
from kafka_warden.views import Views
from kafka_warden.views.specs import TABLES
from kafka_warden.web import api
from kafka_warden.web.api import make
from kafka_warden.web.responses import Response
from kafka_warden.web.rows import MOST_MAKING
from sandbox import wait_for
from tests.building import known
from tests.support import status_rows
from tests.support.asking import views_of
from tests.web.conftest import PAGE, Served, request

DOCUMENT = make()
PATHS = tuple(DOCUMENT["paths"])
PAGES = (status_rows.troubled, status_rows.quiet, status_rows.blind)


def made(make: Callable[[], Views], age: float = 0.0) -> Page:
    """A page whose rows are made in this way, when they are asked for; `age` in seconds."""
    views = OnDemand(make)
    views.since -= age
    return Page(PAGE.text_gzip, b"", views=views)


def ask(views: Views, path: str, query: str = "") -> Response:
    return known(api.answer(views, path.removeprefix("/"), query.encode()))


def check(path: str, answer: Response) -> Any:
    described = DOCUMENT["paths"][path]["get"]["responses"][str(answer.status)]
    if "$ref" in described:
        described = DOCUMENT["components"]["responses"]["Error"]
    schema = {**described["content"]["application/json"]["schema"], "components": DOCUMENT["components"]}
    body = json.loads(answer.body)
    jsonschema.validate(body, _closed(schema), cls=jsonschema.Draft202012Validator)
    return body


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.__name__)
def test_answers_are_as_the_document_says(page: Callable[[], Page], path: str) -> None:
    """Each field is described, and nothing else is there. Without a fresh snapshot the cluster's tables are a 503."""
    views = views_of(page())
    answer = ask(views, path)
    body = check(path, answer)

    assert answer.headers["Content-Type"] == "application/json"
    if page is status_rows.blind and path not in ("/exporter", "/history", "/problems", "/sources"):
        assert answer.status == 503
        assert "fresh" in body["error"]
    else:
        assert answer.status == 200
        assert body["time"] == views.time


def test_a_schema_that_is_wrong_is_noticed() -> None:
    answer = ask(views_of(status_rows.troubled()), "/moves")
    body = json.loads(answer.body)
    for wrong in ({"partition": "zero"}, {"more": 1}):
        changed = {**body, "data": [{**body["data"][0], **wrong}]}
        with pytest.raises(jsonschema.ValidationError):
            check("/moves", Response(200, json.dumps(changed).encode()))


def test_rows_are_those_of_the_views() -> None:
    views = views_of(status_rows.troubled())
    for spec in TABLES:
        table = views.tables[spec.name]
        body = json.loads(ask(views, spec.name).body)
        assert body["total"] == table.total
        assert len(body["data"]) == len(table.rows)
        for row, shown in zip(table.rows, body["data"], strict=True):
            for name, value in shown.items():
                expected = getattr(row, name)
                assert value == ("+Inf" if expected == float("inf") else expected)
    assert "+Inf" in ask(views, "moves").body.decode()
    assert "NaN" not in ask(views, "cluster").body.decode()


def test_thousands_of_moves_come_in_parts() -> None:
    views = views_of(status_rows.moving())
    seen = []
    for offset in range(0, status_rows.MANY, 1000):
        body = check("/moves", ask(views, "/moves", f"limit=1000&offset={offset}"))
        seen += [(row["topic"], row["partition"]) for row in body["data"]]
    assert len(seen) == len(set(seen)) == body["total"] == status_rows.MANY
    assert len(json.loads(ask(views, "/moves").body)["data"]) == 100


def test_filters_choose_rows() -> None:
    views = views_of(status_rows.moving(400))
    body = check("/moves", ask(views, "/moves", "topic=placed&broker=5&limit=1000"))

    assert {(row["topic"], row["broker"]) for row in body["data"]} == {("orders.placed", 5)}
    assert body["total"] == len(body["data"])
    assert json.loads(ask(views, "/moves", "topic=nothing").body)["total"] == 0


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("/moves", "limit=0x1", "limit"),
        ("/moves", "limit=1001", "at most 1000"),
        ("/moves", "offset=-1", "offset"),
        ("/moves", "color=red", "expected limit, offset, topic"),
        ("/cluster", "limit=1", "expected none"),
        ("/history", "side=up", "leader or follower"),
        ("/history", "broker=" + "9" * 40, "broker"),
        ("/moves", "x" * 5000, "2000 bytes"),
    ],
)
def test_what_cannot_be_answered_is_a_400(path: str, query: str, says: str) -> None:
    answer = ask(views_of(status_rows.troubled()), path, query)

    assert answer.status == 400
    assert says in check(path, answer)["error"]
    assert "red" not in answer.body.decode().replace("expected", "")


def test_history_has_the_last_hour(served: Served) -> None:
    views = views_of(status_rows.troubled())
    body = check("/history", ask(views, "/history", "broker=1&side=leader"))["data"]

    assert len(body["times"]) == len(body["remaining_bytes"]) == 10
    assert [(side["broker"], side["side"]) for side in body["sides"]] == [(1, "leader")]
    assert body["sides"][0]["limit"][-1] == 2e6


def test_paths_over_the_wire(served: Served) -> None:
    answer = served.get("/api/v1/sources?limit=1")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; base-uri")
    assert len(json.loads(answer.body)["data"]) == 1
    assert json.loads(served.get("/api/v1/openapi.json").body) == DOCUMENT
    assert served.get("/api/v1/nothing").status == 404
    assert served.get("/api/v2/moves").status == 404
    assert served.get("/api/v1/moves", method="POST").status == 405


def test_rows_are_made_once_and_only_when_somebody_asks(served: Served) -> None:
    calls: list[str] = []

    def page(name: str) -> Page:
        def make() -> Views:
            calls.append(name)
            return views_of(status_rows.blind())

        return made(make)

    served.holder.page = page("first")
    served.get("/metrics")
    assert calls == []
    served.get("/")
    served.get("/api/v1/sources")
    assert calls == ["first"]
    served.holder.page = page("second")
    served.get("/")
    # The response of the first page is younger than a second, and is served while the rows are made.
    wait_for(lambda: calls == ["first", "second"], 30)


def test_a_request_during_the_next_evaluation_waits_for_its_page(served: Served) -> None:
    """A snapshot that was given up before anybody asked has no rows: those of the next page are served."""
    served.holder.page = made(lambda: views_of(status_rows.blind()))
    known(served.holder.page.views).release()
    loop = known(served.server._loop)
    loop.call_soon_threadsafe(loop.call_later, 0.3, lambda: setattr(served.holder, "page", PAGE))

    assert served.get("/").status == 200


def test_a_response_of_a_second_ago_is_served_while_the_next_is_made(served: Served) -> None:
    go_on = threading.Event()

    def slow() -> Views:
        assert go_on.wait(30)
        return views_of(status_rows.quiet())

    def kind() -> bool:
        return bool(json.loads(served.get("/api/v1/exporter").body)["fresh"])

    served.holder.page = made(lambda: views_of(status_rows.blind()), age=-60.0)
    assert not kind()
    served.holder.page = made(slow, age=60.0)
    assert not kind()
    go_on.set()
    wait_for(kind, 30)

    served.holder.page = made(lambda: views_of(status_rows.blind()), age=60.0)
    assert not kind()
    served.holder.page = made(lambda: views_of(status_rows.quiet()))
    assert kind()


def test_very_many_different_requests_are_refused(served: Served) -> None:
    """Clients that ask and hang up cannot fill the memory; `/metrics` is served meanwhile, and the rest afterwards."""
    go_on = threading.Event()

    def slow() -> Views:
        assert go_on.wait(60)
        return views_of(status_rows.blind())

    served.holder.page = made(slow)
    for number in range(MOST_MAKING + 10):
        connection = served.connect()
        connection.sendall(request(f"/api/v1/sources?offset={number}"))
        connection.close()
    wait_for(lambda: served.get("/api/v1/sources?offset=999").status == 503, 30)
    assert served.get("/metrics").status == 200

    go_on.set()
    wait_for(lambda: served.get("/api/v1/sources?offset=999").status == 200, 30)


def _closed(schema: Any) -> Any:
    if isinstance(schema, dict):
        closed = {key: _closed(value) for key, value in schema.items()}
        if "properties" in schema and schema.get("type") == "object":
            closed["additionalProperties"] = False
        return closed
    return [_closed(each) for each in schema] if isinstance(schema, list) else schema
