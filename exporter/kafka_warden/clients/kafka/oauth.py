"""OAUTHBEARER: its properties, in librdkafka's spelling or Java's, as a source of tokens, and an OIDC issuer as one.

The issuer's token endpoint is asked with the client credentials grant (RFC 6749, section 4.4). It blocks.
"""

import contextlib
import http.client
import json
import math
import re
import ssl
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka_warden.clients.http import TimeLimit, connection, explained, parts
from kafka_warden.clients.kafka import msk
from kafka_warden.clients.kafka.jaas import NAME, Jaas, read_jaas
from kafka_warden.clients.kafka.property_names import checked, refuse_unsupported
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.clients.kafka.tokens import Token, TokenFile, Tokens, read_token, refused, said
from kafka_warden.errors import ConfigError, SecretError, SourceError, TokenError
from kafka_warden.formatting import in_bytes
from kafka_warden.settings.secrets import Secret, SecretFile, SecretSource, basic_authorization
from kafka_warden.settings.strict import boolean

URL: Final = "sasl.oauthbearer.token.endpoint.url"
CLIENT_ID: Final = "sasl.oauthbearer.client.id"
CLIENT_SECRET: Final = "sasl.oauthbearer.client.secret"  # noqa: S105  # the name of a property
SCOPE: Final = "sasl.oauthbearer.scope"
EXTENSIONS: Final = "sasl.oauthbearer.extensions"

_CHOICES: Final = {
    "sasl.login.callback.handler.class": ("OAuthBearerLoginCallbackHandler",),
    "sasl.oauthbearer.grant.type": ("client_credentials",),
    "sasl.oauthbearer.jwt.retriever.class": (
        "ClientCredentialsJwtRetriever",
        "DefaultJwtRetriever",
        "FileJwtRetriever",
    ),
    "sasl.oauthbearer.metadata.authentication.type": ("none",),
    "sasl.oauthbearer.method": ("default", "oidc"),
}
"""Where clients can get tokens from, and what of it is supported. Classes are without their package."""

_EXTENSION: Final = re.compile(r"([A-Za-z]+)=([\x21-\x7e \t\r\n]+)")
"""KIP-342."""
_OPTION: Final = "extension_"
TIMEOUT: Final = 10.0
"""Seconds for the connection, and for each part of the answer."""
LONGEST: Final = 30.0
"""Seconds for all of it: less than those after which another thread asks (`tokens.GIVE_UP`)."""
MOST: Final = 256 * 1024
"""Bytes of an answer."""
UNKNOWN_LIFETIME: Final = 300.0
"""Seconds, where the issuer does not say how long a token lives."""
_ERROR: Final = re.compile(r"[\w.-]{1,60}")


def oauth_tokens(properties: Mapping[str, str], secrets: Mapping[str, SecretSource], hosts: Sequence[str]) -> Tokens:
    """Choose where tokens come from. Files are read once, so that a mistake shows at the start; no issuer is asked.

    `hosts` are those of the bootstrap servers.

    Raises:
        ConfigError: something is missing, cannot be used, or is not supported.
    """
    handler = properties.get("sasl.login.callback.handler.class", "").rpartition(".")[2]
    if properties.get("sasl.mechanism", "").upper() == msk.MECHANISM or handler in msk.HANDLERS:
        return Tokens(msk.msk_signer(properties, secrets, hosts))
    for name, known in _CHOICES.items():
        refuse_unsupported(properties, name, known)
    url = checked(properties, URL, _url, "")
    read = partial(ClientCredentials.read, properties, secrets)
    client = read()
    if url.startswith("file:"):
        if client.id:
            raise ConfigError(f"kafka.{CLIENT_ID}: no effect with a token from a file; remove it, or {URL}")
        file = SecretFile(Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path)))
        file.read()
        return Tokens(TokenFile(file, client.extensions))
    if not client.id:
        raise ConfigError(f"kafka.{CLIENT_ID}: missing; the issuer asks for it")
    if not client.secret.reveal():
        raise ConfigError(
            f"kafka.{CLIENT_SECRET}.file: missing; set it to the path of a file that holds the secret of {client.id}"
        )
    ca = properties.get("https.ca.location", "probe")
    trusted = TlsFiles(ca=None if ca == "probe" else Path(ca), ca_text=properties.get("https.ca.pem"))
    trusted.context()
    urlencoded = checked(properties, "sasl.oauthbearer.header.urlencode", boolean, "false")
    sources = (secrets.get(name) for name in (CLIENT_SECRET, "sasl.jaas.config"))
    files = (path for source in sources if source is not None for path in source.paths())
    return Tokens(Oidc(url, read, (*files, *trusted.paths()), trusted.context, urlencoded=urlencoded))


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """Who asks for a token, and for what."""

    id: str
    secret: Secret
    scope: str
    extensions: Mapping[str, str]

    @classmethod
    def read(cls, properties: Mapping[str, str], secrets: Mapping[str, SecretSource]) -> "ClientCredentials":
        """Read it from properties, and from the options of Java's login module, as they are now."""
        jaas = read_jaas(secrets.get("sasl.jaas.config"), "OAUTHBEARER", "OAuthBearerLoginModule")
        if any(name.startswith("ssl.") for name in jaas.options):
            raise SecretError(
                f"{NAME}: options ssl.* are not supported; set https.ca.location to a file with the certificates that"
                " sign the issuer's"
            )
        extensions = [name for name in jaas.options if name.startswith(_OPTION)]
        jaas.only(("clientId", "clientSecret", "scope", f"{_OPTION}NAME", *extensions))
        secret = secrets.get(CLIENT_SECRET)
        return cls(
            properties.get(CLIENT_ID) or jaas.text("clientId"),
            secret.read() if secret is not None else jaas.options.get("clientSecret", Secret("")),
            properties.get(SCOPE) or jaas.text("scope"),
            checked(properties, EXTENSIONS, _extensions, "") or _of_options(jaas, extensions),
        )


