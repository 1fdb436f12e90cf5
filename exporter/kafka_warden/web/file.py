"""The web configuration file: TLS and authentication with the keys of Prometheus' exporter-toolkit.

Not supported: inline certificates and keys (secrets are in files of their own), client certificates without
verification, TLS below 1.2. `http2` has no effect: HTTP/1.1 is served, and Prometheus accepts both.
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from kafka_warden.config.options import Entry, Option, Section, build, options_of, read_option
from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import boolean, did_you_mean, parse_duration
from kafka_warden.settings.strict_yaml import read_yaml
from kafka_warden.settings.tls import EXAMPLES, openssl_ciphers

VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
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
_TLS, _HEADERS, _USERS = "tls_server_config.", "http_server_config.headers.", "basic_auth_users."


def expected(what: str, value: Any) -> ValueError:
    """Make the error for an unexpected value."""
    return ValueError(f"expected {what}, got {value!r}")


def text(value: Any) -> str | None:
    """Read text; `None` for none."""
    if not isinstance(value, str):
        raise ValueError("expected text")  # noqa: TRY004  # every reader raises ValueError
    return value or None


def texts(value: Any) -> list[str]:
    """Read a list of texts."""
    if not isinstance(value, list):
        raise ValueError("expected a list of texts")  # noqa: TRY004  # the same
    return [text(item) or "" for item in value]


def _version(value: Any) -> ssl.TLSVersion:
    if value in ("TLS10", "TLS11"):
        raise ValueError(f"{value} is not safe; expected {' or '.join(VERSIONS)}")
    if (found := VERSIONS.get(str(value))) is None:
        raise expected(" or ".join(VERSIONS), value)
    return found


def _ciphers(value: Any) -> str:
    suites, unknown = openssl_ciphers(texts(value))
    if unknown:
        raise ValueError(f"unknown or unsafe cipher suite {unknown[0]!r}; expected names as {EXAMPLES}")
    return suites


def _client_auth(value: Any) -> ssl.VerifyMode:
    if value in ("RequestClientCert", "RequireAnyClientCert", "RequireClientCert"):
        raise ValueError(f"{value} verifies nothing and is not supported; use RequireAndVerifyClientCert")
    if (found := CLIENT_AUTH.get(str(value))) is None:
        raise expected(f"one of {', '.join(CLIENT_AUTH)}", value)
    return found


def _curve(value: Any) -> str | None:
    names = texts(value)
    if len(names) > 1 or any(name not in CURVES for name in names):
        raise ValueError(f"expected one of {', '.join(CURVES)}; Python's TLS takes a single curve")
    return CURVES[names[0]] if names else None


def _hash(user: str, value: Any) -> str:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise ValueError("expected a bcrypt hash; make one with: htpasswd -nBC 10 USER")
    if (cost := int(value[4:6])) > MOST_COST:
        raise ValueError(f"bcrypt cost {cost} is above {MOST_COST}; use: htpasswd -nBC 10 USER")
    if not user or ":" in user:
        raise ValueError("a user name is not empty and has no colon")
    return value


def _header(allowed: tuple[str, ...], value: Any) -> str | None:
    found = text(value)
    if found and allowed and found not in allowed:
        raise ValueError(f"expected {' or '.join(allowed)}, got {found!r}")
    if found and not (found.isascii() and found.isprintable()):
        raise ValueError("expected printable ASCII")
    return found


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


@dataclass(frozen=True, slots=True)
class TlsServer(Section):
    """`tls_server_config`; a field for each key."""

    cert_file: Annotated[Path, Option(text, path=True)]
    key_file: Annotated[Path, Option(text, path=True)]
    client_auth_type: Annotated[ssl.VerifyMode, Option(_client_auth, "NoClientCert")]
    client_ca: Annotated[str | None, Option(text)]
    client_ca_file: Annotated[Path | None, Option(text, path=True)]
    client_allowed_sans: Annotated[frozenset[str] | None, Option(lambda value: frozenset(texts(value)))]
    min_version: Annotated[ssl.TLSVersion, Option(_version, "TLS12")]
    max_version: Annotated[ssl.TLSVersion, Option(_version, "TLS13")]
    cipher_suites: Annotated[str, Option(_ciphers, [])]
    """As OpenSSL writes them."""
    prefer_server_cipher_suites: Annotated[bool, Option(boolean, default=True)]
    curve_preferences: Annotated[str | None, Option(_curve)]
    """OpenSSL's name."""

    def paths(self) -> tuple[Path, ...]:
        """Return the files whose change requires a new TLS context."""
        return tuple(path for path in (self.cert_file, self.key_file, self.client_ca_file) if path is not None)


