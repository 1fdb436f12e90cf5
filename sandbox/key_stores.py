"""Java's stores of keys and certificates, made by the JDK's keytool."""

import os
import subprocess
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from sandbox.certificates import Identity
from sandbox.errors import SandboxError

KEYTOOL_SECONDS = 60


def write_trust_store(store: Path, kind: str, password: str, certificate: Path, *options: str) -> Path:
    """Replace a store of the type PKCS12 or JKS by one that trusts a certificate (PEM).

    `options` go to the JVM, such as `-J-Dkeystore.pkcs12.legacy`.
    """
    made = store.with_name(f"{store.name}.new")
    made.unlink(missing_ok=True)
    _keytool(
        *(*options, "-importcert", "-noprompt", "-alias", "authority", "-file", os.fspath(certificate)),
        *("-keystore", os.fspath(made), "-storetype", kind, "-storepass:env", "store"),
        store=password,
    )
    return made.replace(store)


def write_key_store(
    store: Path,
    kind: str,
    password: str,
    identity: Identity,
    key_password: str | None = None,
    chain: Path | None = None,
) -> Path:
    """Replace a store by one with a key and its certificate.

    Args:
        store: The file.
        kind: PKCS12 or JKS.
        password: Of the store.
        identity: Key (without a password) and certificate.
        key_password: Of the key, where it is another one: for JKS.
        chain: PEM certificates between the certificate and its authority.
    """
    key = serialization.load_pem_private_key(identity.key.read_bytes(), None)
    own = x509.load_pem_x509_certificate(identity.certificate.read_bytes())
    between = x509.load_pem_x509_certificates(chain.read_bytes()) if chain is not None else []
    made = store.with_name(f"{store.name}.new")
    made.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch) / "first.p12"
        encryption = serialization.BestAvailableEncryption(password.encode())
        first.write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, own, between, encryption))  # type: ignore[arg-type]  # an elliptic key
        _keytool(
            *("-importkeystore", "-noprompt", "-srckeystore", os.fspath(first), "-srcstorepass:env", "store"),
            *("-destkeystore", os.fspath(made), "-deststoretype", kind, "-deststorepass:env", "store"),
            *("-srcalias", "own", "-destkeypass:env", "key"),
            store=password,
            key=key_password or password,
        )
    return made.replace(store)


def _keytool(*arguments: str, **passwords: str) -> None:
    environment = {**os.environ, **passwords}
    command = ["keytool", "-J-Xshare:auto", "-J-XX:TieredStopAtLevel=1", *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=KEYTOOL_SECONDS, check=False
    )
    if done.returncode:
        raise SandboxError(f"keytool failed: {(done.stdout + done.stderr).strip()}")
