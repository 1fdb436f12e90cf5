"""Responses of the server, over real sockets."""

import asyncio
import os
import random
import socket
import threading
from contextlib import closing, suppress

import pytest
import structlog.testing

from bench import procfs
from kafka_warden.errors import ConfigError
from kafka_warden.exposition import Page, PageHolder, pack
from kafka_warden.lifecycle import Health
from kafka_warden.settings.strict import Address
from kafka_warden.web import server
from kafka_warden.web.server import WebServer, WebSettings, note_failure
from sandbox import wait_for
from tests.support.threads import repeating
from tests.web.conftest import PAGE, TIMEOUT, Serve, Served, parse, read_all, request

GZIP = "Accept-Encoding: gzip"
OPENMETRICS = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5"


@pytest.mark.parametrize(
    ("headers", "body", "kind"),
    [
        ((), PAGE.text, "text/plain; version=0.0.4; charset=utf-8"),
        ((GZIP,), PAGE.text_gzip, "text/plain; version=0.0.4; charset=utf-8"),
        ((OPENMETRICS,), PAGE.openmetrics, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        ((OPENMETRICS, GZIP), PAGE.openmetrics_gzip, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        (
            ("Accept: application/openmetrics-text", "Accept: text/plain"),
            PAGE.text,
            "text/plain; version=0.0.4; charset=utf-8",
        ),
    ],
)
def test_metrics_come_in_the_requested_format(served: Served, headers: tuple[str, ...], body: bytes, kind: str) -> None:
    answer = served.get("/metrics", *headers)

    assert (answer.status, answer.body) == (200, body)
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-length"] == str(len(body))
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert answer.headers.get("content-encoding") == ("gzip" if GZIP in headers else None)


def test_head_has_the_headers_of_get_and_no_body(served: Served) -> None:
    answer = served.get(method="HEAD")

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(PAGE.text))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
@pytest.mark.parametrize("path", ["/metrics", "/", "/-/ready"])
def test_other_methods_are_not_allowed(served: Served, method: str, path: str) -> None:
    answer = served.get(path, method=method)

    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD"


def test_a_target_in_absolute_form_is_served_by_its_path(served: Served) -> None:
    """RFC 9112 3.2.2. A host alone is `/`. Only a target that starts with an origin has this form."""
    for target in ("http://x/metrics?a=b", "HTTPS://x:1/metrics", "http://x/%6detrics"):
        assert (served.get(target).status, served.get(target).body) == (200, PAGE.text)
    assert b"<h1>kafka-warden</h1>" in served.get("http://x").body
    for other in ("http:///metrics", "/http://x/metrics", "/http%3a//evil/metrics"):
        assert served.get(other).status == 404
    assert served.get("http%3a//evil/metrics").status in (400, 404)


@pytest.mark.parametrize(
    "path", ["/metric", "/metrics/", "/-/reload", "/config", "/..", "//metrics", "/%2e%2e/etc/passwd"]
)
def test_other_paths_are_not_found(served: Served, path: str) -> None:
    answer = served.get(path)

    assert answer.status == 404
    assert answer.body == b"not found; try / or /metrics\n"


def test_a_query_string_changes_nothing(served: Served) -> None:
    """`?target=` and `?name[]=` are not options here."""
    assert served.get("/metrics?target=evil:1&name[]=up").body == PAGE.text


def test_every_answer_has_the_security_headers_and_none_names_the_server(served: Served) -> None:
    for path in ("/", "/metrics", "/nowhere"):
        headers = served.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_ready_follows_the_polls_and_healthy_the_program(served: Served) -> None:
    served.holder.ready = False
    assert (served.get("/-/ready").status, served.get("/-/healthy").status) == (503, 200)
    assert b"no fresh snapshot" in served.get("/-/ready").body

    served.health[0] = Health(reasons=("no broker answers: refused",))
    assert b"no broker answers: refused" in served.get("/-/ready").body

    served.holder.ready = True
    assert served.get("/-/ready").status == 200

    served.health[0] = Health(healthy=False, reasons=("the poller is stuck",))
    assert (served.get("/-/ready").status, served.get("/-/healthy").status) == (503, 503)
    assert b"the poller is stuck" in served.get("/-/healthy").body


def test_before_the_first_page_there_is_no_empty_page(served: Served) -> None:
    """An empty 200 would look like an empty cluster."""
    served.holder.page = None

    assert served.get().status == 503


def test_a_failing_health_check_is_a_500_and_the_next_request_is_fine(served: Served) -> None:
    served.health.clear()
    with structlog.testing.capture_logs() as logged:
        assert served.get("/-/ready").status == 500
    assert [entry["event"] for entry in logged] == ["a request failed"]

    served.health.append(Health())
    assert served.get("/-/ready").status == 200


def test_a_loop_that_hangs_is_late(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LATE", 1.5)
    go_on, loop = threading.Event(), served.server._loop
    assert loop is not None
    assert served.server.late() is None
    loop.call_soon_threadsafe(go_on.wait, TIMEOUT)
    try:
        wait_for(lambda: "served no request" in (served.server.late() or ""), TIMEOUT)
    finally:
        go_on.set()
    wait_for(lambda: served.server.late() is None, TIMEOUT)


def test_a_response_is_of_one_page(served: Served) -> None:
    pages = [Page(pack([str(digit).encode() * 200_000]), b"") for digit in range(10)]
    served.holder.page = pages[0]
    with repeating(lambda: setattr(served.holder, "page", random.choice(pages)), 0.0005):
        answers = [served.get() for _ in range(100)]

    assert all(len(answer.body) == 200_000 == int(answer.headers["content-length"]) for answer in answers)
    assert all(len(set(answer.body)) == 1 for answer in answers)
    assert len({answer.body for answer in answers}) > 1


def test_a_connection_serves_several_requests(served: Served) -> None:
    connection = served.connect()
    for method in ("GET", "HEAD", "GET"):
        connection.sendall(request("/-/healthy", method=method))
        received = b""
        while b"\r\n\r\n" not in received or (method == "GET" and not received.endswith(b"healthy\n")):
            received += connection.recv(4096)
        assert parse(received).status == 200


WEBSOCKET = (
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nConnection: close\r\n\r\n"
)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000, 400),
        (b"GET /metrics HTTP/1.1\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (WEBSOCKET, 200),
    ],
)
def test_a_bad_request_is_refused(served: Served, request_bytes: bytes, status: int) -> None:
    connection = served.connect()
    connection.sendall(request_bytes)

    assert parse(read_all(connection)).status == status
    assert served.get().status == 200


