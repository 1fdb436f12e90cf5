"""The web configuration file: TLS and authentication with the keys of Prometheus' exporter-toolkit.

Not supported: inline certificates and keys (secrets are in files of their own), client certificates without
verification, TLS below 1.2. `http2` has no effect: HTTP/1.1 is served, and Prometheus accepts both.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import boolean, did_you_mean, parse_duration
from kafka_warden.settings.strict_yaml import read_yaml
from kafka_warden.settings.tls import EXAMPLES, openssl_ciphers

T = TypeVar("T")

VERSIONS: Final = ("TLS12", "TLS13")
CLIENT_AUTH: Final = ("NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert")
"""From the weakest to the strongest."""
CURVES: Final = {"CurveP256": "prime256v1", "CurveP384": "secp384r1", "CurveP521": "secp521r1", "X25519": "X25519"}
HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Content-Security-Policy": (),
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
}
"""The headers that may be set, and their allowed values where these are limited."""

MOST_COST: Final = 16
"""Of a bcrypt hash: some 4 s for each check. Each further step doubles it, and a check cannot be stopped."""
MOST_BURST: Final = 10**9
"""A number of 310 digits has no float."""
_HASH: Final = re.compile(r"\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}")
_SECTIONS: Final = ("tls_server_config", "http_server_config", "basic_auth_users", "rate_limit")


class Section:
    """One mapping of the file, with its place in it."""

    def __init__(self, path: Path, name: str, content: Mapping[Any, Any]) -> None:
        self.path = path
        self.name = name
        self.content = {str(key): value for key, value in content.items()}

    def error(self, key: str, problem: str) -> ConfigError:
        """Make the error for a key of this section."""
        return ConfigError(f"{self.path}: {self.name}{' '.join(key.split())}: {problem}")

    def only(self, *known: str) -> None:
        """Raise a ConfigError for an unknown key."""
        for key in self.content:
            if key not in known:
                raise self.error(key, f"unknown key{did_you_mean(key, known)}")

    def section(self, key: str) -> "Section":
        """Return the section below a key; empty without the key. Nothing below a key is an error: it may be cut off."""
        content = self.content.get(key, {})
        if not isinstance(content, Mapping):
            raise self.error(key, "expected keys and values below it")
        return Section(self.path, f"{self.name}{key}.", content)

    def read(self, key: str, read: Callable[[Any], T], default: T) -> T:
        """Read a value. A ValueError of `read` becomes a ConfigError with file and key."""
        if self.content.get(key) is None:
            return default
        try:
            return read(self.content[key])
        except ValueError as failure:
            raise self.error(key, str(failure)) from None

    def file(self, key: str) -> Path | None:
        """Read a path. A relative one starts at the folder of this file."""
        name = self.read(key, text, "")
        return self.path.absolute().parent / name if name else None


def expected(what: str, value: Any) -> ValueError:
    """Make the error for an unexpected value."""
    return ValueError(f"expected {what}, got {value!r}")


def text(value: Any) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise ValueError("expected text")  # noqa: TRY004  # every reader raises ValueError
    return value


def texts(value: Any) -> list[str]:
    """Read a list of texts."""
    if not isinstance(value, list):
        raise ValueError("expected a list of texts")  # noqa: TRY004  # the same
    return [text(item) for item in value]


@dataclass(frozen=True, slots=True)
class TlsServer:
    """`tls_server_config`; a field for each key."""

    cert_file: Path
    key_file: Path
    client_auth_type: str = "NoClientCert"
    client_ca: str | None = None
    client_ca_file: Path | None = None
    client_allowed_sans: frozenset[str] | None = None
    min_version: str = "TLS12"
    max_version: str = "TLS13"
    cipher_suites: str = ""
    """As OpenSSL writes them."""
    prefer_server_cipher_suites: bool = True
    curve_preferences: str | None = None
    """OpenSSL's name."""

    def paths(self) -> tuple[Path, ...]:
        """Return the files whose change requires a new TLS context."""
        return tuple(path for path in (self.cert_file, self.key_file, self.client_ca_file) if path is not None)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """`rate_limit`: a token bucket over all requests, as in exporter-toolkit."""

    interval: float
    """Seconds between two requests."""
    burst: int


@dataclass(frozen=True, slots=True)
class WebFile:
    """The whole file."""

    tls: TlsServer | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """User name to bcrypt hash; empty: no authentication."""
    headers: Mapping[str, str] = field(default_factory=dict)
    rate_limit: RateLimit | None = None


def read_web_file(path: Path) -> WebFile:
    """Read the file. The files that it names are not opened.

    Raises:
        ConfigError: one line with the file, the key and what is expected.
    """
    top = Section(path, "", read_yaml(path))
    if not top.content:
        raise ConfigError(
            f"{path}: the file is empty; write {' or '.join(_SECTIONS)} into it, or remove the option web.config_file"
        )
    top.only(*_SECTIONS)
    tls, http, limit = (top.section(name) for name in ("tls_server_config", "http_server_config", "rate_limit"))
    http.only("http2", "headers")
    http.read("http2", boolean, default=True)
    return WebFile(
        tls=_tls(tls) if tls.content else None,
        users=_users(top.section("basic_auth_users")),
        headers=_headers(http.section("headers")),
        rate_limit=_rate_limit(limit),
    )


