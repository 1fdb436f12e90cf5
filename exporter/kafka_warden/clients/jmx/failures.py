"""Turns a chain of Java exceptions, as names and messages, into an error with a sentence for the user.

Pure, and without JPype, so it can be tested as a table. A sentence says what to do. It never holds a password, and
neither do Java's messages.
"""

from collections.abc import Sequence

from kafka_warden.clients.jmx.protocol import JmxTls
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ConnectTimeoutError,
    ProtocolError,
    RefusedError,
    SourceError,
    TlsError,
)

CONNECT_TIMED_OUT = "connect timed out"
"""Start of the message of a connect that timed out (`Dialer.java`). A read that timed out has another message."""

Chain = Sequence[tuple[str, str]]
"""(class name, message) of an exception and its causes, the outermost first."""


def classify(chain: Chain, where: str, user: str | None = None, tls: JmxTls | None = None) -> SourceError:
    """The error of the first rule of `_RULES` that one of the chain's exceptions meets; `where` is host:port.

    With TLS 1.3 a server that requires a client certificate closes a connection without one after the handshake.
    """
    if tls is not None and tls.cert_file is None and any(name in _CLOSED for name, _ in chain):
        message = f"{where} closed the JMX connection after the TLS handshake; does it require a client certificate?"
        return TlsError(message)
    for kind, parts, needle, sentence in _RULES:
        for name, message in chain:
            if name in parts and needle.lower() in message.lower():
                text = sentence.format(where=where, user=user or "no user", what=_short(message) or name)
                return kind(text)
    name, message = chain[-1]
    return ProtocolError(f"JMX at {where} failed: {name}: {_short(message)}")


def _short(message: str) -> str:
    """The first line, without the nested exceptions that RMI repeats in every message."""
    return message.partition("\n")[0].partition("; nested exception")[0].strip()[:300]


_CLOSED = ("java.net.SocketException", "java.io.EOFException")
_TLS = (
    "javax.net.ssl.SSLException",
    "javax.net.ssl.SSLHandshakeException",
    "javax.net.ssl.SSLPeerUnverifiedException",
    "javax.net.ssl.SSLProtocolException",
    "javax.net.ssl.SSLKeyException",
    "java.security.GeneralSecurityException",
    "java.security.KeyStoreException",
    "java.security.spec.InvalidKeySpecException",
    "java.security.cert.CertificateException",
)
_RULES: tuple[tuple[type[SourceError], tuple[str, ...], str, str], ...] = (
    (
        ConnectTimeoutError,
        ("java.net.SocketTimeoutException",),
        CONNECT_TIMED_OUT,
        "{where} did not accept a JMX connection in time; look for a firewall, also before its RMI port",
    ),
    (
        ConnectTimeoutError,
        ("java.net.ConnectException",),
        "timed out",
        "{where} did not accept a JMX connection; look for a firewall",
    ),
    (
        AnswerTimeoutError,
        ("java.net.SocketTimeoutException",),
        "",
        "{where} accepted the JMX connection and did not answer in time; look whether it hangs, and for its RMI port",
    ),
    (
        AuthorizationError,
        ("java.lang.SecurityException",),
        "access denied",
        "JMX at {where} refuses {user} ({what}); give that user readonly in jmxremote.access of that process",
    ),
    (
        AuthenticationError,
        ("java.lang.SecurityException",),
        "",
        "JMX at {where} does not let {user} in ({what}); correct jmx.user or jmx.password_file",
    ),
    (
        ProtocolError,
        ("java.io.InvalidClassException", "java.lang.ClassNotFoundException"),
        "",
        "JMX at {where} sent an object that is not accepted, as Kafka sends none such ({what}); correct jmx.port",
    ),
    (ProtocolError, ("java.net.ProtocolException",), "", "{what}"),
    (
        ProtocolError,
        ("java.rmi.NotBoundException",),
        "",
        "{where} is an RMI registry without JMX; set jmx.port to what com.sun.management.jmxremote.port is there",
    ),
    (
        ProtocolError,
        ("java.rmi.ConnectIOException",),
        "non-JRMP server",
        "{where} does not answer JMX without TLS; set jmx.tls.ca_file if its registry uses TLS, or correct jmx.port",
    ),
    (
        TlsError,
        _TLS,
        "",
        "TLS with the JMX port {where} failed ({what}); correct jmx.tls.ca_file or jmx.brokers",
    ),
    (RefusedError, ("java.net.UnknownHostException",), "", "the name of {where} does not resolve; correct jmx.brokers"),
    (
        RefusedError,
        ("java.net.ConnectException", "java.net.NoRouteToHostException"),
        "",
        "nothing listens at {where} ({what}); start the process with JMX_PORT, or correct jmx.port or jmx.brokers",
    ),
    (
        RefusedError,
        (*_CLOSED, "java.rmi.NoSuchObjectException"),
        "",
        "{where} closed the JMX connection ({what}); look whether it was stopped or restarted",
    ),
)
"""Error class, Java classes, a part of their message, the sentence. The order counts: a time-out inside a TLS handshake
is a time-out, and an object that the filter refused is wrapped in an exception of a broken connection."""