@dataclass(frozen=True, slots=True)
class RateLimit(Section):
    """`rate_limit`: a token bucket over all requests, as in exporter-toolkit."""

    interval: Annotated[float, Option(_interval, "0")]
    """Seconds between two requests."""
    burst: Annotated[int, Option(_burst, 1)]


@dataclass(frozen=True, slots=True)
class WebFile:
    """The whole file."""

    tls: TlsServer | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """User name to bcrypt hash; empty: no authentication."""
    headers: Mapping[str, str] = field(default_factory=dict)
    rate_limit: RateLimit | None = None


OPTIONS: Final = {
    **{option.key: option for option in options_of(TlsServer, _TLS)},
    **{option.key: option for option in options_of(RateLimit, "rate_limit.")},
    **{f"{_HEADERS}{name}": Option(partial(_header, allowed)) for name, allowed in HEADERS.items()},
    "http_server_config.http2": Option(boolean, default=True),
}


def read_web_file(path: Path) -> WebFile:
    """Read the file. The files that it names are not opened.

    Raises:
        ConfigError: one line with the file, the key and what is expected.
    """
    content = read_yaml(path)
    if not content:
        raise ConfigError(
            f"{path}: the file is empty; write {' or '.join(_SECTIONS)} into it, or remove the option web.config_file"
        )
    entries = dict(_walk(path, "", content))
    users = {key.removeprefix(_USERS): key for key in entries if key.startswith(_USERS)}
    hashes = {user: read_option(Option(partial(_hash, user)), entries[key]) for user, key in users.items()}
    read = {key: read_option(option, entries.get(key)) for key, option in OPTIONS.items()}
    headers = {name: read[f"{_HEADERS}{name}"] for name in HEADERS}
    limit = build(RateLimit, read, "rate_limit.")
    return WebFile(
        tls=_tls(path, read) if content.get("tls_server_config") else None,
        users=hashes,
        headers={name: value for name, value in headers.items() if value},
        rate_limit=limit if limit.interval else None,
    )


def _walk(path: Path, section: str, content: Mapping[Any, Any]) -> Iterator[tuple[str, Entry]]:
    """Yield each value. A section with nothing below it is an error: the file may be cut off."""
    known = [key.removeprefix(section).partition(".")[0] for key in (*OPTIONS, _USERS) if key.startswith(section)]
    for name, value in content.items():
        key = f"{section}{name}"
        where = f"{path}: {' '.join(key.split())}"
        if key in (f"{_TLS}cert", f"{_TLS}key"):
            raise ConfigError(f"{where}: not supported inline; put it into a file and set {name}_file")
        if str(name) not in known and section != _USERS:
            raise ConfigError(f"{where}: unknown key{did_you_mean(str(name), known)}")
        if key in OPTIONS or section == _USERS:
            if value is not None or section == _USERS:
                yield key, Entry(value, where, path.absolute().parent)
        elif isinstance(value, Mapping):
            yield from _walk(path, f"{key}.", value)
        else:
            raise ConfigError(f"{where}: expected keys and values below it")


def _tls(path: Path, read: Mapping[str, Any]) -> TlsServer:
    for key in ("cert_file", "key_file"):
        if read[f"{_TLS}{key}"] is None:
            raise ConfigError(f"{path}: {_TLS}{key}: missing; TLS needs both cert_file and key_file")
    tls = build(TlsServer, read, _TLS)
    authorities = (tls.client_ca is not None) + (tls.client_ca_file is not None)
    kind = tls.client_auth_type
    name = next(name for name, mode in CLIENT_AUTH.items() if mode is kind)
    need = "client_auth_type: RequireAndVerifyClientCert"
    for wrong, key, problem in (
        (kind != ssl.CERT_NONE and not authorities, "client_auth_type", f"{name} needs client_ca_file"),
        (authorities and kind == ssl.CERT_NONE, "client_ca_file", f"has no effect without {need}"),
        (authorities > 1, "client_ca", "set either this or client_ca_file, not both"),
        (tls.client_allowed_sans is not None and kind != ssl.CERT_REQUIRED, "client_allowed_sans", f"needs {need}"),
        (tls.min_version > tls.max_version, "min_version", "must not be above max_version"),
    ):
        if wrong:
            raise ConfigError(f"{path}: {_TLS}{key}: {problem}")
    return tls
