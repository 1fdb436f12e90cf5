"""Slow and hostile clients: scrapes are still answered, and every descriptor is freed."""

import asyncio
import os
import random
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from bench import procfs
from bench.worker import Worker
from kafka_warden.exposition import Page, pack
from sandbox import wait_for
from sandbox.certificates import Authority
from tests.support import status_rows
from tests.support.threads import repeating
from tests.web.conftest import PAGE, TIMEOUT, Serve, Served, parse, read_all, request
from tests.web.test_auth import header

PATHS = ("/metrics", "/", "/api/v1/sources")
"""The page and the API withstand what `/metrics` does."""
MANY_ROWS = "/api/v1/moves?limit=1000"


def begin(path: str = "/metrics") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".encode()


def assert_served(served: Served, **given: Any) -> None:
    assert served.get(**given).body == PAGE.text
    assert [served.get(path, **given).status for path in PATHS] == [200, 200, 200]


def test_half_requests_do_not_block_scrapes(serve: Serve) -> None:
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
        for connection in slow:
            read_all(connection)
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


@pytest.mark.full_faults
@pytest.mark.realtime
def test_a_flood_from_the_address_of_the_scraper(serve: Serve, tmp_path: Path, authority: Authority) -> None:
    """Over TLS: 300 half requests, 64 unread pages and 20 silent clients, and 60 wrong logins a second."""
    hashed = bcrypt.hashpw(b"canary", bcrypt.gensalt(10)).decode()
    tls = "tls_server_config: {cert_file: server.pem, key_file: server.key}"
    (tmp_path / "web.yml").write_text(f"{tls}\nbasic_auth_users: {{reader: {hashed}, scraper: {hashed}}}")
    served = serve(tmp_path / "web.yml")
    # 3 MB, of which gzip leaves 300 kB: so much a scrape has to send beside the flood.
    served.holder.page = Page(pack([random.randbytes(300_000) + bytes(2_700_000)]), b"", views=PAGE.views)
    context = ssl.create_default_context(cafile=authority.certificate)
    for user in ("reader", "scraper"):  # from then on their login is known
        assert served.get("/metrics", header(user, "canary"), context=context).status == 200

    with Worker("bench.flood_clients", {"port": served.port, "user": "reader", "password": "canary"}) as clients:
        descriptors, memory = served.descriptors(), procfs.memory_bytes(os.getpid(), "VmRSS")
        clients.step("start")
        seconds, used = [], 0
        for _ in range(20):
            time.sleep(0.5)
            began = time.monotonic()
            answer = served.get("/metrics", header("scraper", "canary"), "Accept-Encoding: gzip", context=context)
            assert len(answer.body) == len(served.holder.page.text_gzip) > 300_000
            seconds.append(time.monotonic() - began)
            used = max(used, procfs.memory_bytes(os.getpid(), "VmRSS") - memory)
        print(f"{clients.step('hold')}; slowest scrape {max(seconds):.3f} s, {used / 1e6:.0f} MB more")
        wait_for(lambda: served.descriptors() <= descriptors, 15.0)
    assert max(seconds) < 0.5
    assert used < 40e6


def test_timeouts_are_counted(serve: Serve) -> None:
    served = serve(idle_timeout=2.0)
    silent = [served.connect() for _ in range(10)]
    half = [served.connect() for _ in range(10)]
    for connection in half:
        connection.sendall(begin())
    idle = served.connect()
    idle.sendall(request("/-/healthy"))
    for _ in range(10):
        served.connect().close()
    for connection in (*silent, *half, idle):
        read_all(connection)
    wait_for(lambda: served.server.connections == 0, TIMEOUT)
    assert served.server.closed == {"limit": 0, "timeout": 21}


