"""HTTP basic authentication against bcrypt hashes, as exporter-toolkit does it.

An unknown user costs one bcrypt, as a known one does. Verified credentials are cached: a scrape does not cost a bcrypt
each time. Refused ones are not cached, so an attacker cannot evict the verified ones. The cache key covers user, hash
and password, each with its length. In CVE-2022-46146 it was the hash alone.
"""

import asyncio
import base64
import binascii
import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import bcrypt

CHALLENGE: Final = 'Basic realm="kafka-warden", charset="UTF-8"'
_SCHEME: Final = "basic"
_LONGEST_PASSWORD: Final = 72
"""Bytes. bcrypt uses no more. Its Python binding raises on more, and Go's ignores them."""
_CACHED: Final = 100
_COST: Final = slice(4, 6)
_NO_PASSWORD: Final = "." * 21 + "u" + "." * 31
"""Salt and digest that match no password."""


class Authenticator:
    """Checks `Authorization` headers, one bcrypt at a time on its own thread."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="bcrypt")
        self._key = os.urandom(32)
        self._verified: OrderedDict[bytes, None] = OrderedDict()

    async def allows(self, header: str, users: Mapping[str, str]) -> bool:
        """Return whether the header, which may be empty, has a user and the right password of `users` (name to hash).

        Without users every request is allowed.
        """
        if not users:
            return True
        credentials = _parse(header)
        if credentials is None:
            return False
        user, password = credentials
        hashed = users.get(user)
        # With the highest cost of all users: the response time does not reveal which users exist.
        unmatchable = f"$2b${max(known[_COST] for known in users.values())}${_NO_PASSWORD}"
        key = self._digest(user, hashed or "", password)
        if hashed is not None and key in self._verified:
            self._verified.move_to_end(key)
            return True
        loop = asyncio.get_running_loop()
        right = await loop.run_in_executor(self._executor, _check, password, hashed or unmatchable)
        if not right or hashed is None:
            return False
        self._cache(key)
        return True

    def close(self) -> None:
        """Start no more bcrypt checks."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _cache(self, key: bytes) -> None:
        self._verified[key] = None
        while len(self._verified) > _CACHED:
            self._verified.popitem(last=False)

    def _digest(self, *parts: str) -> bytes:
        digest = hashlib.blake2b(key=self._key)
        for part in parts:
            content = part.encode()
            digest.update(len(content).to_bytes(8, "big") + content)
        return digest.digest()


def _parse(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != _SCHEME:
        return None
    try:
        user, separator, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (user, password) if separator else None


def _check(password: str, hashed: str) -> bool:
    try:
        return bcrypt.checkpw(password.encode()[:_LONGEST_PASSWORD], hashed.encode())
    except ValueError:
        return False
