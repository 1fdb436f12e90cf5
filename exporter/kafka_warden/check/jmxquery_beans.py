"""Beans as jmxquery reads them, a client of its own. Only for ports without a password: it would show it to `ps`."""

import logging
from collections.abc import Sequence
from subprocess import CalledProcessError
from typing import Final

import jmxquery

WITHIN: Final = 30.0
"""Seconds; it starts a JVM."""


def read_attributes(host: str, port: int, attributes: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of the attributes, each with its bean, that jmxquery can read; none after a failure."""
    logging.getLogger(jmxquery.__name__).setLevel(logging.CRITICAL)
    where = f"[{host}]" if ":" in host else host
    connection = jmxquery.JMXConnection(f"service:jmx:rmi:///jndi/rmi://{where}:{port}/jmxrmi")
    asked = [jmxquery.JMXQuery(f"{name}/{attribute}") for name, attribute in attributes]
    try:
        return {(found.mBeanName, found.attribute) for found in connection.query(asked, timeout=WITHIN)}
    except (CalledProcessError, OSError, ValueError, AttributeError):  # the last is what a time-out raises there
        return set()
