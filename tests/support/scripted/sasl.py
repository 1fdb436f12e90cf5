"""The broker's side of SASL: PLAIN, SCRAM, OAUTHBEARER, and GSSAPI with the tickets of `tests/support/tickets.py`."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from kafka.errors import SaslAuthenticationFailedError, UnsupportedSaslMechanismError

ITERATIONS = 4096
BAD_MECHANISM: int = UnsupportedSaslMechanismError.errno
BAD_LOGIN: int = SaslAuthenticationFailedError.errno


@dataclass(slots=True)
class Accounts:
    """Who may log in: passwords by user, or with OAUTHBEARER extensions by token, such as `a=b`.

    With GSSAPI services by principal, such as `kafka@localhost`; `layers` is the mask of those that are offered.

    `session_ms` is the lifetime of a login, 0 for no limit.
    """

    mechanism: str
    users: dict[str, str]
    session_ms: int = 0
    layers: int = 1


@dataclass(slots=True)
class Login:
    """The login of one connection."""

    accounts: Accounts | None
    done: bool = False
    until: float = float("inf")
    """Seconds of the server's clock at which the session ends."""
    _first: dict[str, str] = field(default_factory=dict)
    _said: list[str] = field(default_factory=list)

    def valid(self, now: float) -> bool:
        return self.accounts is None or (self.done and now < self.until)

    def step(self, message: bytes, now: float) -> bytes | None:
        """Take one message of the client; return the answer, or `None` when the login failed."""
        assert self.accounts is not None
        if self.accounts.mechanism == "PLAIN":
            _, user, password = message.decode().split("\0")
            answer = b"" if self.accounts.users.get(user) == password else None
            self._finish(now, good=answer is not None)
            return answer
        if self.accounts.mechanism == "OAUTHBEARER":
            return self._bearer(message.decode(), now)
        if self.accounts.mechanism == "GSSAPI":
            return self._ticket(message, now)
        return self._challenge(message.decode()) if not self._said else self._proof(message.decode(), now)

    def _bearer(self, message: str, now: float) -> bytes | None:
        """Refuse as Kafka does: with a document, and the error only after the client's next message."""
        assert self.accounts is not None
        if message == "\1":
            return None
        head, bearer, *extensions, end, after = message.split("\1")
        assert (head, end, after) == ("n,,", "", "")
        token = bearer.removeprefix("auth=Bearer ")
        good = self.accounts.users.get(token) == ",".join(extensions)
        self._finish(now, good=good)
        return b"" if good else b'{"status":"invalid_token"}'

    def _ticket(self, message: bytes, now: float) -> bytes | None:
        """Accept a ticket; then, after an empty message, offer the layers and take the choice (RFC 4752)."""
        assert self.accounts is not None
        if not self._said:
            principal, _, service = message.decode().partition(" for ")
            self._said = [principal]
            return b"accepted" if self.accounts.users.get(principal) == service else None
        if not message:
            return b"wrapped:" + bytes([self.accounts.layers, 0, 255, 255])
        good = message == b"wrapped:\1\0\0\0" + self._said[0].encode()
        self._finish(now, good=good)
        return b"" if good else None

    def _finish(self, now: float, *, good: bool) -> None:
        assert self.accounts is not None
        self.done = good
        self.until = now + self.accounts.session_ms / 1000 if self.accounts.session_ms else float("inf")
        self._said = []

    def _challenge(self, message: str) -> bytes:
        bare = message.split(",", 2)[2]
        self._first = _fields(bare) | {"s": base64.b64encode(secrets.token_bytes(16)).decode()}
        self._first["r"] += secrets.token_hex(8)
        answer = f"r={self._first['r']},s={self._first['s']},i={ITERATIONS}"
        self._said = [bare, answer]
        return answer.encode()

    def _proof(self, message: str, now: float) -> bytes | None:
        assert self.accounts is not None
        name = self.accounts.mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        password = self.accounts.users.get(self._first["n"], secrets.token_hex()).encode()
        salted = hashlib.pbkdf2_hmac(name, password, base64.b64decode(self._first["s"]), ITERATIONS)
        without_proof, proof = message.rsplit(",p=", 1)
        signed = ",".join([*self._said, without_proof]).encode()
        client_key = hmac.digest(salted, b"Client Key", name)
        signature = hmac.digest(hashlib.new(name, client_key).digest(), signed, name)
        expected = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        good = hmac.compare_digest(expected, base64.b64decode(proof))
        self._finish(now, good=good)
        server = hmac.digest(hmac.digest(salted, b"Server Key", name), signed, name)
        return b"v=" + base64.b64encode(server) if good else None


def _fields(message: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.split(","))
