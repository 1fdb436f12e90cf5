"""The properties of OAUTHBEARER, in librdkafka's spelling or Java's, as a source of tokens."""

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafka_warden.clients.kafka import msk
from kafka_warden.clients.kafka.jaas import NAME, Jaas, read_jaas
from kafka_warden.clients.kafka.oidc import Client, Oidc
from kafka_warden.clients.kafka.property_names import refuse_unsupported
from kafka_warden.clients.kafka.ssl_properties import checked
from kafka_warden.clients.kafka.tls import TlsFiles
from kafka_warden.clients.kafka.tokens import TokenFile, Tokens
from kafka_warden.errors import ConfigError, SecretError
from kafka_warden.settings.secrets import Secret, SecretSource
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


def oauth_tokens(properties: Mapping[str, str], secrets: Mapping[str, SecretSource], hosts: Sequence[str]) -> Tokens:
    """Choose where tokens come from. Files are read once, so that a mistake shows at the start; no issuer is asked.

    `hosts` are those of the bootstrap servers.

    Raises:
        ConfigError: something is missing, cannot be used, or is not supported.
    """
    if _with_iam(properties):
        return Tokens(msk.msk_signer(properties, secrets, hosts))
    for name, known in _CHOICES.items():
        refuse_unsupported(properties, name, known)
    url = checked(properties, URL, _url, "")
    reader = _Reader(properties, secrets)
    client = reader.read()
    if url.startswith("file:"):
        if client.id:
            raise ConfigError(f"kafka.{CLIENT_ID}: no effect with a token from a file; remove it, or {URL}")
        path = Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path))
        source = TokenFile(path, client.extensions)
        source.check()
        return Tokens(source)
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
    return Tokens(Oidc(url, reader.read, (*reader.paths(), *trusted.paths()), trusted.context, urlencoded=urlencoded))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the client's credentials: from properties, and from the options of Java's login module."""

    properties: Mapping[str, str]
    secrets: Mapping[str, SecretSource]

    def read(self) -> Client:
        jaas = self._jaas()
        secret = self.secrets.get(CLIENT_SECRET)
        return Client(
            self.properties.get(CLIENT_ID) or jaas.text("clientId"),
            secret.read() if secret is not None else jaas.options.get("clientSecret", Secret("")),
            self.properties.get(SCOPE) or jaas.text("scope"),
            checked(self.properties, EXTENSIONS, _extensions, "") or _of_options(jaas),
        )

    def paths(self) -> tuple[Path, ...]:
        sources = (self.secrets.get(name) for name in (CLIENT_SECRET, "sasl.jaas.config"))
        return tuple(path for source in sources if source is not None for path in source.paths())

    def _jaas(self) -> Jaas:
        jaas = read_jaas(self.secrets.get("sasl.jaas.config"), "OAUTHBEARER", "OAuthBearerLoginModule")
        if any(name.startswith("ssl.") for name in jaas.options):
            raise SecretError(
                f"{NAME}: options ssl.* are not supported; set https.ca.location to a file with the certificates that"
                " sign the issuer's"
            )
        extensions = (name for name in jaas.options if name.startswith(_OPTION))
        jaas.only(("clientId", "clientSecret", "scope", f"{_OPTION}NAME", *extensions))
        return jaas


def _with_iam(properties: Mapping[str, str]) -> bool:
    handler = properties.get("sasl.login.callback.handler.class", "").rpartition(".")[2]
    return properties.get("sasl.mechanism", "").upper() == msk.MECHANISM or handler in msk.HANDLERS


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


def _of_options(jaas: Jaas) -> Mapping[str, str]:
    names = [name for name in jaas.options if name.startswith(_OPTION)]
    try:
        return dict(_extension(f"{name.removeprefix(_OPTION)}={jaas.text(name)}") for name in names)
    except ValueError as failure:
        raise SecretError(f"{NAME}: {failure}") from None


def _extension(text: str) -> tuple[str, str]:
    found = _EXTENSION.fullmatch(text)
    if found is None or found[1] == "auth":
        raise ValueError("expected SASL extensions as name=value, with names of letters")
    return found[1], found[2]
