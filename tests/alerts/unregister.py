"""Takes a broker out of a cluster for good, as `kafka-cluster.sh unregister` does; kafka-python cannot."""

from kafka.protocol.api_message import ApiMessage

from sandbox import Cluster
from sandbox.admin_base import check

MESSAGES = "tests.alerts.messages"


class UnregisterBrokerRequest(ApiMessage, load_json=MESSAGES):  # type: ignore[misc,call-arg]  # kafka-python ships no types
    """Asks the controller to forget a broker that is down."""


class UnregisterBrokerResponse(ApiMessage, load_json=MESSAGES):  # type: ignore[misc,call-arg]  # kafka-python ships no types
    """Its answer."""


def unregister(cluster: Cluster, broker: int) -> None:
    """Let the cluster forget a broker that is down; once it is started it registers again.

    Raises:
        AdminError: The controller refuses.
    """
    reply = cluster.admin.ask(UnregisterBrokerRequest(broker_id=broker))
    check(f"unregister broker {broker}", reply.error_code, reply.error_message)