def test_a_connection_for_each_scrape_reaches_no_limit(serve: Serve) -> None:
    """50 clients connect for every scrape: what they have closed counts no more."""
    served = serve(connections=100)

    def scrape(number: int) -> bytes:
        with served.connect() as connection:
            connection.sendall(request(PATHS[number % len(PATHS)]))
            return connection.recv(12)

    with ThreadPoolExecutor(50) as clients:
        assert set(clients.map(scrape, range(2000))) == {b"HTTP/1.1 200"}
    assert served.server.closed["limit"] == 0


def test_connections_above_the_limit_are_closed_at_once(serve: Serve) -> None:
    served = serve(connections=8, idle_timeout=TIMEOUT)
    kept = [served.connect() for _ in range(8)]
    wait_for(lambda: served.server.connections == 8, TIMEOUT)
    above = [served.connect() for _ in range(100)]
    assert [read_all(connection) for connection in above] == [b""] * 100
    assert served.server.closed == {"limit": 100, "timeout": 0}

    kept[0].sendall(request("/metrics", "Connection: close"))
    assert parse(read_all(kept[0])).body == PAGE.text
    assert_served(served)


def test_connections_near_the_limit_of_descriptors_are_closed_at_once(serve: Serve) -> None:
    served = serve()
    assert served.server._listener is not None
    served.server._listener._highest = 0
    assert read_all(served.connect()) == b""
    assert served.server.closed["limit"] == 1


@pytest.mark.parametrize("sent", [b"", begin(), request("/-/healthy")])
def test_a_client_that_hangs_up_takes_no_descriptor_until_the_idle_timeout(serve: Serve, sent: bytes) -> None:
    """Without it some 250 connections a second, each closed at once, took all 1,024."""
    served = serve(idle_timeout=600.0)
    assert_served(served)
    before = served.descriptors()
    for _ in range(200):
        with served.connect() as connection:
            connection.sendall(sent)
    assert_served(served)  # connections are accepted in order: all of the above were
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


def test_silent_tls_clients_do_not_block_scrapes(serve: Serve, tmp_path: Path, authority: Authority) -> None:
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
    serve: Serve, caplog: pytest.LogCaptureFixture, path: str, requests: int
) -> None:
    """70 clients request 30 MB, or many answers of the API at once, and read nothing: a 71st is answered."""
    served = serve(answer_timeout=2.0)
    large = Page(pack([b"x" * 30_000_000]), b"", views=status_rows.moving().views)
    before = served.descriptors()
    served.holder.page = large
    greedy = [served.connect() for _ in range(70)]
    for connection in greedy:
        connection.sendall(request(path) * requests)
    wait_for(lambda: served.server.connections == 70, TIMEOUT)
    assert served.get("/-/healthy").status == 200
    served.holder.page = PAGE

    for _ in range(10):
        assert_served(served)

    wait_for(lambda: served.server.connections == 0, TIMEOUT)
    assert served.server.closed["timeout"] == 70
    assert not caplog.records
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)


def test_a_client_that_hangs_up_leaves_nothing_behind(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    served = serve()
    served.holder.page = Page(pack([b"x" * 30_000_000]), b"")
    before = served.descriptors()
    for _ in range(10):
        connection = served.connect()
        connection.sendall(request("/metrics"))
        connection.recv(10)
        connection.close()

    wait_for(lambda: served.server.connections == 0, TIMEOUT)
    wait_for(lambda: served.descriptors() <= before, TIMEOUT)
    assert not caplog.records


def test_a_client_that_hangs_up_with_requests_waiting_leaves_no_task(serve: Serve) -> None:
    served = serve()
    loop = served.server._loop
    assert loop is not None
    before = len(asyncio.all_tasks(loop))
    for _ in range(50):
        with served.connect() as connection:
            connection.sendall(b"".join(map(request, PATHS)) * 2)
    assert_served(served)  # connections are accepted in order: all of the above were

    wait_for(lambda: served.server.connections == 0, TIMEOUT)
    wait_for(lambda: len(asyncio.all_tasks(loop)) <= before, TIMEOUT)