class Oidc:
    """A token endpoint. `client` reads the credentials again; `context` makes the TLS context of an https URL."""

    def __init__(
        self,
        url: str,
        client: Callable[[], ClientCredentials],
        files: tuple[Path, ...],
        context: Callable[[], ssl.SSLContext],
        *,
        urlencoded: bool = False,
    ) -> None:
        self._url = urllib.parse.urlsplit(url)
        self.name = f"{self._url.scheme}://{self._url.netloc}{self._url.path}"
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

    def _ask(self, client: ClientCredentials) -> tuple[int, bytes]:
        """Return status and body of the answer."""
        body = {"grant_type": "client_credentials", **({"scope": client.scope} if client.scope else {})}
        headers = {
            "Accept": "application/json",
            "Authorization": self._authorization(client).reveal(),
            "Connection": "close",
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "kafka-warden",
        }
        url, limit, large = self._url, TimeLimit(LONGEST), f"{self.name} answers with more than {in_bytes(MOST)}"
        path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
        try:
            tls = self._context() if url.scheme == "https" else None
            opened = connection(limit, url.hostname or "", url.port, timeout=TIMEOUT, context=tls, proxied=True)
            with limit, contextlib.closing(opened) as asked:
                asked.request("POST", path, urllib.parse.urlencode(body), headers)
                answer = asked.getresponse()
                return answer.status, b"".join(parts(answer, MOST, TokenError(large)))
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise self._unreachable(failure) from None

    def _authorization(self, client: ClientCredentials) -> Secret:
        if not self._urlencoded:
            return basic_authorization(client.id, client.secret)
        quote = urllib.parse.quote_plus
        return basic_authorization(quote(client.id), Secret(quote(client.secret.reveal())))

    def _refusal(self, client: ClientCredentials, status: int, document: Mapping[str, Any]) -> SourceError:
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
        fix = "check the URL, and that the issuer runs"
        if isinstance(failure, ssl.SSLCertVerificationError):
            fix = "set https.ca.location"
        elif isinstance(failure, TimeoutError):
            fix = "is a firewall dropping packets?"
        return TokenError(f"{self.name} cannot be reached ({explained(failure)}); {fix}")


def _json(answer: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _is_number(value: object) -> bool:
    # Some issuers write it as text.
    return not isinstance(value, bool) and re.fullmatch(r"\d{1,9}(\.\d+)?", str(value), re.ASCII) is not None


def _url(text: str) -> str:
    if not text:
        raise ValueError("missing; set it to the issuer's token endpoint, or to file:///PATH of a file with a token")
    parts = urllib.parse.urlsplit(text)
    if parts.scheme == "file" and parts.path.startswith("/") and parts.netloc in ("", "localhost"):
        return text
    if "@" in parts.netloc:
        raise ValueError("a user or password is not allowed in it")
    if parts.scheme not in ("http", "https") or not parts.hostname or not text.isascii() or not text.isprintable():
        raise ValueError("expected https://HOST/PATH or file:///PATH")
    return text


def _extensions(text: str) -> Mapping[str, str]:
    return dict(_extension(part.strip()) for part in text.split(",") if part.strip())


def _of_options(jaas: Jaas, names: Sequence[str]) -> Mapping[str, str]:
    try:
        return dict(_extension(f"{name.removeprefix(_OPTION)}={jaas.text(name)}") for name in names)
    except ValueError as failure:
        raise SecretError(f"{NAME}: {failure}") from None


def _extension(text: str) -> tuple[str, str]:
    found = _EXTENSION.fullmatch(text)
    if found is None or found[1] == "auth":
        raise ValueError("expected SASL extensions as name=value, with names of letters")
    return found[1], found[2]
