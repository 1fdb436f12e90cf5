"""An OIDC issuer's token endpoint, asked with the client credentials grant (RFC 6749, section 4.4). It blocks."""

import http.client
import json
import math
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.http import TimeLimit, connection
from kafka_warden.clients.kafka.tokens import Token, read_token, refused, said
from kafka_warden.errors import SourceError, TokenError
from kafka_warden.settings.secrets import Secret, basic_authorization
from kafka_warden.settings.strict import reason

TIMEOUT: Final = 10.0
"""Seconds for the connection, and for each part of the answer."""
LONGEST: Final = 30.0
"""Seconds for all of it: less than those after which another thread asks (`tokens.GIVE_UP`)."""
MOST: Final = 256 * 1024
"""Bytes of an answer."""
UNKNOWN_LIFETIME: Final = 300.0
"""Seconds, where the issuer does not say how long a token lives."""
_ERROR: Final = re.compile(r"[\w.-]{1,60}")


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks for a token, and for what."""

    id: str
    secret: Secret
    scope: str
    extensions: Mapping[str, str]


class Oidc:
    """A token endpoint. `client` reads the credentials again; `context` makes the TLS context of an https URL."""

    def __init__(
        self,
        url: str,
        client: Callable[[], Client],
        files: tuple[Path, ...],
        context: Callable[[], ssl.SSLContext],
        *,
        urlencoded: bool = False,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        self.name = f"{parts.scheme}://{parts.netloc}{parts.path}"
        self._url = url
        self._client = client
        self._files = files
        self._context = context
        self._urlencoded = urlencoded

    def paths(self) -> tuple[Path, ...]:
        """Return the files with the secret and the trusted certificates."""
        return self._files

    def get(self) -> Token:
        """Ask for a token.

        Raises:
            SourceError: `AuthenticationError` if the issuer refuses the client, `TokenError` otherwise.
            ConfigError: a file cannot be used.
        """
        client = self._client()
        status, answer = self._ask(client)
        document = _json(answer)
        if status != http.HTTPStatus.OK:
            raise self._refusal(client, status, document)
        text, lives = document.get("access_token"), document.get("expires_in")
        if not isinstance(text, str):
            raise TokenError(f"{self.name} answered without a token (access_token); is this its token endpoint?")
        given = float(str(lives)) if _is_number(lives) else None
        token = read_token(text, given, self.name, client.extensions)
        if token.lifetime <= 0:
            raise TokenError(f"{self.name} gave a token that has expired; look at the clocks of both machines")
        return token if math.isfinite(token.lifetime) else replace(token, lifetime=UNKNOWN_LIFETIME)

    def _ask(self, client: Client) -> tuple[int, bytes]:
        """Return status and body of the answer."""
        body = {"grant_type": "client_credentials", **({"scope": client.scope} if client.scope else {})}
        request = urllib.request.Request(  # noqa: S310  # http or https, as the configuration was checked for
            self._url,
            urllib.parse.urlencode(body).encode(),
            {
                "Accept": "application/json",
                "Authorization": self._authorization(client).reveal(),
                "Content-Type": "application/x-www-form-urlencoded",
                "User-Agent": "kafka-warden",
            },
        )
        # One without further handlers follows no redirect, which would take the secret to another host.
        opener = urllib.request.OpenerDirector()
        opener.add_handler(urllib.request.ProxyHandler())
        try:
            with TimeLimit(LONGEST) as limit:
                opener.add_handler(_Handler(limit, self._context))
                with opener.open(request, timeout=TIMEOUT) as answer:
                    return int(answer.status), bytes(answer.read(MOST))
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise self._unreachable(failure) from None

    def _authorization(self, client: Client) -> Secret:
        if not self._urlencoded:
            return basic_authorization(client.id, client.secret)
        quote = urllib.parse.quote_plus
        return basic_authorization(quote(client.id), Secret(quote(client.secret.reveal())))

    def _refusal(self, client: Client, status: int, document: Mapping[str, Any]) -> SourceError:
        code, description = (str(document.get(name, "")) for name in ("error", "error_description"))
        if status in (400, 401, 403) and (_ERROR.fullmatch(code) or status == http.HTTPStatus.UNAUTHORIZED):
            why = code if _ERROR.fullmatch(code) else f"HTTP {status}"
            if description:
                why += f": {said(description)}"
            return refused(f"{self.name} refused the client {client.id} ({why}); check client id, secret and scope")
        if status in range(300, 400):
            return TokenError(f"{self.name} redirects (HTTP {status}); set the URL that it redirects to")
        return TokenError(f"{self.name} answered HTTP {status}, and no token")

    def _unreachable(self, failure: Exception) -> TokenError:
        cause = failure.reason if isinstance(failure, urllib.error.URLError) else failure
        if isinstance(cause, ssl.SSLCertVerificationError):
            return TokenError(
                f"the certificate of {self.name} is not trusted ({cause.verify_message}); set https.ca.location"
            )
        if isinstance(cause, TimeoutError):
            return TokenError(f"{self.name} did not answer in time; is a firewall dropping packets?")
        why = reason(cause) if isinstance(cause, OSError) else type(cause).__name__
        return TokenError(f"{self.name} cannot be reached ({why}); check the URL, and that the issuer runs")


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens connections with a time limit. `tls` makes the context of https."""

    def __init__(self, limit: TimeLimit, tls: Callable[[], ssl.SSLContext]) -> None:
        super().__init__()
        self._limit = limit
        self._tls = tls

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Send a request."""
        return self.do_open(partial(connection, self._limit), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Send a request over TLS."""
        return self.do_open(partial(connection, self._limit, context=self._tls()), req)


def _json(answer: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _is_number(value: object) -> bool:
    # Some issuers write it as text.
    return not isinstance(value, bool) and re.fullmatch(r"\d{1,9}(\.\d+)?", str(value), re.ASCII) is not None
