"""What kafka-python, the socket and the TLS library raise, told apart into the classes of `kafka_warden.errors`."""

import ssl

from kafka import errors as kafka_errors

from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
    TooLargeError,
    UnsupportedError,
)

TIMEOUTS = (TimeoutError, kafka_errors.KafkaTimeoutError, kafka_errors.RequestTimedOutError)
AUTHENTICATION = (
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.IllegalSaslStateError,
)


def connect_fault(failure: Exception | None, address: str) -> SourceError:
    """Name what kept a TCP connection from being made."""
    if isinstance(failure, TIMEOUTS):
        return ConnectTimeoutError(f"{address} did not accept a connection in time; is a firewall dropping packets?")
    return RefusedError(f"{address} refused the connection ({failure}); is the process running and the port right?")


def handshake_fault(failure: Exception, address: str) -> SourceError:
    """Name what went wrong between the TCP connection and the first request: TLS, API versions, SASL."""
    if isinstance(failure, AUTHENTICATION):
        return AuthenticationError(f"{address} refused user name or password ({failure})")
    if isinstance(failure, ssl.SSLCertVerificationError):
        return TlsError(f"the certificate of {address} is not trusted ({failure.verify_message})")
    if _tls(failure):
        return TlsError(f"no TLS session with {address} ({failure}); check security.protocol and the certificates")
    return request_fault(failure, address)


def request_fault(failure: Exception, address: str) -> SourceError:
    """Name what kept a request from being answered."""
    if isinstance(failure, SourceError):
        return failure
    if _tls(failure):
        return TlsError(f"{address} ended the TLS session ({failure}); does it want a client certificate?")
    if isinstance(failure, TIMEOUTS):
        return AnswerTimeoutError(f"{address} accepted the connection and did not answer in time")
    if isinstance(failure, kafka_errors.KafkaConnectionError):
        return closed_fault(address)
    return _refusal(failure, address)


def _refusal(failure: Exception, address: str) -> SourceError:
    match failure:
        case kafka_errors.IncompatibleBrokerVersion():
            return UnsupportedError(f"{address} is too old for this request ({failure})")
        case kafka_errors.InvalidReceiveError():
            return TooLargeError(f"a reply of {address} is larger than receive.message.max.bytes ({failure})")
        case kafka_errors.AuthorizationError():
            return AuthorizationError(f"{address}: {failure}")
        case _:
            return ProtocolError(f"{address}: {type(failure).__name__}: {failure}")


def closed_fault(address: str) -> SourceError:
    """Name a connection that the other side closed."""
    return RefusedError(f"{address} closed the connection; did it restart, or is it a TLS listener?")


def error_code_fault(code: int, message: str | None, address: str) -> SourceError | None:
    """Name an error code of a reply; `None` for code 0."""
    if code == 0:
        return None
    kind = kafka_errors.for_code(code)
    text = f"{address}: {kind.__name__}" + (f" ({message})" if message else "")
    if issubclass(kind, kafka_errors.AuthorizationError):
        return AuthorizationError(f"{text}; docs/security.md lists the ACLs that each source needs")
    if issubclass(kind, kafka_errors.UnsupportedVersionError):
        return UnsupportedError(text)
    if issubclass(kind, kafka_errors.RequestTimedOutError):
        return AnswerTimeoutError(text)
    return ProtocolError(text)


def _tls(failure: BaseException) -> bool:
    return any(isinstance(cause, ssl.SSLError) for cause in (failure, *failure.args))
