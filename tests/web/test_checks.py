"""The queue of password checks: its order, its limits, and its work. bcrypt is a fake that waits for the test."""

import asyncio
import base64
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec

import bcrypt
import pytest
import structlog.testing

from kafka_warden.web import checks
from kafka_warden.web.checks import PasswordChecks
from sandbox import wait_for
from tests.web.conftest import PAGE, TIMEOUT, Served, parse, read_all

HASH = "$2b$10$" + "." * 53
RIGHT = "right"
P = ParamSpec("P")


class PanicError(BaseException):
    """As Rust's panics are in Python."""


class Bcrypt:
    """A fake whose checks end when `go` is set; `started` are their passwords."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.go = threading.Event()

    def checkpw(self, password: bytes, hashed: bytes) -> bool:
        """Check a password."""
        self.started.append(password.decode())
        assert self.go.wait(TIMEOUT), hashed
        if self.started[-1].startswith("panic"):
            raise PanicError
        return password.decode().startswith(RIGHT)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bcrypt]:
    """Instead of bcrypt."""
    fake = Bcrypt()
    monkeypatch.setattr(bcrypt, "checkpw", fake.checkpw)
    yield fake
    fake.go.set()


class Queue:
    """A queue, and the logins that wait in it."""

    def __init__(self) -> None:
        self.checks = PasswordChecks()
        self.logins: dict[str, asyncio.Task[bool | None]] = {}

    async def add(self, client: str, *passwords: str) -> None:
        """Let a client log in."""
        for password in passwords:
            key = password.partition(" ")[0].encode()
            self.logins[password] = asyncio.create_task(self.checks.matches(client, key, password, HASH, 10))
            for _ in range(3):
                await asyncio.sleep(0)

    def refused(self) -> set[str]:
        """Return the passwords that were refused without a check."""
        return {password for password, login in self.logins.items() if login.done() and login.result() is None}


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@asynccontextmanager
async def _queue(fake: Bcrypt, first: str = "a0") -> AsyncIterator[Queue]:
    """A queue whose first check runs, that of client a; all checks end with the block."""
    queue = Queue()
    await queue.add("a", first)
    await asyncio.to_thread(wait_for, lambda: fake.started, TIMEOUT)
    yield queue
    fake.go.set()
    await asyncio.gather(*queue.logins.values(), return_exceptions=True)


@in_loop
async def test_a_new_client_is_next_however_many_wait(fake: Bcrypt) -> None:
    """Its login waits for the check that runs. Then the clients take turns, each in its own order."""
    async with _queue(fake) as queue:
        await queue.add("a", "a1", "a2")
        await queue.add("b", "b1", "b2")
        await queue.add("c", "right c")
        fake.go.set()
        assert await queue.logins["right c"] is True
    assert fake.started == ["a0", "b1", "right c", "a1", "b2", "a2"]
    assert (queue.checks.failed, queue.checks.refused) == (5, 0)


@in_loop
async def test_a_client_may_have_four_checks_waiting(fake: Bcrypt) -> None:
    """Further ones are refused at once, and other clients are not affected."""
    async with _queue(fake) as queue:
        await queue.add("a", *(f"a{number}" for number in range(1, 8)))
        await queue.add("b", "b1")
        assert queue.refused() == {"a5", "a6", "a7"}
    assert fake.started == ["a0", "b1", "a1", "a2", "a3", "a4"]
    assert queue.checks.refused == 3


@in_loop
async def test_a_full_queue_refuses_a_check_of_the_client_with_most(fake: Bcrypt) -> None:
    """A client without a check gets a place. With one check each, the last one is refused."""
    async with _queue(fake) as queue:
        for client in range(7):
            await queue.add(f"{client}", *(f"{client}-{number}" for number in range(4)))
        await queue.add("7", "7-0", "7-1", "7-2")
        await queue.add("a", "a1")
        await queue.add("b", "right b")
        assert queue.refused() == {"6-3"}
        for client in range(8, 40):
            await queue.add(f"{client}", f"{client}")
        # Of the clients with one check, the one that had its turn; then the newest.
        assert {"a1", "39"} <= queue.refused()
        assert "right b" not in queue.refused()
        assert len(queue.logins) - len(queue.refused()) == 1 + 32


@in_loop
async def test_a_check_is_cancelled_with_its_client(fake: Bcrypt) -> None:
    """Its place is free at once, and bcrypt does not run for it."""
    async with _queue(fake) as queue:
        await queue.add("a", "a1", "a2", "a3", "a4")
        for password in ("a0", "a1", "a2", "a3"):
            queue.logins[password].cancel()
        await queue.add("a", "a5", "a6", "a7")
        assert not {"a5", "a6", "a7"} & {p for p, login in queue.logins.items() if login.done()}
    assert fake.started == ["a0", "a4", "a5", "a6", "a7"]


@in_loop
async def test_verified_credentials_never_wait(fake: Bcrypt) -> None:
    """They are known after their first check, also when several requests with them wait."""
    async with _queue(fake) as queue:
        await queue.add("b", "right 1", "right 2")
        fake.go.set()
        assert [await queue.logins[f"right {number}"] for number in (1, 2)] == [True, True]
        fake.go.clear()
        await queue.add("b", "wrong")
        assert await queue.checks.matches("c", b"right", RIGHT, HASH, 10) is True
    assert fake.started == ["a0", "right 1", "wrong"]


@in_loop
async def test_a_cancelled_right_login_is_verified(fake: Bcrypt) -> None:
    """The next request with it does not wait."""
    async with _queue(fake, "right 1") as queue:
        queue.logins["right 1"].cancel()
        fake.go.set()
        await queue.add("b", "right 2")
        assert await queue.logins["right 2"] is True
    assert fake.started == ["right 1"]


@in_loop
async def test_a_check_that_raises_is_not_answered_and_the_next_ones_run(fake: Bcrypt) -> None:
    """Whatever the exception. Without this the others wait for the next login."""
    async with _queue(fake, "panic 0") as queue:
        await queue.add("a", "a1", "panic 1", "right 1")
        with structlog.testing.capture_logs() as logs:
            fake.go.set()
            async with asyncio.timeout(TIMEOUT):
                answers = await asyncio.gather(*queue.logins.values())
    assert answers == [None, False, None, True]
    assert (queue.checks.failed, queue.checks.refused) == (1, 2)
    assert [each["problem"] for each in logs] == ["the call was ended by PanicError"] * 2


@in_loop
async def test_logins_are_checked_again_once_threads_can_start(fake: Bcrypt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile they are not refused as wrong: the password may be right."""

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    fake.go.set()
    checks = PasswordChecks()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert await checks.matches("a", b"right", RIGHT, HASH, 10) is None
    async with asyncio.timeout(TIMEOUT):
        assert await checks.matches("a", b"right", RIGHT, HASH, 10) is True
    assert (checks.failed, checks.refused) == (0, 1)


