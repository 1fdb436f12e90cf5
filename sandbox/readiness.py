"""When a node, or the whole cluster, is ready."""

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest
from kafka.protocol.metadata import MetadataRequest

from sandbox.admin import Admin
from sandbox.node import Node
from sandbox.waiting import wait_for

METADATA_TOPIC = "__cluster_metadata"
# The leader counts a voter as caught up while it fetches; the interval between two fetches is at most half a second.
CAUGHT_UP_MS = 2000


def wait_broker(admin: Admin, node: Node, timeout: float) -> None:
    """Wait until a broker answers and reports itself as unfenced."""

    def unfenced() -> bool:
        node.require_running()
        reply = admin.ask_once(MetadataRequest(topics=[], allow_auto_topic_creation=False), node.node_id)
        return reply is not None and node.node_id in {broker.node_id for broker in reply.brokers}

    wait_for(unfenced, timeout, f"broker {node.node_id} is unfenced; its log ends with\n{node.log_tail()}")


def wait_controller(controllers: Admin, node: Node, timeout: float) -> None:
    """Wait until a controller leads the quorum, or follows the leader closely."""

    def caught_up() -> bool:
        node.require_running()
        partition = quorum(controllers)
        if partition is None:
            return False
        voters = {voter.replica_id: voter.last_caught_up_timestamp for voter in partition.current_voters}
        newest = max(voters.values(), default=-1)
        leads = partition.leader_id == node.node_id
        return bool(leads or newest - voters.get(node.node_id, -1) < CAUGHT_UP_MS)

    wait_for(caught_up, timeout, f"controller {node.node_id} has caught up")


def active_controller(controllers: Admin, timeout: float) -> int:
    """Id of the controller that leads the metadata quorum."""
    return int(wait_for(lambda: quorum(controllers), timeout, "the quorum has a leader").leader_id)


def controller_broker(addresses: Mapping[int, str]) -> int | None:
    """Id of the active controller in ZooKeeper mode, a broker; None while no broker knows it."""
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    for node in addresses:
        reply = Admin(lambda: addresses, {}).ask_once(request, node)
        if reply is not None and reply.controller_id in addresses:
            return int(reply.controller_id)
    return None


def quorum(controllers: Admin) -> Any:
    """The metadata quorum's one partition as its leader describes it; None while there is no leader.

    The controllers are asked on their own listeners: what a broker forwards to a hanging leader fails after 30 s.
    """
    topic = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest(
        topics=[topic(topic_name=METADATA_TOPIC, partitions=[topic.PartitionData(partition_index=0)])]
    )
    replies = [controllers.ask_once(request, node) for node in controllers.running()]
    partitions = [reply.topics[0].partitions[0] for reply in replies if reply is not None and not reply.error_code]
    # a controller that was paused while it led still reports itself as leader: the later epoch is right
    leaders = [partition for partition in partitions if not partition.error_code]
    return max(leaders, key=lambda partition: partition.leader_epoch, default=None)


def wait_in_sync(admin: Admin, timeout: float = 120.0) -> None:
    """Wait until every replica of every partition is in sync."""
    wait_for(lambda: not admin.out_of_sync(), timeout, "every replica is in sync")