@pytest.mark.parametrize("pieces", [1, 2])
@pytest.mark.parametrize(
    "sent",
    [
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9\r\n\r\nx",
        b"GET /metrics HTTP/1.0\r\n\r\nnonsense\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n",
        b"nonsense\r\n\r\nnonsense\r\n\r\n",
    ],
)
def test_bad_bytes_beside_a_response_end_the_connection(
    serve: Serve, caplog: pytest.LogCaptureFixture, sent: bytes, pieces: int
) -> None:
    """Whether the response is being made, being sent or complete. Nothing is logged, and the next request is fine."""
    served = serve(idle_timeout=1.0, answer_timeout=1.0)
    head = sent.index(b"\r\n\r\n") + 4
    with structlog.testing.capture_logs() as logs:
        for _ in range(10):
            with served.connect() as connection:
                connection.sendall(sent[:head] if pieces == 2 else sent)
                if pieces == 2:
                    connection.recv(10)
                    with suppress(OSError):
                        connection.sendall(sent[head:])
                read_all(connection)
        assert served.get().body == PAGE.text
        wait_for(lambda: served.server.connections == 0, TIMEOUT)
    assert not [entry for entry in logs if entry["log_level"] == "error"]
    assert not caplog.records


UPGRADE = (
    b"GET /metrics HTTP/1.1\r\nHost: [::1]\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (UPGRADE + b"AAMAAABkAAQAAP__\r\n\r\n" + PREFACE, 200),
        (UPGRADE + b"AA\r\n\r\n", 200),
        (UPGRADE + b"AAAA\r\n\r\n", 200),
        (PREFACE + b"\0\0\0\x04\0\0\0\0\0", 404),
        (PREFACE + b"\xff" * 100, 404),
    ],
)
def test_http_2_is_never_spoken(served: Served, sent: bytes, status: int) -> None:
    """No upgrade, no switch by the preface. 50 such requests leave no error in the log."""
    with structlog.testing.capture_logs() as logs:
        for _ in range(50):
            with served.connect() as connection:
                connection.sendall(sent)
                assert connection.recv(13) == f"HTTP/1.1 {status} ".encode()
        assert served.get().body == PAGE.text

    assert not [entry for entry in logs if entry["log_level"] == "error"]


