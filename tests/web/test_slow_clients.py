"""Slow and hostile clients: scrapes are still answered, and every descriptor is freed."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from kafka_warden.page import Page
from kafka_warden.web.connections import Connections, client_of
from sandbox import wait_for
from sandbox.certificates import Authority
from tests.support import status_rows
from tests.support.threads import repeating
from tests.web.conftest import PAGE, TIMEOUT, Served, parse, read_all

PATHS = ("/metrics", "/", "/api/v1/sources")
"""The page and the API withstand what `/metrics` does."""
MANY_ROWS = "/api/v1/moves?limit=1000"


def begin(path: str = "/metrics") -> bytes:
    """Return the start of a request."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".encode()


def whole(path: str) -> bytes:
    """Return a request that leaves the connection open."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def assert_served(served: Served, **given: Any) -> None:
    """Assert that every path is answered."""
    assert served.get(**given).body == PAGE.text
    assert [served.get(path, **given).status for path in PATHS] == [200, 200, 200]


def test_half_requests_do_not_block_scrapes(serve: Callable[..., Served]) -> None:
    """300 half headers, 20 of them growing by a byte per second: every path is answered, and all are closed."""
    served = serve()
    assert_served(served)  # the template engine is loaded with the first page
    before = served.descriptors()
    slow = [served.connect() for _ in range(300)]
    for connection, path in zip(slow, cycle(PATHS), strict=False):
        connection.sendall(begin(path))

    def drip() -> None:
        for connection in slow[-20:]:
            with suppress(OSError):
                connection.send(b"a")

    with repeating(drip, 1.0):
        for _ in range(20):
            assert_served(served)
            assert len(served.server.connections) <= 64

        assert served.server.connections.evicted >= 300 - 64
        for connection in slow:
            read_all(connection)
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


def test_timeouts_that_hypercorn_sees_first_are_counted(serve: Callable[..., Served]) -> None:
    """Half requests, silent clients and one that is idle after its request, but not clients that hang up."""
    served = serve(idle_timeout=2.0)
    silent = [served.connect() for _ in range(10)]
    half = [served.connect() for _ in range(10)]
    for connection in half:
        connection.sendall(begin())
    idle = served.connect()
    idle.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for _ in range(10):
        served.connect().close()
    for connection in (*silent, *half, idle):
        read_all(connection)
    wait_for(lambda: len(served.server.connections) == 0, TIMEOUT)
    assert served.server.connections.reaped == 21


def test_a_connection_for_each_scrape_evicts_none(serve: Callable[..., Served]) -> None:
    """50 clients connect for every scrape: what they have closed counts no more, even before asyncio reads that."""
    served = serve()

    def scrape(number: int) -> bytes:
        with served.connect() as connection:
            connection.sendall(whole(PATHS[number % len(PATHS)]))
            return connection.recv(12)

    with ThreadPoolExecutor(50) as clients:
        assert set(clients.map(scrape, range(2000))) == {b"HTTP/1.1 200"}
    assert served.server.connections.evicted == 0


@pytest.mark.parametrize("sent", [b"", begin(), whole("/-/healthy")])
def test_a_client_that_hangs_up_takes_no_descriptor_until_the_idle_timeout(
    serve: Callable[..., Served], sent: bytes
) -> None:
    """Without it some 250 connections a second, each closed at once, took all 1,024."""
    served = serve(idle_timeout=600.0)
    assert_served(served)
    before = served.descriptors()
    for _ in range(200):
        with served.connect() as connection:
            connection.sendall(sent)
    assert_served(served)  # connections are accepted in order: all of the above were
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


def test_silent_tls_clients_do_not_block_scrapes(
    serve: Callable[..., Served], tmp_path: Path, authority: Authority
) -> None:
    """20 clients never start a handshake, and 5 stop after it: scrapes over TLS are answered, all are closed."""
    (tmp_path / "web.yml").write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
    context = ssl.create_default_context(cafile=authority.certificate)
    served = serve(tmp_path / "web.yml", idle_timeout=2.0)
    before = served.descriptors()
    silent = [served.connect() for _ in range(20)]
    shaken = [served.connect(context) for _ in range(5)]

    for _ in range(10):
        assert_served(served, context=context)

    for connection in (*silent, *shaken):
        read_all(connection)
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


@pytest.mark.parametrize(("path", "requests"), [("/metrics", 1), (MANY_ROWS, 300)])
def test_clients_that_do_not_read_do_not_block_scrapes(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture, path: str, requests: int
) -> None:
    """70 clients request 30 MB, or many answers of the API at once, and read nothing: a 71st is answered."""
    served = serve(answer_timeout=2.0)
    large = Page(b"x" * 30_000_000, b"", b"", b"", views=status_rows.moving().views)
    before = served.descriptors()
    served.holder.page = large
    greedy = [served.connect() for _ in range(70)]
    for connection in greedy:
        connection.sendall(whole(path) * requests)
    wait_for(lambda: served.server.connections.evicted == 6, TIMEOUT)
    assert served.get("/-/healthy").status == 200
    served.holder.page = PAGE

    for _ in range(10):
        assert_served(served)

    wait_for(lambda: len(served.server.connections) == 0, TIMEOUT)
    assert served.server.connections.reaped > 0
    assert not caplog.records
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


def test_a_scraper_that_is_being_answered_outlives_a_flood(serve: Callable[..., Served]) -> None:
    """Connections without a complete request are closed first, then idle ones. An open response stays."""
    served = serve(connections=8)
    size = 20_000_000
    served.holder.page = Page(text=b"x" * size, text_gzip=b"", openmetrics=b"", openmetrics_gzip=b"")
    scraper = served.connect()
    scraper.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    received = scraper.recv(100)

    for _ in range(100):
        served.connect().sendall(begin())
    wait_for(lambda: served.server.connections.evicted >= 90, TIMEOUT)

    received += read_all(scraper)
    assert len(received.partition(b"\r\n\r\n")[2]) == size


def test_a_flood_takes_no_connection_from_another_address(serve: Callable[..., Served]) -> None:
    """A scraper that has sent nothing yet keeps its connection: the address with most connections loses one."""
    served = serve(connections=8)
    scraper = served.connect()
    for _ in range(40):
        served.connect(source="127.0.0.2").sendall(begin())
    wait_for(lambda: served.server.connections.evicted >= 30, TIMEOUT)

    scraper.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    assert parse(read_all(scraper)).body == PAGE.text


def test_many_addresses_take_no_connection_from_one_that_logged_in() -> None:
    """It keeps four. With more it loses its oldest, so other addresses keep theirs."""
    connections = Connections(8, idle=1.0, answer=1.0)
    connections.trust("10.0.0.1")
    with ExitStack() as opened:

        def connect(client: str, *ports: int) -> None:
            for port in ports:
                accepted, _ = (opened.enter_context(end) for end in socket.socketpair())
                connections.admit((client, port), accepted)

        def left(client: str) -> list[int]:
            return [port for port in range(9) if connections.progress((client, port))]

        connect("10.0.0.1", 0, 1, 2, 3)
        for number in range(20):
            connect(f"10.1.0.{number}", 0)
        assert (left("10.0.0.1"), left("10.1.0.15"), left("10.1.0.16")) == ([0, 1, 2, 3], [], [0])

        connect("10.0.0.1", *range(4, 9))
        assert (left("10.0.0.1"), left("10.1.0.16")) == ([5, 6, 7, 8], [0])

    for number in range(2000):
        connections.trust(f"10.2.0.{number}")
    assert list(connections._trusted)[::999] == ["10.2.0.1000", "10.2.0.1999"]


def test_a_client_that_is_not_trusted_begins_few_handshakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """32 at once, then two a second. Other addresses, and those that were allowed a request, are not limited."""
    now = 1000.0
    monkeypatch.setattr("kafka_warden.web.rates.time.monotonic", lambda: now)
    connections = Connections(100, idle=1.0, answer=1.0, handshakes=True)
    connections.trust("10.0.0.1")
    ports = count()
    with ExitStack() as opened:

        def connect(client: str, times: int) -> int:
            accepted = [opened.enter_context(end) for _ in range(times) for end in socket.socketpair()]
            return sum(connections.admit((client, next(ports)), each) for each in accepted[::2])

        assert (connect("10.0.0.1", 30), connect("10.0.0.2", 54), connect("10.0.0.3", 1)) == (30, 32, 1)
        assert connections.refused == 22
        now += 1.0
        assert connect("10.0.0.2", 30) == 2
        connections.trust("10.0.0.2")
        assert connect("10.0.0.2", 30) == 30


def test_a_client_that_connects_too_often_is_closed_before_its_handshake(
    serve: Callable[..., Served], tmp_path: Path, authority: Authority
) -> None:
    """Each of its connections is closed at once or by the idle timeout, and another address is answered."""
    (tmp_path / "web.yml").write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}")
    served = serve(tmp_path / "web.yml", idle_timeout=2.0)
    silent = [served.connect(source="127.0.0.2") for _ in range(200)]
    connections = served.server.connections
    wait_for(lambda: connections.refused + connections.reaped + len(connections) == 200, TIMEOUT)
    assert connections.refused >= 200 - 64

    assert_served(served, context=ssl.create_default_context(cafile=authority.certificate))

    for connection in silent:
        read_all(connection)


def test_the_time_of_the_server_is_not_that_of_the_client() -> None:
    """A response that takes long to make is no client that does not read."""
    connections = Connections(8, idle=-10.0, answer=-1.0)
    mine, other = socket.socketpair()
    with mine, other:
        connections.admit(("10.0.0.1", 1), mine)
        connections.begin(("10.0.0.1", 1))
        connections.reap()
        assert (len(connections), connections.reaped) == (1, 0)

        connections.progress(("10.0.0.1", 1))
        connections.reap()
        assert (len(connections), connections.reaped) == (0, 1)


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:0:7:1::1", "2001:0db8:0000:0007"),
        ("2001:db8:0:7:ffff::2", "2001:0db8:0000:0007"),
        ("fe80::1%eth0", "fe80:0000:0000:0000"),
    ],
)
def test_a_client_is_an_ipv4_address_or_an_ipv6_network(host: str, client: str) -> None:
    """One machine has all addresses of a /64 network. IPv4 on a socket of both is IPv4."""
    assert client_of(host) == client


def test_closed_connections_are_not_counted(serve: Callable[..., Served]) -> None:
    """The count falls when clients disconnect."""
    served = serve()
    for _ in range(5):
        served.get()

    wait_for(lambda: len(served.server.connections) == 0, TIMEOUT)
    assert served.server.connections.evicted == 0


def test_a_client_that_hangs_up_leaves_nothing_behind(
    serve: Callable[..., Served], caplog: pytest.LogCaptureFixture
) -> None:
    """The rest of its response is not sent, nothing is logged, and the descriptor is freed."""
    served = serve()
    served.holder.page = Page(text=b"x" * 30_000_000, text_gzip=b"", openmetrics=b"", openmetrics_gzip=b"")
    before = served.descriptors()
    for _ in range(10):
        connection = served.connect()
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.recv(10)
        connection.close()

    wait_for(lambda: len(served.server.connections) == 0, TIMEOUT)
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)
    assert not caplog.records


def test_a_client_that_hangs_up_with_requests_waiting_leaves_no_task(serve: Callable[..., Served]) -> None:
    """Hypercorn kept the task of each such connection until the end of the process."""
    served = serve()
    loop = served.server._loop
    assert loop is not None
    before = len(asyncio.all_tasks(loop))
    for _ in range(50):
        with served.connect() as connection:
            connection.sendall(b"".join(map(whole, PATHS)) * 2)
    assert_served(served)  # connections are accepted in order: all of the above were

    wait_for(lambda: len(served.server.connections) == 0, TIMEOUT)
    wait_for(lambda: len(asyncio.all_tasks(loop)) <= before, TIMEOUT)
