"""An OIDC issuer on loopback: a token endpoint for client credentials, and the keys that its tokens are signed with."""

import base64
import json
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qsl

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from sandbox.passwords import new_password
from sandbox.serving import Reply, Server

AUDIENCE: Final = "kafka"
_KEY: Final = "key-1"


class Issuer(Server):
    """Issues tokens to clients that know their secret; the subject is the client's id.

    Attributes:
        clients: Secret by client id.
        lifetime: Seconds that a new token lives.
        audience: `aud` of new tokens.
        requests: The requests for a token so far: client id, scope, and the status of the answer.
        down: Whether requests for tokens get HTTP 503.
    """

    def __init__(self, *clients: str) -> None:
        super().__init__(self._reply)
        self.clients = {client: new_password() for client in clients}
        self.lifetime = 3600.0
        self.audience = AUDIENCE
        self.requests: list[tuple[str, str, int]] = []
        self.down = False
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def url(self) -> str:
        """The issuer's own name, `iss` of its tokens."""
        return f"http://{self.address}"

    @property
    def token_url(self) -> str:
        """The token endpoint."""
        return f"{self.url}/token"

    @property
    def keys_url(self) -> str:
        """The public keys, which brokers read."""
        return f"{self.url}/keys"

    def token(self, subject: str, **claims: Any) -> str:
        """Sign a token; `claims` change those that it would have."""
        now = int(time.time())
        body = {
            "iss": self.url,
            "aud": self.audience,
            "sub": subject,
            "iat": now,
            "exp": now + round(self.lifetime),
            **claims,
        }
        head = {"alg": "RS256", "typ": "JWT", "kid": _KEY}
        signed = ".".join(_text(json.dumps(part).encode()) for part in (head, body))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_text(signature)}"

    def keys(self) -> dict[str, Any]:
        """The public key as a JWKS document."""
        public = self._key.public_key().public_numbers()
        numbers = {name: _text(_bytes(value)) for name, value in (("n", public.n), ("e", public.e))}
        return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY, **numbers}]}

    def _reply(self, request: BaseHTTPRequestHandler, body: bytes) -> Reply:
        if request.command == "GET":
            status, document = HTTPStatus.OK, self.keys()
        else:
            status, document = self._answer(request.headers["Authorization"] or "", dict(parse_qsl(body.decode())))
        return status, {"Content-Type": "application/json"}, json.dumps(document).encode()

    def _answer(self, authorization: str, form: dict[str, str]) -> tuple[HTTPStatus, dict[str, Any]]:
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        status, document = self._check(client, secret, form)
        self.requests.append((client, form.get("scope", ""), status))
        return status, document

    def _check(self, client: str, secret: str, form: dict[str, str]) -> tuple[HTTPStatus, dict[str, Any]]:
        if self.down:
            return HTTPStatus.SERVICE_UNAVAILABLE, {}
        if form.get("grant_type") != "client_credentials":
            return HTTPStatus.BAD_REQUEST, {"error": "unsupported_grant_type"}
        if self.clients.get(client) != secret:
            # As a careless issuer would: what it says is shown, and must not show the secret.
            return HTTPStatus.UNAUTHORIZED, {"error": "invalid_client", "error_description": f"wrong: {secret}"}
        token = self.token(client)
        return HTTPStatus.OK, {"access_token": token, "token_type": "Bearer", "expires_in": round(self.lifetime)}


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