def test_stop_is_quick_with_open_connections_and_may_come_twice(serve: Serve) -> None:
    before = procfs.descriptors(os.getpid()), threading.active_count()
    served = serve()
    served.holder.page = Page(pack([b"x" * 50_000_000]), b"")
    idle, half, unread = served.connect(), served.connect(), served.connect()
    half.sendall(b"GET /metrics HTTP/1.1\r\nHo")
    unread.sendall(request("/metrics"))
    unread.recv(100)
    assert served.get("/-/healthy").status == 200

    served.server.stop(timeout=10.0)
    served.server.stop()

    with pytest.raises(ConnectionRefusedError):
        served.connect()
    for connection in (idle, half, unread):
        read_all(connection)
    assert served.descriptors() <= before[0]
    assert threading.active_count() <= before[1]


def test_connections_that_arrive_as_it_stops_are_closed(serve: Serve) -> None:
    """Asyncio accepted them in the turn before it closed the listener, and left some open, without a task."""
    served = serve()
    loop, stop = served.server._loop, served.server._stop
    assert loop is not None
    assert stop is not None

    def connect_and_stop() -> None:
        for _ in range(200):  # eight are accepted in a turn
            served.connect()
        stop.set()

    loop.call_soon_threadsafe(connect_and_stop)
    wait_for(stop.is_set, TIMEOUT)
    served.server.stop(TIMEOUT)

    for connection in served.opened:
        assert read_all(connection) == b""


@pytest.mark.parametrize("failure", [ConnectionResetError(), asyncio.CancelledError()])
def test_connections_that_end_are_no_errors(failure: BaseException) -> None:
    """By their client, or with the server: asyncio reports both on a busy machine."""
    with structlog.testing.capture_logs() as logs, closing(asyncio.new_event_loop()) as loop:
        loop.set_exception_handler(note_failure)
        loop.call_exception_handler({"message": "a callback failed", "exception": failure})
    assert [entry["log_level"] for entry in logs] == ["debug"]


def test_a_port_that_is_taken_is_one_line(served: Served) -> None:
    second = WebServer(WebSettings(Address("127.0.0.1", served.port)), PageHolder(), health=Health)

    with pytest.raises(ConfigError, match=rf"web\.listen: cannot listen on 127\.0\.0\.1:{served.port}: .*[Aa]ddress"):
        second.start()
    second.stop()


@pytest.mark.parametrize("host", ["", "::", "::1", "localhost"])
def test_other_addresses_can_be_listened_on(host: str) -> None:
    server = WebServer(WebSettings(Address(host, 0)), PageHolder(PAGE), health=Health)
    try:
        port = server.start()
        target = "::1" if host == "::1" else "127.0.0.1"
        with socket.create_connection((target, port), timeout=TIMEOUT) as connection:
            connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert parse(read_all(connection)).body == PAGE.text
    finally:
        server.stop(TIMEOUT)
