"""HTTP basic authentication against bcrypt hashes, as exporter-toolkit does it.

Unknown users cost one bcrypt as known ones do. Verified credentials are remembered, so that a scrape does not cost a
bcrypt each time; refused ones are not, so that nobody can push the good ones out. CVE-2022-46146 came from a key that
was the hash alone: here it covers user, hash and password, each with its length.
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
"""bcrypt looks at no more bytes; its Python binding raises on more, Go's ignores them."""
_MOST_REMEMBERED: Final = 100
_COST: Final = slice(4, 6)
_NOBODY: Final = "." * 21 + "u" + "." * 31
"""Salt and digest of a hash that no password has."""


class Authenticator:
    """Checks `Authorization` headers, one bcrypt at a time on a thread of its own."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="bcrypt")
        self._key = os.urandom(32)
        self._verified: OrderedDict[bytes, None] = OrderedDict()

    async def allows(self, header: str, users: Mapping[str, str]) -> bool:
        """Tell whether the header names a user with the right password. With no users everyone is allowed.

        Args:
            header: the `Authorization` header, empty when there is none.
            users: user name to bcrypt hash.
        """
        if not users:
            return True
        credentials = _parse(header)
        if credentials is None:
            return False
        user, password = credentials
        hashed = users.get(user)
        key = self._digest(user, hashed or "", password)
        if hashed is not None and key in self._verified:
            self._verified.move_to_end(key)
            return True
        loop = asyncio.get_running_loop()
        right = await loop.run_in_executor(self._executor, _check, password, hashed or _hash_of_nobody(users))
        if right and hashed is not None:
            self._remember(key)
        return right and hashed is not None

    def close(self) -> None:
        """Start no further bcrypt."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _digest(self, *parts: str) -> bytes:
        digest = hashlib.blake2b(key=self._key)
        for part in parts:
            content = part.encode()
            digest.update(len(content).to_bytes(8, "big") + content)
        return digest.digest()

    def _remember(self, key: bytes) -> None:
        self._verified[key] = None
        while len(self._verified) > _MOST_REMEMBERED:
            self._verified.popitem(last=False)


def _parse(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != _SCHEME:
        return None
    try:
        user, separator, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (user, password) if separator else None


def _hash_of_nobody(users: Mapping[str, str]) -> str:
    # As costly as the costliest user's, so that the time tells nobody who exists.
    cost = max(hashed[_COST] for hashed in users.values())
    return f"$2b${cost}${_NOBODY}"


def _check(password: str, hashed: str) -> bool:
    try:
        return bcrypt.checkpw(password.encode()[:_LONGEST_PASSWORD], hashed.encode())
    except ValueError:
        return False
