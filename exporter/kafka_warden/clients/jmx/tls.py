"""An SSLContext from PEM files, read in the JVM itself: no key store, no password, nothing on a command line."""

import base64
import re
from pathlib import Path
from typing import Any

from jpype import JClass

from kafka_warden.clients.jmx.protocol import TlsFiles

_contexts: dict[tuple[Any, ...], Any] = {}


def tls_context(files: TlsFiles) -> Any:
    """The `javax.net.ssl.SSLContext` of these files, made anew when one of them has changed.

    Raises Java's `GeneralSecurityException` and `IOException`, so that the dialer's caller sees one kind of failure.
    """
    stamp = (files, *(_stamp(path) for path in (files.ca_file, files.cert_file, files.key_file) if path))
    if stamp not in _contexts:
        made = _make(files)
        _contexts.clear()
        _contexts[stamp] = made
    return _contexts[stamp]


def _make(files: TlsFiles) -> Any:
    trust = _key_store()
    for index, certificate in enumerate(_certificates(files.ca_file)):
        trust.setCertificateEntry(f"ca-{index}", certificate)
    trusted = JClass("javax.net.ssl.TrustManagerFactory").getInstance("PKIX")
    trusted.init(trust)
    managers = None
    if files.cert_file and files.key_file:
        own = _key_store()
        own.setKeyEntry("own", _private_key(files.key_file), [], _certificates(files.cert_file))
        keys = JClass("javax.net.ssl.KeyManagerFactory").getInstance("PKIX")
        keys.init(own, [])
        managers = keys.getKeyManagers()
    context = JClass("javax.net.ssl.SSLContext").getInstance("TLS")
    context.init(managers, trusted.getTrustManagers(), None)
    return context


def _key_store() -> Any:
    store = JClass("java.security.KeyStore").getInstance("PKCS12")
    store.load(None, None)
    return store


def _certificates(path: str) -> list[Any]:
    factory = JClass("java.security.cert.CertificateFactory").getInstance("X.509")
    return list(factory.generateCertificates(JClass("java.io.ByteArrayInputStream")(_read(path))))


def _private_key(path: str) -> Any:
    found = re.search(rb"-----BEGIN PRIVATE KEY-----(.+?)-----END PRIVATE KEY-----", _read(path), re.DOTALL)
    invalid = JClass("java.security.spec.InvalidKeySpecException")
    if not found:
        raise invalid(f"{path} holds no unencrypted PKCS #8 key: convert it with openssl pkcs8 -topk8 -nocrypt")
    spec = JClass("java.security.spec.PKCS8EncodedKeySpec")(base64.b64decode(found.group(1)))
    for algorithm in ("RSA", "EC", "Ed25519"):
        try:
            return JClass("java.security.KeyFactory").getInstance(algorithm).generatePrivate(spec)
        except invalid:
            continue
    raise invalid(f"{path} is neither an RSA, an EC nor an Ed25519 key")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as failed:
        raise JClass("java.security.KeyStoreException")(f"cannot read {path}: {failed.strerror}") from None


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
