"""Password checks by bcrypt: one at a time, in a short queue that is fair to clients.

The next check is that of the client whose last one is longest ago. So wrong passwords of one client delay the first
login of another one by no more than the check that runs. Verified passwords are cached and never wait.
"""

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Final

import bcrypt
import structlog

from kafka_warden.daemon_threads import DaemonThreads

_LONGEST_PASSWORD: Final = 72
"""Bytes. bcrypt uses no more. Its Python binding raises on more, and Go's ignores them."""
_VERIFIED: Final = 100
_WAITING: Final = 32
_WAITING_PER_CLIENT: Final = 4
_CLIENTS: Final = 1000
"""Clients whose last check is remembered."""
_NO_PASSWORD: Final = "." * 21 + "u" + "." * 31
"""Salt and digest that match no password."""


@dataclass(eq=False, slots=True)
class _Check:
    client: str
    key: bytes
    password: str
    hashed: str
    cost: int
    result: asyncio.Future[bool | None]


class PasswordChecks:
    """Each check on a thread of its own, one at a time; the queue on the event loop's thread."""

    def __init__(self) -> None:
        self._threads = DaemonThreads(1, "bcrypt")
        self._verified: OrderedDict[bytes, None] = OrderedDict()
        self._queue: list[_Check] = []
        self._last: OrderedDict[str, int] = OrderedDict()
        """Client to the number of its last check."""
        self._started = 0
        self._worker: asyncio.Task[None] | None = None
        self.failed = 0
        """Wrong passwords and unknown users."""
        self.refused = 0
        """Not checked, because too many were waiting or the check could not run."""

    async def matches(self, client: str, key: bytes, password: str, hashed: str, cost: int) -> bool | None:
        """Return whether the password has this hash, or `None` when it cannot be checked now.

        The check takes the time of a hash with this `cost`. `key` identifies user, password and hash. A check whose
        caller is cancelled leaves the queue.
        """
        if key in self._verified:
            self._verified.move_to_end(key)
            return True
        check = _Check(client, key, password, hashed, cost, asyncio.get_running_loop().create_future())
        self._queue.append(check)
        self._refuse_above_limits(client)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await check.result

    def _refuse_above_limits(self, client: str) -> None:
        """Refuse the newest check of the client that has most, or of those that have as many had its turn last."""
        queue = self._waiting()
        held = Counter(check.client for check in queue)
        if held[client] > _WAITING_PER_CLIENT or len(queue) > _WAITING:
            newest = max(reversed(queue), key=lambda check: (held[check.client], self._turn(check)))
            newest.result.set_result(None)
            self.refused += 1

    def _waiting(self) -> list[_Check]:
        self._queue = [check for check in self._queue if not check.result.done()]
        return self._queue

    def _turn(self, check: _Check) -> int:
        return self._last.get(check.client, 0)

    async def _work(self) -> None:
        while queue := self._waiting():
            check = min(queue, key=self._turn)
            queue.remove(check)
            self._last[check.client] = self._started = self._started + 1
            self._last.move_to_end(check.client)
            right = check.key in self._verified or await self._run(check)
            if right:
                self._verified[check.key] = None
            self.failed += right is False
            self.refused += right is None
            if len(self._verified) > _VERIFIED:
                self._verified.popitem(last=False)
            if len(self._last) > _CLIENTS:
                self._last.popitem(last=False)
            if not check.result.done():
                check.result.set_result(right)

    async def _run(self, check: _Check) -> bool | None:
        try:
            return await self._threads.run(lambda: _matches(check.password, check.hashed, check.cost))
        except Exception as failure:  # noqa: BLE001  # the other checks wait
            structlog.get_logger(__name__).error("a password cannot be checked", problem=str(failure))
            return None


def cost_of(hashed: str) -> int:
    """Return the cost of a hash; each step doubles the time."""
    return int(hashed[4:6])


def unmatchable(cost: int) -> str:
    """Return a hash that no password has."""
    return f"$2b${cost:02}${_NO_PASSWORD}"


def _matches(password: str, hashed: str, cost: int) -> bool:
    used = password.encode()[:_LONGEST_PASSWORD]
    try:
        # The sum of a cost and of all from it to one below another one is that other one: 4 and 4, 5 is 6.
        for missing in range(cost_of(hashed), cost):
            bcrypt.checkpw(used, unmatchable(missing).encode())
        return bcrypt.checkpw(used, hashed.encode())
    except ValueError:
        return False
