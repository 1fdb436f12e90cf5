"""Beans as jmxquery reads them, with a JVM of its own: a second opinion beside the sidecar's."""

import time
from dataclasses import dataclass

from jmxquery import JMXConnection, JMXQuery

TIMEOUT = 60


@dataclass(frozen=True)
class Reading:
    """Values by `bean/attribute`, and between which two Unix times they were read."""

    values: dict[str, float]
    after: float
    before: float


def read_beans(address: str, *names: str) -> Reading:
    """Read attributes of one process, each named `bean/attribute`; patterns are fine, and NaN is left out.

    Args:
        address: host:port of a JMX port without a password.
        names: as `kafka.server:type=Request,client-id=*/throttle-time`.
    """
    connection = JMXConnection(f"service:jmx:rmi:///jndi/rmi://{address}/jmxrmi")
    after = time.time()
    found = connection.query([JMXQuery(name) for name in names], timeout=TIMEOUT)
    values = {f"{bean.mBeanName}/{bean.attribute}": float(bean.value) for bean in found if _is_number(bean.value)}
    return Reading(values, after, time.time())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value == value  # noqa: PLR0124  NaN is the one that is not itself
