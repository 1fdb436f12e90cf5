"""The classes of `kafka_warden.errors` for what the socket, the TLS library and Kafka's error codes report."""

import errno
import socket
import ssl

from kafka import errors as kafka_errors

from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    InvalidRequestError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    UnsupportedError,
)

_NO_SUCH_NAME = (socket.EAI_NONAME, socket.EAI_NODATA)

_OTHERS: dict[type[kafka_errors.KafkaError], type[SourceError]] = {
    kafka_errors.UnsupportedVersionError: UnsupportedError,
    kafka_errors.RequestTimedOutError: AnswerTimeoutError,
    kafka_errors.InvalidRequestError: InvalidRequestError,
}
_OTHER_HOST = "use a name that the certificate has, or issue one with this name (subjectAltName)"
CERTIFICATE_FIXES = {
    9: "check the clocks of this machine and of the one that issued it",
    10: "renew it in the broker's key store; check the clock of this machine",
    23: "renew it in the broker's key store",
    62: _OTHER_HOST,
    64: _OTHER_HOST,
}
"""What to do, by the code of OpenSSL's verification (X509_V_ERR_...): not yet valid, expired, revoked, another host."""


def resolve_fault(failure: Exception, address: str, resolved: bool) -> SourceError:
    """Name what kept the name of an address from being looked up. `resolved`: whether it was found before.

    A name that is gone is a process that is gone, as pods behind a headless service are. A name that never existed may
    be misspelt, and a name server that fails says nothing.
    """
    kind = ConnectTimeoutError if isinstance(failure, TimeoutError) else RefusedError
    fault: SourceError = kind(
        f"{address} does not resolve ({failure!r}); check bootstrap.servers, advertised.listeners and the DNS"
    )
    gone = isinstance(failure, socket.gaierror) and failure.errno in _NO_SUCH_NAME
    fault.reached = False if gone and resolved else None
    return fault


def connect_fault(failure: Exception | None, address: str) -> SourceError:
    """Name what kept a TCP connection from being made."""
    if isinstance(failure, TimeoutError):
        return ConnectTimeoutError(f"{address} did not accept a connection in time; look for a firewall on the way")
    if isinstance(failure, OSError) and failure.errno in {errno.EMFILE, errno.ENFILE}:
        why = "no file descriptor is left; raise the limit (ulimit -n, LimitNOFILE)"
        fault: SourceError = RefusedError(f"{address} is not connected to: {why}")
        fault.reached = None
        return fault
    return RefusedError(f"{address} refused the connection ({failure}); correct the port, or start the process")


def handshake_fault(failure: Exception, address: str) -> SourceError:
    """Name what went wrong between the TCP connection and the first request: TLS, API versions, SASL."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        fix = CERTIFICATE_FIXES.get(failure.verify_code, "set ssl.ca.location to the authority that issued it")
        return TlsError(f"the certificate of {address} is not trusted ({failure.verify_message}); {fix}")
    if isinstance(failure, ssl.SSLError):
        return TlsError(f"no TLS session with {address} ({failure}); check security.protocol and the certificates")
    return request_fault(failure, address)


def request_fault(failure: Exception, address: str) -> SourceError:
    """Name what kept a request from being answered."""
    if isinstance(failure, ssl.SSLError):
        fix = "does it want a client certificate? check ssl.certificate.location"
        return TlsError(f"{address} ended the TLS session ({failure}); {fix}")
    if isinstance(failure, TimeoutError):
        return AnswerTimeoutError(f"{address} accepted the connection and did not answer in time")
    if isinstance(failure, OSError):
        return RefusedError(f"{address} closed the connection; did it restart, or is it a TLS listener?")
    return ProtocolError(f"{address}: {type(failure).__name__}: {failure}")


def error_code_fault(
    code: int, message: str | None, address: str, login: str = "user name or password"
) -> SourceError | None:
    """Name an error code of a reply; `None` for code 0. `login`: what a broker that refuses the login refuses."""
    if code == 0:
        return None
    kind = kafka_errors.for_code(code)
    text = f"{address}: {kind.__name__}" + (f" ({message})" if message else "")
    if kind is kafka_errors.SaslAuthenticationFailedError:
        return AuthenticationError(f"{address} refused {login} ({message or kind.__name__})")
    if kind in (kafka_errors.UnsupportedSaslMechanismError, kafka_errors.IllegalSaslStateError):
        return AuthenticationError(f"{text}; check sasl.mechanism and security.protocol")
    if issubclass(kind, kafka_errors.AuthorizationError):
        return AuthorizationError(f"{text}; docs/reference/acls.md lists the ACLs that each source needs")
    return next((fault for cause, fault in _OTHERS.items() if issubclass(kind, cause)), ProtocolError)(text)