def _tls(section: Section) -> TlsServer:
    for inline in ("cert", "key"):
        if inline in section.content:
            raise section.error(inline, f"not supported inline; put it into a file and set {inline}_file")
    section.only(*(field.name for field in fields(TlsServer)))
    cert, key = section.file("cert_file"), section.file("key_file")
    if cert is None or key is None:
        missing = "cert_file" if cert is None else "key_file"
        raise section.error(missing, "missing; TLS needs both cert_file and key_file")
    tls = TlsServer(
        cert_file=cert,
        key_file=key,
        client_auth_type=section.read("client_auth_type", _client_auth, "NoClientCert"),
        client_ca=section.read("client_ca", text, "") or None,
        client_ca_file=section.file("client_ca_file"),
        client_allowed_sans=section.read("client_allowed_sans", lambda value: frozenset(texts(value)), None),
        min_version=section.read("min_version", _version, "TLS12"),
        max_version=section.read("max_version", _version, "TLS13"),
        cipher_suites=section.read("cipher_suites", _ciphers, ""),
        prefer_server_cipher_suites=section.read("prefer_server_cipher_suites", boolean, default=True),
        curve_preferences=section.read("curve_preferences", _curve, None),
    )
    _check_together(section, tls)
    return tls


def _check_together(section: Section, tls: TlsServer) -> None:
    authorities = (tls.client_ca is not None) + (tls.client_ca_file is not None)
    kind = tls.client_auth_type
    need = "client_auth_type: RequireAndVerifyClientCert"
    for wrong, key, problem in (
        (kind != CLIENT_AUTH[0] and not authorities, "client_auth_type", f"{kind} needs client_ca_file"),
        (authorities and kind == CLIENT_AUTH[0], "client_ca_file", f"has no effect without {need}"),
        (authorities > 1, "client_ca", "set either this or client_ca_file, not both"),
        (tls.client_allowed_sans is not None and kind != CLIENT_AUTH[-1], "client_allowed_sans", f"needs {need}"),
        (tls.min_version > tls.max_version, "min_version", "must not be above max_version"),
    ):
        if wrong:
            raise section.error(key, problem)


def _users(section: Section) -> dict[str, str]:
    for user, hashed in section.content.items():
        if not isinstance(hashed, str) or not _HASH.fullmatch(hashed):
            raise section.error(user, "expected a bcrypt hash; make one with: htpasswd -nBC 10 USER")
        if (cost := int(hashed[4:6])) > MOST_COST:
            raise section.error(user, f"bcrypt cost {cost} is above {MOST_COST}; use: htpasswd -nBC 10 USER")
        if not user or ":" in user:
            raise section.error(user, "a user name is not empty and has no colon")
    return dict(section.content)


def _headers(section: Section) -> dict[str, str]:
    section.only(*HEADERS)
    for name, allowed in HEADERS.items():
        value = section.read(name, text, "")
        if value and allowed and value not in allowed:
            raise section.error(name, f"expected {' or '.join(allowed)}, got {value!r}")
        if not (value.isascii() and value.isprintable()):
            raise section.error(name, "expected printable ASCII")
    return {name: value for name, value in section.content.items() if value}


def _rate_limit(section: Section) -> RateLimit | None:
    section.only("interval", "burst")
    interval = section.read("interval", _interval, 0.0)
    return RateLimit(interval, section.read("burst", _burst, 1)) if interval else None


def _interval(value: Any) -> float:
    seconds = 0.0 if value == "0" else parse_duration(value) if isinstance(value, str) else None
    if seconds is None:
        raise ValueError(f"expected a duration such as 100ms, got {value!r}")
    return seconds


def _burst(value: Any) -> int:
    if not re.fullmatch(r"0*[1-9]\d{0,400}", str(value), re.ASCII):
        raise expected("a whole number above 0", value)
    if int(value) > MOST_BURST:
        raise ValueError(f"expected at most {MOST_BURST}")
    return int(value)


def _version(value: Any) -> str:
    if value in ("TLS10", "TLS11"):
        raise ValueError(f"{value} is not safe; expected {' or '.join(VERSIONS)}")
    if value not in VERSIONS:
        raise expected(" or ".join(VERSIONS), value)
    return str(value)


def _ciphers(value: Any) -> str:
    suites, unknown = openssl_ciphers(texts(value))
    if unknown:
        raise ValueError(f"unknown or unsafe cipher suite {unknown[0]!r}; expected names as {EXAMPLES}")
    return suites


def _client_auth(value: Any) -> str:
    if value in ("RequestClientCert", "RequireAnyClientCert", "RequireClientCert"):
        raise ValueError(f"{value} verifies nothing and is not supported; use RequireAndVerifyClientCert")
    if value not in CLIENT_AUTH:
        raise expected(f"one of {', '.join(CLIENT_AUTH)}", value)
    return str(value)


def _curve(value: Any) -> str | None:
    names = texts(value)
    if len(names) > 1 or any(name not in CURVES for name in names):
        raise ValueError(f"expected one of {', '.join(CURVES)}; Python's TLS takes a single curve")
    return CURVES[names[0]] if names else None
