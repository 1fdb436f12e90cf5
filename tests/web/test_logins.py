"""The limit of password checks, and their work. bcrypt is a fake that waits for the test."""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ParamSpec

import bcrypt
import pytest
import structlog.testing

from kafka_warden.web import login
from kafka_warden.web.login import WAITING, Logins
from sandbox import wait_for
from tests.web.conftest import PAGE, TIMEOUT, Serve, parse, read_all, request
from tests.web.test_auth import header

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
        self.started.append(password.decode())
        assert self.go.wait(TIMEOUT), hashed
        if self.started[-1].startswith("panic"):
            raise PanicError
        return password.decode().startswith(RIGHT)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bcrypt]:
    fake = Bcrypt()
    monkeypatch.setattr(bcrypt, "checkpw", fake.checkpw)
    yield fake
    fake.go.set()


class Waiting:
    """Logins that wait for their check."""

    def __init__(self) -> None:
        self.logins = Logins()
        self.tasks: list[asyncio.Task[bool | None]] = []

    async def add(self, *passwords: str) -> None:
        for password in passwords:
            self.tasks.append(asyncio.create_task(self.allows(password)))
            for _ in range(3):
                await asyncio.sleep(0)

    async def allows(self, password: str) -> bool | None:
        return await self.logins.allows(header("u", password).removeprefix("Authorization: "), {"u": HASH})


def in_loop(test: Callable[P, Coroutine[None, None, None]]) -> Callable[P, None]:
    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@asynccontextmanager
async def _waiting(fake: Bcrypt, *passwords: str) -> AsyncIterator[Waiting]:
    waiting = Waiting()
    await waiting.add(*passwords)
    await asyncio.to_thread(wait_for, lambda: fake.started, TIMEOUT)
    yield waiting
    fake.go.set()
    await asyncio.gather(*waiting.tasks, return_exceptions=True)


@in_loop
async def test_few_checks_wait_and_further_ones_are_refused_at_once(fake: Bcrypt) -> None:
    passwords = [f"wrong {number}" for number in range(WAITING)]
    async with _waiting(fake, *passwords) as waiting:
        assert await waiting.allows("right") is None
        assert (fake.started, waiting.logins.refused) == (["wrong 0"], 1)
        fake.go.set()
        assert await asyncio.gather(*waiting.tasks) == [False] * WAITING
        assert await waiting.allows("right") is True
    assert fake.started == [*passwords, "right"]
    assert (waiting.logins.failed, waiting.logins.refused) == (WAITING, 1)


@in_loop
async def test_verified_credentials_never_wait(fake: Bcrypt) -> None:
    async with _waiting(fake, "right", "right", "wrong") as waiting:
        fake.go.set()
        assert await asyncio.gather(*waiting.tasks) == [True, True, False]
        fake.go.clear()
        await waiting.add(*(f"wrong {number}" for number in range(2 * WAITING)))
        assert await waiting.allows("right") is True
        assert fake.started[:2] == ["right", "wrong"]


@in_loop
async def test_a_login_that_is_given_up_frees_its_place(fake: Bcrypt) -> None:
    async with _waiting(fake, *(f"wrong {number}" for number in range(WAITING))) as waiting:
        waiting.tasks[1].cancel()
        await waiting.add("right")
        fake.go.set()
        assert await waiting.tasks[-1] is True


@in_loop
async def test_a_check_that_raises_is_not_answered_and_the_next_ones_run(fake: Bcrypt) -> None:
    async with _waiting(fake, "panic 0", "wrong", "panic 1", "right") as waiting:
        with structlog.testing.capture_logs() as logs:
            fake.go.set()
            async with asyncio.timeout(TIMEOUT):
                answers = await asyncio.gather(*waiting.tasks)
    assert answers == [None, False, None, True]
    assert (waiting.logins.failed, waiting.logins.refused) == (1, 2)
    assert [each["problem"] for each in logs] == ["the call was ended by PanicError"] * 2


@in_loop
async def test_logins_are_checked_again_once_threads_can_start(fake: Bcrypt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile they are not refused as wrong: the password may be right."""

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    fake.go.set()
    waiting = Waiting()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        assert await waiting.allows(RIGHT) is None
    async with asyncio.timeout(TIMEOUT):
        assert await waiting.allows(RIGHT) is True
    assert (waiting.logins.failed, waiting.logins.refused) == (0, 1)


@in_loop
async def test_verified_credentials_are_bounded(fake: Bcrypt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "_VERIFIED", 2)
    fake.go.set()
    waiting = Waiting()
    for number in (1, 2, 1, 3, 1, 2):
        assert await waiting.allows(f"right {number}")
    assert fake.started == [f"right {number}" for number in (1, 2, 3, 2)]


def test_wrong_passwords_do_not_lock_a_scraper_out(serve: Serve, tmp_path: Path, fake: Bcrypt) -> None:
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{u: {HASH}}}")
    served = serve(tmp_path / "web.yml", idle_timeout=TIMEOUT, answer_timeout=TIMEOUT)
    fake.go.set()
    assert served.get("/metrics", header("u", RIGHT)).status == 200
    fake.go.clear()
    flood = []
    for number in range(20):
        for _ in range(6):
            flood.append(served.connect())
            flood[-1].sendall(request("/metrics", "Connection: close", header("u", f"wrong {number}")))
        assert served.get("/metrics", header("u", RIGHT)).body == PAGE.text
    wait_for(lambda: served.server.logins.refused == len(flood) - WAITING, TIMEOUT)
    assert len(fake.started) == 2

    refused = parse(read_all(flood[-1]))
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert PAGE.text not in refused.body
    fake.go.set()
    assert {parse(read_all(each)).status for each in flood[:-1]} == {401, 503}