@in_loop
async def test_what_is_remembered_is_bounded(fake: Bcrypt, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest credentials and clients are forgotten."""
    monkeypatch.setattr(checks, "_VERIFIED", 2)
    monkeypatch.setattr(checks, "_CLIENTS", 2)
    fake.go.set()
    async with _queue(fake) as queue:
        for number in (1, 2, 3, 2):
            assert await queue.checks.matches(f"{number}", f"{number}".encode(), RIGHT, HASH, 10)
        assert await queue.checks.matches("4", b"1", RIGHT, HASH, 10)
        assert await queue.checks.matches("4", b"2", RIGHT, HASH, 10)
        assert (len(queue.checks._verified), len(queue.checks._last)) == (2, 2)
    assert len(fake.started) == 5


def _request(password: str) -> bytes:
    login = base64.b64encode(f"u:{password}".encode()).decode()
    return f"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic {login}\r\n\r\n".encode()


@pytest.fixture
def served(serve: Callable[..., Served], tmp_path: Path, fake: Bcrypt) -> Served:
    """A server with a password, for which 127.0.0.1 logged in, and a check of 127.0.0.2 that runs."""
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{u: {HASH}}}")
    served = serve(tmp_path / "web.yml", idle_timeout=TIMEOUT, answer_timeout=TIMEOUT)
    fake.go.set()
    assert _scrape(served) == 200
    fake.go.clear()
    served.connect(source="127.0.0.2").sendall(_request("wrong"))
    wait_for(lambda: fake.started == [RIGHT, "wrong"], TIMEOUT)
    return served


def _scrape(served: Served, source: str = "127.0.0.1", password: str = RIGHT) -> int:
    connection = served.connect(source=source)
    connection.sendall(_request(password))
    return parse(read_all(connection)).status


def _waiting(served: Served) -> int:
    return len(served.server.checks._waiting())


def test_wrong_passwords_do_not_lock_scrapers_out(served: Served, fake: Bcrypt) -> None:
    """During 120 wrong logins 20 of 20 scrapes are answered. A first login waits for one check per other address."""
    for number in range(20):
        for source in ("127.0.0.2", "127.0.0.3"):
            for _ in range(3):
                served.connect(source=source).sendall(_request(f"wrong {number}"))
        assert _scrape(served) == 200
    wait_for(lambda: _waiting(served) == 8, TIMEOUT)
    assert len(fake.started) == 2

    first = served.connect(source="127.0.0.4")
    first.sendall(_request(f"{RIGHT} first"))
    wait_for(lambda: _waiting(served) == 9, TIMEOUT)
    fake.go.set()
    assert parse(read_all(first)).status == 200
    assert fake.started.index(f"{RIGHT} first") == 3


def test_an_address_that_logged_in_keeps_its_connection(served: Served) -> None:
    """Although 100 others connect before it sends its request."""
    scraper = served.connect()
    for number in range(100):
        served.connect(source=f"127.1.0.{number + 1}").sendall(b"GET")
    wait_for(lambda: served.server.connections.evicted >= 30, TIMEOUT)

    scraper.sendall(_request(RIGHT))

    assert parse(read_all(scraper)).status == 200


def test_too_many_logins_of_an_address_are_refused_at_once(served: Served, fake: Bcrypt) -> None:
    """503 with Retry-After, without a check. Checks leave the queue with their clients."""
    waiting = [served.connect(source="127.0.0.2") for _ in range(4)]
    for connection in waiting:
        connection.sendall(_request("waiting"))
    wait_for(lambda: _waiting(served) == 4, TIMEOUT)
    refused = served.connect(source="127.0.0.2")
    refused.sendall(_request("refused"))
    answer = parse(read_all(refused))
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert PAGE.text not in answer.body
    assert served.server.checks.refused == 1

    for connection in waiting:
        connection.close()
    wait_for(lambda: len(served.server.connections) == 1, TIMEOUT)
    fake.go.set()
    assert _scrape(served, "127.0.0.5", "wrong") == 401
    assert fake.started == [RIGHT, "wrong", "wrong"]
    assert served.server.checks.failed == 2
