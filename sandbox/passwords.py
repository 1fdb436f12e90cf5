"""Passwords that live as long as their cluster, in files that only their owner may read."""

import base64
import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

SCRAM_ITERATIONS = 4096
SCRAM_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


@dataclass(frozen=True)
class ScramCredential:
    """The form in which the cluster stores a password (RFC 5802); no process needs it in clear text."""

    mechanism: str
    salt: bytes
    salted_password: bytes
    iterations: int = SCRAM_ITERATIONS

    def format_argument(self, user: str) -> str:
        """The value of kafka-storage's --add-scram."""
        salt, salted = (base64.b64encode(part).decode() for part in (self.salt, self.salted_password))
        return f'{self.mechanism}=[name={user},iterations={self.iterations},salt="{salt}",saltedpassword="{salted}"]'


def new_password() -> str:
    """A password that no other cluster has, of characters that need no quoting."""
    return secrets.token_urlsafe(18)


def scram_credentials(password: str) -> list[ScramCredential]:
    """The credential of a password for each mechanism."""
    salt = os.urandom(16)
    return [
        ScramCredential(mechanism, salt, hashlib.pbkdf2_hmac(name, password.encode(), salt, SCRAM_ITERATIONS))
        for mechanism, name in SCRAM_HASHES.items()
    ]


def write_secret(path: Path, text: str) -> Path:
    """Write a file of mode 600, whatever it was before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    return path
