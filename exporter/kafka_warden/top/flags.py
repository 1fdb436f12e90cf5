"""The flags of `kafka-warden top`, read as strictly as the configuration."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from kafka_warden.config import values
from kafka_warden.config.layers import TOP_PASSWORD
from kafka_warden.config.options import flag_name, read_values
from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import Secret, SecretFile, SecretSource
from kafka_warden.settings.strict import did_you_mean, reason, special_file
from kafka_warden.top.client import Client, Login
from kafka_warden.top.output import SERVED, Order
from kafka_warden.views.specs import BY_NAME
from kafka_warden.views.table_spec import Column

HERE: Final = "http://127.0.0.1:10073"
OWN: Final = ("--bootstrap-servers", "--config")
REMOTE: Final = ("url", "user", "password_file", "ca", "cert", "key")
ROWS: Final = 20
"""Rows of each table as text, as on the status page."""
EVERY: Final = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """The flags. `client`: the sidecar to ask, `None`: poll by itself."""

    client: Client | None
    where: str
    every: float = EVERY
    once: bool = False
    as_json: bool = False
    table: str | None = None
    rows: int | None = None
    search: str = ""
    order: Order = SERVED


def read(flags: Mapping[str, Any], options: Mapping[str, str], environment: Mapping[str, str]) -> Request:
    """Make a request from the flags by name; `None` is a flag that was not set. `options` are those of `run`.

    Raises:
        ConfigError: a bad value, or flags that exclude each other.
    """
    own = flags["config"] is not None or OWN[0] in options
    if not own and options:
        raise ConfigError(f"{next(iter(options))}: only with --bootstrap-servers or --config, as a sidecar has its own")
    given = [name for name in REMOTE if flags[name] is not None]
    if own and given:
        raise ConfigError(
            f"{flag_name(given[0])}: not with --bootstrap-servers or --config, which poll without a sidecar"
        )
    found = read_values(
        flags, {"url": _url, "user": _user, "table": _table, "rows": values.whole_number, "every": values.duration}
    )
    order = Order(reverse=bool(flags["reverse"]))
    if flags["sort"] is not None:
        if found["table"] is None:
            raise ConfigError("--sort: needs --table")
        order = Order(_column(found["table"], flags["sort"]), order.reverse)
    url = found["url"] or urlsplit(HERE)
    return Request(
        client=None if own else Client(url, _tls(url, flags), _login(found["user"], flags, environment)),
        where="the brokers" if own else url.geturl(),
        every=max(found["every"] or EVERY, 1.0),
        once=bool(flags["once"]) or bool(flags["json"]),
        as_json=bool(flags["json"]),
        table=found["table"],
        rows=found["rows"],
        search=flags["filter"] or "",
        order=order,
    )


def _url(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        fits = url.scheme in {"http", "https"} and url.hostname and url.port != 0 and not url.query and not url.fragment
    except ValueError:
        fits = False
    if "@" in text:
        raise ValueError(
            "no user and password in an address, since ps shows it to all users of this machine; set --user"
        )
    if not fits or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"expected an address such as {HERE} or https://HOST:PORT/PREFIX")
    return url


def _user(text: str) -> str:
    if not text or ":" in text:
        raise ValueError("expected a name without a colon")
    return text


def _table(text: str) -> str:
    if text not in BY_NAME:
        raise ValueError(f"{text!r} is no table{did_you_mean(text, BY_NAME)}; there are {', '.join(BY_NAME)}")
    return text


def _column(table: str, name: str) -> Column:
    known = {column.field: column for column in BY_NAME[table].columns}
    if name not in known:
        raise ConfigError(
            f"--sort: {table} has no column {name!r}{did_you_mean(name, known)}; it has {', '.join(known)}"
        )
    return known[name]


def _login(user: str | None, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Login | None:
    file, variable = flags["password_file"], environment.get(TOP_PASSWORD)
    if user is None:
        if file is not None:
            raise ConfigError("--password-file: needs --user")
        return None
    if file is None and not variable:
        raise ConfigError(f"--user: needs --password-file, or the environment variable {TOP_PASSWORD}")
    password: SecretSource = SecretFile(Path(file)) if file is not None else Secret(variable or "")
    password.read()
    return Login(user, password)


def _tls(url: SplitResult, flags: Mapping[str, Any]) -> ssl.SSLContext | None:
    ca, cert, key = (None if flags[name] is None else Path(flags[name]) for name in ("ca", "cert", "key"))
    if url.scheme == "http":
        given = [name for name in ("ca", "cert", "key") if flags[name] is not None]
        if given:
            raise ConfigError(f"{flag_name(given[0])}: only with an address that begins with https://")
        return None
    if key is not None and cert is None:
        raise ConfigError("--key: needs --cert")
    flag = "--ca"
    if (file := special_file(path for path in (ca, cert, key) if path is not None)) is not None:
        raise ConfigError(f"{file}: neither a file nor a folder")
    try:
        context = ssl.create_default_context(cafile=ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        flag = "--cert"
        if cert is not None:
            # Without a password here, OpenSSL would ask for that of an encrypted key on the terminal.
            context.load_cert_chain(cert, key, password="")
    except (OSError, ValueError) as failure:  # an SSLError is an OSError
        raise ConfigError(f"{flag}: cannot use the file: {reason(failure)}") from None
    return context
