"""GSSAPI for clients of brokers and controllers, beside PLAIN, which the nodes and the super user keep."""

import os
from pathlib import Path
from typing import Any, Final

from sandbox.kdc import REALM, Kdc
from sandbox.properties import CLIENT_LISTENER, CONTROLLER_LISTENER
from sandbox.settings import Security

HOST: Final = "localhost"
"""Kerberos knows a service by the name of its host."""
SERVICE: Final = "kafka"


def kerberos_settings(kdc: Kdc, keytab: Path, reauthenticate: float) -> dict[str, Any]:
    """Settings of a cluster that takes the tickets of a KDC; a session lasts so many seconds.

    The key of the service is added to the KDC and written into `keytab`.
    """
    principal = f"{SERVICE}/{HOST}"
    kdc.add(principal)
    kdc.write_keytab(principal, keytab)
    module = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true doNotPrompt=true"
        f' keyTab="{keytab}" principal="{principal}@{REALM}";'
    )

    def listener(name: str) -> dict[str, object]:
        prefix = f"listener.name.{name.lower()}"
        return {
            f"{prefix}.sasl.enabled.mechanisms": "PLAIN,GSSAPI",
            f"{prefix}.gssapi.sasl.jaas.config": module,
            f"{prefix}.gssapi.connections.max.reauth.ms": round(1000 * reauthenticate),
            "sasl.kerberos.service.name": SERVICE,
        }

    return {
        "security": Security.SASL_SSL_PLAIN,
        "advertised_host": HOST,
        "java_properties": {"java.security.krb5.conf": os.fspath(kdc.config)},
        "broker_properties": listener(CLIENT_LISTENER),
        "controller_properties": listener(CONTROLLER_LISTENER),
    }
