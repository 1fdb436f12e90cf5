"""TLS of the web server, from `tls_server_config`."""

import ipaddress
import ssl
from collections.abc import Callable
from typing import Any, Final

from kafka_warden.errors import ConfigError
from kafka_warden.settings.strict import reason, special_file
from kafka_warden.web.file import TlsServer

_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


def server_context(tls: TlsServer) -> ssl.SSLContext:
    """Make a context from the files as they are now.

    Raises:
        ConfigError: a file cannot be read or holds nothing usable.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _VERSIONS[tls.min_version], _VERSIONS[tls.max_version]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    if tls.prefer_server_cipher_suites:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    context.set_alpn_protocols(["http/1.1"])
    if tls.cipher_suites:
        context.set_ciphers(tls.cipher_suites)
    if tls.curve_preferences:
        context.set_ecdh_curve(tls.curve_preferences)
    # With an empty password: without one OpenSSL asks for it on the terminal.
    _load(tls, "cert_file and key_file", lambda: context.load_cert_chain(tls.cert_file, tls.key_file, lambda: ""))
    context.verify_mode = _CLIENT_AUTH[tls.client_auth_type]
    if context.verify_mode is not ssl.CERT_NONE:
        key = "client_ca" if tls.client_ca is not None else "client_ca_file"
        _load(tls, key, lambda: context.load_verify_locations(tls.client_ca_file, cadata=tls.client_ca))
    if tls.client_allowed_sans is not None:
        context.sslobject_class = _with_allowed_names(tls.client_allowed_sans)
    return context


def _load(tls: TlsServer, key: str, load: Callable[[], None]) -> None:
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

    current: Callable[[], ssl.SSLContext]

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Wrap with the context in force."""
        return self.current().wrap_bio(*args, **kwargs)
