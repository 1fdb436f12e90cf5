"""HTTP basic authentication against bcrypt hashes, as exporter-toolkit does it.

A check takes as long for an unknown user, and for one with a cheaper hash, as for the user with the highest cost.
Verified credentials are cached: a scrape does not cost a bcrypt each time, and does not wait for the checks of others.
Refused ones are not cached, so an attacker cannot evict the verified ones. The cache key covers user, hash and
password, each with its length. In CVE-2022-46146 it was the hash alone.
"""

import asyncio
import base64
import binascii
import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import bcrypt
import structlog

from kafka_warden.daemon_threads import DaemonThreads

CHALLENGE: Final = 'Basic realm="kafka-warden", charset="UTF-8"'
WAITING: Final = 8
"""Checks that run or wait. With the cost 10 the last one waits for half a second."""
_LONGEST_PASSWORD: Final = 72
"""Bytes. bcrypt uses no more. Its Python binding raises on more, and Go's ignores them."""
_VERIFIED: Final = 100
_NO_PASSWORD: Final = "." * 21 + "u" + "." * 31
"""Salt and digest that match no password."""


class Logins:
    """Checks `Authorization` headers, one at a time on a thread of its own. Other threads may read the counts."""

    def __init__(self) -> None:
        self._threads = DaemonThreads(1, "bcrypt")
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._key = os.urandom(32)
        self._verified: OrderedDict[bytes, None] = OrderedDict()
        self.failed = 0
        """Wrong passwords and unknown users."""
        self.refused = 0
        """Not checked, because too many were waiting or the check could not run."""

    async def allows(self, header: str, users: Mapping[str, str]) -> bool | None:
        """Return whether the header, which may be empty, has a user and the right password of `users` (name to hash).

        `None`: it cannot be checked now. Without users every request is allowed.
        """
        if not users:
            return True
        credentials = _parse(header)
        if credentials is None:
            return False
        user, password = credentials
        # As expensive as the most expensive user: the response time does not reveal which users exist.
        cost = max(map(_cost_of, users.values()))
        hashed = users.get(user, _unmatchable(cost))
        key = self._digest(user, hashed, password)
        if key in self._verified:
            self._verified.move_to_end(key)
            return True
        if self._waiting >= WAITING:
            self.refused += 1
            return None
        self._waiting += 1
        try:
            async with self._turn:
                # Several requests may have waited with the same credentials.
                right = key in self._verified or await self._check(password, hashed, cost)
        finally:
            self._waiting -= 1
        if right:
            self._verified[key] = None
            if len(self._verified) > _VERIFIED:
                self._verified.popitem(last=False)
        self.failed += right is False
        self.refused += right is None
        return right and user in users

    async def _check(self, password: str, hashed: str, cost: int) -> bool | None:
        try:
            return await self._threads.run(lambda: _matches(password, hashed, cost))
        except Exception as failure:  # noqa: BLE001  # the other checks wait
            structlog.get_logger(__name__).error("a password cannot be checked", problem=str(failure))
            return None

    def _digest(self, *parts: str) -> bytes:
        digest = hashlib.blake2b(key=self._key)
        for part in parts:
            content = part.encode()
            digest.update(len(content).to_bytes(8, "big") + content)
        return digest.digest()


def _parse(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, separator, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (user, password) if separator else None


def _cost_of(hashed: str) -> int:
    """Return the cost of a hash; each step doubles the time."""
    return int(hashed[4:6])


def _unmatchable(cost: int) -> str:
    return f"$2b${cost:02}${_NO_PASSWORD}"


def _matches(password: str, hashed: str, cost: int) -> bool:
    used = password.encode()[:_LONGEST_PASSWORD]
    try:
        # The sum of a cost and of all from it to one below another one is that other one: 4 and 4, 5 is 6.
        for missing in range(_cost_of(hashed), cost):
            bcrypt.checkpw(used, _unmatchable(missing).encode())
        return bcrypt.checkpw(used, hashed.encode())
    except ValueError:
        return False
