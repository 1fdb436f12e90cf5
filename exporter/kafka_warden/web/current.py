"""The web configuration in force. The file is read again when it or a file that it names changes.

`refresh` opens files, which may wait for ever where a volume hangs: it runs on a thread, and no request waits for it.

A file that cannot be used leaves the last good settings in force. So does one that switches TLS or authentication off,
or accepts weaker TLS or client certificates: it may be half-written. Only a restart does that.
"""

import ipaddress
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from kafka_warden.errors import ConfigError
from kafka_warden.settings.secrets import FileStatus, file_status
from kafka_warden.settings.strict import reason, special_file
from kafka_warden.settings.tls import Validity, validity
from kafka_warden.web.file import TlsServer, WebFile, read_web_file


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read from the files."""

    file: WebFile
    context: ssl.SSLContext | None = None
    certificates: Mapping[str, Validity | None] = field(default_factory=dict)
    clients: object = None
    """What decides which client certificates are accepted."""


def _load(path: Path, file: WebFile) -> Loaded:
    try:
        if file.tls is None:
            return Loaded(file)
        authorities = file.tls.client_ca_file or file.tls.client_ca
        certificates = {"web": validity(file.tls.cert_file), "web_client_ca": validity(authorities)}
        named = file.tls.client_ca_file
        clients = (
            *(file.tls.client_auth_type, file.tls.client_allowed_sans, file.tls.client_ca, named),
            file_status(named) if named is not None else None,
        )
        return Loaded(file, server_context(file.tls), certificates, clients)
    except (ConfigError, OSError, ValueError, TypeError) as failure:
        raise ConfigError(f"{path}: {failure}") from None


def check_web_file(path: Path) -> None:
    """Read the file and everything that it names.

    Raises:
        ConfigError: one line with the file, the key and the problem.
    """
    _load(path, read_web_file(path))


class CurrentWebFile:
    """The settings and the TLS context in force. Without a file: no TLS, no authentication."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: dict[Path, FileStatus | None] = {}
        self.loaded = Loaded(WebFile()) if path is None else self._read(path)
        """In force. Whether it has a TLS context cannot change while the server runs."""
        self.problem: str | None = None
        """Why the files as they are now are not in use; `None` when they are."""
        self.reread = False
        """Read the files at the next refresh, also if they did not change. Other threads may set it."""

    def refresh(self) -> Loaded | None:
        """Read the files if they changed, on one thread at a time; return settings to `use`, or `None` if none are."""
        same = all(file_status(path) == status for path, status in self._seen.items())
        if self._path is None or (same and not self.reread):
            return None
        self.reread = False
        try:
            loaded = self._read(self._path)
            _refuse_weaker(self._path, self.loaded.file, loaded.file)
        except Exception as failure:  # noqa: BLE001  # the last good settings stay in force, whatever is wrong
            # Perhaps the system did not let a file be read for a moment: they are read again until they can be used.
            known, self.problem, self.reread = self.problem, str(failure) or repr(failure), True
            if not same or self.problem != known:
                structlog.get_logger(__name__).warning(
                    "the new web configuration is not used; the last good one stays in force", problem=self.problem
                )
            return None
        return loaded

    def use(self, new: Loaded) -> bool:
        """Put settings in force; return whether other client certificates are accepted than before."""
        removed = _removed(self.loaded.file, new.file)
        others = new.clients != self.loaded.clients
        self.loaded, self.problem = new, None
        log = structlog.get_logger(__name__)
        note = log.warning if removed else log.info
        note("new web configuration in force", file=str(self._path), removed=removed)
        return others

    def _read(self, path: Path) -> Loaded:
        # The status of a file is taken before the file is read: what changes meanwhile is read again.
        self._seen = {path: file_status(path)}
        file = read_web_file(path)
        # Before the files that it names are opened: one that is missing now may come.
        self._seen |= {named: file_status(named) for named in (file.tls.paths() if file.tls else ())}
        return _load(path, file)


def _removed(old: WebFile, new: WebFile) -> list[str]:
    """Return the users, headers and limit that the new file does not have: it may be cut off."""
    names = (old.users.keys() - new.users.keys()) | (old.headers.keys() - new.headers.keys())
    return sorted(names) + ["rate_limit"] * (old.rate_limit is not None and new.rate_limit is None)


