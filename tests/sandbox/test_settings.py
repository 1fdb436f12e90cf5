"""What a cluster may be made of."""

from typing import Any

import pytest

from sandbox import ClusterSettings, Security, SettingsError
from sandbox.properties import render


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"brokers": 0}, "brokers"),
        ({"controllers": 9}, "controllers"),
        ({"log_dirs": 0}, "log_dirs"),
        ({"broker_heap": 1}, "broker_heap"),
        ({"profile": "slow"}, "profile"),
        ({"jmx": False, "jmx_password": True}, "jmx_password"),
        ({"jmx_client_certificate": True}, "jmx_client_certificate"),
        ({"bad_certificates": True}, "bad_certificates"),
        ({"zookeeper": True, "tiered": False}, "zookeeper"),
        ({"zookeeper": True, "version": "3.9.1", "security": Security.MTLS}, "zookeeper"),
        ({"version": "3.3.2"}, "tiered"),
    ],
)
def test_nonsense_is_refused_by_name(arguments: dict[str, Any], named: str) -> None:
    """A setting that makes no sense is one line that names it."""
    with pytest.raises(SettingsError, match=named) as refused:
        ClusterSettings(**arguments)

    assert "\n" not in str(refused.value)


def test_ids_of_brokers_and_controllers() -> None:
    """Brokers count from 1, controllers from 101."""
    settings = ClusterSettings(brokers=2, controllers=3, security=Security.MTLS)

    assert (settings.broker_ids, settings.controller_ids) == ((1, 2), (101, 102, 103))
    assert settings.secured


def test_properties_survive_backslashes_and_newlines() -> None:
    """A properties file keeps one line per key, whatever the value."""
    assert render({"a": True, "b": "x\\y\nz"}) == "a=true\nb=x\\\\y\\nz\n"
