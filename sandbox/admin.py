"""The admin side of a sandbox cluster: everything that changes it over the protocol.

Every request goes to a broker that runs, by the cluster's own knowledge of which it paused or killed; brokers forward
to the active controller what only that one may do.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from kafka.protocol.metadata import MetadataRequest

from sandbox import link
from sandbox.admin_moves import MoveAdmin
from sandbox.admin_principals import PrincipalAdmin
from sandbox.admin_quotas import QuotaAdmin
from sandbox.errors import NoBrokerAnswersError

ATTEMPT_SECONDS = 10.0
RETRY_SECONDS = 0.2


class Admin(MoveAdmin, QuotaAdmin, PrincipalAdmin):
    """Admin requests of one principal.

    Attributes:
        timeout: Seconds that one request may take, tries at several brokers included.
    """

    def __init__(
        self,
        addresses: Callable[[], Mapping[int, str]],
        config: Mapping[str, object],
        timeout: float = 60.0,
    ) -> None:
        self._addresses = addresses
        self._config = config
        self.timeout = timeout

    def ask(self, request: Any, node: int | None = None) -> Any:
        """Send any request of kafka.protocol and return the reply; `node` where one broker must answer.

        Raises:
            NoBrokerAnswersError: No broker answered within `timeout`.
        """
        deadline = time.monotonic() + self.timeout
        failures: dict[int, str] = {}
        while (left := deadline - time.monotonic()) > 0 and (node is None or node in self._addresses()):
            for broker, address in self._addresses().items():
                if node in {None, broker}:
                    try:
                        return link.ask(address, request, self._config, min(left, ATTEMPT_SECONDS))
                    except link.NoAnswerError as error:
                        failures[broker] = str(error)
            time.sleep(RETRY_SECONDS)
        who = "no broker answers" if node is None else f"broker {node} does not answer"
        raise NoBrokerAnswersError(f"{type(request).__name__}: {who}; {'; '.join(failures.values()) or 'none runs'}")

    def ask_once(self, request: Any, node: int) -> Any | None:
        """Ask one node a single time; None where it does not answer."""
        address = self._addresses().get(node)
        try:
            return None if address is None else link.ask(address, request, self._config, ATTEMPT_SECONDS)
        except link.NoAnswerError:
            return None

    def running(self) -> tuple[int, ...]:
        """Ids of the nodes that should answer: neither paused nor killed."""
        return tuple(self._addresses())

    def brokers(self) -> dict[int, str]:
        """Brokers that are not fenced, with their addresses, as a running broker sees them."""
        reply = self.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False))
        return {broker.node_id: f"{broker.host}:{broker.port}" for broker in reply.brokers}
