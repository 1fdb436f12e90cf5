"""HTTP basic authentication against bcrypt hashes, as exporter-toolkit does it.

A check takes as long for an unknown user, and for one with a cheaper hash, as for the user with the highest cost.
Verified credentials are cached: a scrape does not cost a bcrypt each time. Refused ones are not cached, so an attacker
cannot evict the verified ones. The cache key covers user, hash and password, each with its length. In CVE-2022-46146 it
was the hash alone.
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping
from typing import Final

from kafka_warden.web.checks import PasswordChecks, cost_of, unmatchable

CHALLENGE: Final = 'Basic realm="kafka-warden", charset="UTF-8"'
_SCHEME: Final = "basic"


class Authenticator:
    """Checks `Authorization` headers."""

    def __init__(self) -> None:
        self.checks = PasswordChecks()
        self._key = os.urandom(32)

    async def allows(self, client: str, header: str, users: Mapping[str, str]) -> bool | None:
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
        cost = max(map(cost_of, users.values()))
        hashed = users.get(user, unmatchable(cost))
        matches = await self.checks.matches(client, self._digest(user, hashed, password), password, hashed, cost)
        return None if matches is None else matches and user in users

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
