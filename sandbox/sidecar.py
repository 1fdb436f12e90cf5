"""The configuration of kafka-warden for a sandbox cluster."""

from typing import Any

from sandbox.cluster import Cluster
from sandbox.protection import MONITOR


def sidecar_config(cluster: Cluster, user: str = MONITOR) -> dict[str, Any]:
    """The sections `kafka` and `jmx` to watch the cluster as `user`; secrets stay in their files."""
    properties = cluster.client_properties(user)
    if properties.pop("sasl.password", None) is not None:
        properties["sasl.password.file"] = str(cluster.secret_file(user))
    config: dict[str, Any] = {"kafka": {"bootstrap.servers": cluster.bootstrap, **properties}}
    if cluster.jmx_brokers:
        config["jmx"] = {"brokers": cluster.jmx_brokers, "controllers": cluster.jmx_controllers, **_jmx_access(cluster)}
    return config


def _jmx_access(cluster: Cluster) -> dict[str, Any]:
    access = cluster.protection.jmx
    options: dict[str, Any] = {}
    if access.password_file is not None:
        options |= {"user": cluster.jmx_user, "password_file": str(access.password_file)}
    if access.tls is not None:
        options["tls"] = {"ca_file": str(access.tls.ca_file)}
        if cluster.settings.jmx_client_certificate:
            client = access.tls.client
            options["tls"] |= {"cert_file": str(client.certificate), "key_file": str(client.key)}
    return options
