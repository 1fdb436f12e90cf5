"""A worker with hostile clients, all of the address of the scraper. A client whose time is over comes back."""

import asyncio
import base64
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

WRONG_LOGINS = 60
"""Per second."""
PATHS = ("/metrics", "/", "/api/v1/moves?limit=1000")
"""Wrong logins and half requests are for each of them in turn."""
UNREAD_PAGES, HALF_REQUESTS, SILENT = 64, 300, 20
REQUEST_SECONDS, ANSWER_SECONDS = 5.0, 8.0
"""After which the server closes a connection. Its client comes back then, so as many are open all the time."""
SMALL_BUFFER = 4096


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[None, Callable[[str], Any]]]:
    """Steps: `start`, and `hold`, after which they send nothing, stay connected, and the requests are returned."""
    flood = _Flood(argument["port"], f"{argument['user']}:{argument['password']}")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield None, lambda name: asyncio.run_coroutine_threadsafe(getattr(flood, name)(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


class _Flood:
    def __init__(self, port: int, reader: str) -> None:
        self._port = port
        self._reader = reader
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        self._going = True
        self._count = Counter[str]()
        self._held: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Return when each client has connected or failed once."""
        await asyncio.gather(
            self._connect(self._silent, SILENT, REQUEST_SECONDS),
            self._connect(self._half, HALF_REQUESTS, REQUEST_SECONDS),
            self._connect(self._unread, UNREAD_PAGES, ANSWER_SECONDS),
        )
        self._tasks.append(asyncio.create_task(self._wrong_logins()))

    async def _connect(self, connect: Callable[[], Awaitable[None]], clients: int, seconds: float) -> None:
        """Connect clients evenly: all at once would measure TLS handshakes, which cost the server milliseconds each."""
        for _ in range(clients):
            with suppress(OSError):
                await connect()
            self._tasks.append(asyncio.create_task(self._again(connect, seconds)))
            await asyncio.sleep(seconds / clients)

    async def hold(self) -> dict[str, int]:
        """Send nothing any more."""
        self._going = False
        for task in self._tasks:
            task.cancel()
        return dict(self._count)

    async def _again(self, connect: Callable[[], Awaitable[None]], seconds: float) -> None:
        while self._going:
            await asyncio.sleep(seconds)
            with suppress(OSError):
                await connect()

    async def _wrong_logins(self) -> None:
        number, loop = 0, asyncio.get_running_loop()
        began = loop.time()
        while self._going:
            number += 1
            self._count["wrong logins"] = number
            self._tasks.append(asyncio.create_task(self._wrong(number)))
            await asyncio.sleep(began + number / WRONG_LOGINS - loop.time())

    async def _wrong(self, number: int) -> None:
        with suppress(OSError):
            reader, writer = await self._open()
            writer.write(_request(f"scraper:wrong {number}", PATHS[number % len(PATHS)]))
            answer = await reader.read(64)
            self._count[f"wrong logins answered {answer[9:12].decode() or 'by a close'}"] += 1
            writer.close()

    async def _silent(self) -> None:
        self._held.append(await asyncio.open_connection("127.0.0.1", self._port))
        self._count["silent TLS clients"] += 1

    async def _half(self) -> None:
        _, writer = await self._open()
        path = PATHS[self._count["half requests"] % len(PATHS)]
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Slow: ".encode())
        self._count["half requests"] += 1

    async def _unread(self) -> None:
        small = socket.socket()
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        small.setblocking(False)  # noqa: FBT003  # the socket module's own signature
        await asyncio.get_running_loop().sock_connect(small, ("127.0.0.1", self._port))
        _, writer = await self._open(small)
        writer.write(_request(self._reader))
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # of every socket's transport
        self._count["pages that are not read"] += 1

    async def _open(self, connected: socket.socket | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        where: dict[str, Any] = (
            {"sock": connected, "server_hostname": "server"} if connected else {"host": "127.0.0.1", "port": self._port}
        )
        opened = await asyncio.open_connection(**where, ssl=self._context)
        self._held.append(opened)
        return opened


def _request(login: str, path: str = "/metrics") -> bytes:
    encoded = base64.b64encode(login.encode()).decode()
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {encoded}\r\n\r\n".encode()