def _refuse_weaker(path: Path, old: WebFile, new: WebFile) -> None:
    weaker = [(bool(old.users) and not new.users, "basic_auth_users", "switch authentication off")]
    if (old.tls is None) != (new.tls is None):
        weaker = [(True, "tls_server_config", "switch TLS on or off")]
    elif old.tls and new.tls:
        less = new.tls.client_auth_type < old.tls.client_auth_type
        names = old.tls.client_allowed_sans is not None and new.tls.client_allowed_sans is None
        suites = bool(old.tls.cipher_suites) and not new.tls.cipher_suites
        section = "tls_server_config."
        weaker += [
            (less, f"{section}client_auth_type", "check client certificates less"),
            (names, f"{section}client_allowed_sans", "switch the check of names off"),
            (new.tls.min_version < old.tls.min_version, f"{section}min_version", "accept older versions of TLS"),
            (suites, f"{section}cipher_suites", "accept the default suites"),
        ]
    for is_weaker, key, what in weaker:
        if is_weaker:
            raise ConfigError(f"{path}: {key}: restart the exporter to {what}")


def server_context(tls: TlsServer) -> ssl.SSLContext:
    """Make a context from the files as they are now.

    Raises:
        ConfigError: a file cannot be read or holds nothing usable.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = tls.min_version, tls.max_version
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    if tls.prefer_server_cipher_suites:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    if tls.cipher_suites:
        context.set_ciphers(tls.cipher_suites)
    if tls.curve_preferences:
        context.set_ecdh_curve(tls.curve_preferences)
    # With an empty password: without one OpenSSL asks for it on the terminal.
    _read_pem(tls, "cert_file and key_file", lambda: context.load_cert_chain(tls.cert_file, tls.key_file, lambda: ""))
    context.verify_mode = tls.client_auth_type
    if context.verify_mode is not ssl.CERT_NONE:
        key = "client_ca" if tls.client_ca is not None else "client_ca_file"
        _read_pem(tls, key, lambda: context.load_verify_locations(tls.client_ca_file, cadata=tls.client_ca))
    if tls.client_allowed_sans is not None:
        context.sslobject_class = _with_allowed_names(tls.client_allowed_sans)
    return context


def _read_pem(tls: TlsServer, key: str, load: Callable[[], None]) -> None:
    if (special := special_file(tls.paths())) is not None:
        raise ConfigError(f"tls_server_config.{key}: cannot read {str(special)!r}: not a regular file")
    try:
        load()
    except ssl.SSLError as failure:
        raise ConfigError(f"tls_server_config.{key}: unusable, expected PEM: {failure.reason or failure}") from None
    except TypeError as failure:  # an inline text that is not ASCII
        raise ConfigError(f"tls_server_config.{key}: unusable, expected PEM: {failure}") from None
    except (OSError, ValueError) as failure:
        unreadable = next((path for path in tls.paths() if not path.is_file()), tls.key_file)
        raise ConfigError(f"tls_server_config.{key}: cannot read {str(unreadable)!r}: {reason(failure)}") from None


def _with_allowed_names(allowed: frozenset[str]) -> type[ssl.SSLObject]:
    wanted = {_normal(name) for name in allowed}

    class CheckedObject(ssl.SSLObject):
        """Ends the handshake when no name in the client's certificate is allowed."""

        def do_handshake(self) -> None:
            super().do_handshake()
            certificate: dict[str, Any] = self.getpeercert() or {}
            if not wanted.intersection(_normal(str(value)) for _, value in certificate.get("subjectAltName", ())):
                raise ssl.SSLCertVerificationError("no name in the client's certificate is in client_allowed_sans")

    return CheckedObject


def _normal(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name


class SwitchingContext(ssl.SSLContext):
    """Wraps every new connection with the context in force at that time.

    asyncio has one context for the life of a server, and calls nothing but `wrap_bio` on it.
    """

    web: CurrentWebFile

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Wrap with the context in force."""
        context = self.web.loaded.context
        if context is None:
            raise ssl.SSLError("TLS is off")
        return context.wrap_bio(*args, **kwargs)
