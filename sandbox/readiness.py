"""When a node, or the whole cluster, is ready."""

from typing import Any

from kafka.protocol.admin import DescribeQuorumRequest

from sandbox.admin import Admin
from sandbox.admin_base import check
from sandbox.link import NoAnswerError
from sandbox.node import Node
from sandbox.waiting import wait_for

METADATA_TOPIC = "__cluster_metadata"
# The leader counts a voter as caught up while it fetches; the interval between two fetches is at most half a second.
CAUGHT_UP_MS = 2000


def wait_broker(admin: Admin, node: Node, timeout: float) -> None:
    """Wait until a broker answers, and knows itself as unfenced."""

    def unfenced() -> bool:
        node.require_running()
        try:
            return node.node_id in admin.brokers(node.node_id)
        except NoAnswerError:
            return False

    wait_for(unfenced, timeout, f"broker {node.node_id} is unfenced; its log ends with\n{node.log_tail()}")


def wait_controller(admin: Admin, node: Node, timeout: float) -> None:
    """Wait until a controller leads the quorum, or follows the leader closely."""

    def caught_up() -> bool:
        node.require_running()
        partition = quorum(admin)
        voters = {voter.replica_id: voter.last_caught_up_timestamp for voter in partition.current_voters}
        newest = max(voters.values(), default=-1)
        leads = partition.leader_id == node.node_id
        return bool(leads or newest - voters.get(node.node_id, -1) < CAUGHT_UP_MS)

    wait_for(caught_up, timeout, f"controller {node.node_id} has caught up")


def active_controller(admin: Admin) -> int:
    """Id of the controller that leads the metadata quorum."""
    return int(wait_for(lambda: max(quorum(admin).leader_id, 0), what="the quorum has a leader"))


def quorum(admin: Admin) -> Any:
    """The metadata quorum's one partition, as its leader describes it."""
    topic = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest(
        topics=[topic(topic_name=METADATA_TOPIC, partitions=[topic.PartitionData(partition_index=0)])]
    )
    reply = admin.ask(request)
    check("describe quorum", reply.error_code)
    partition = reply.topics[0].partitions[0]
    check("describe quorum", partition.error_code)
    return partition


def wait_in_sync(admin: Admin, timeout: float = 120.0) -> None:
    """Wait until every replica of every partition is in sync."""
    wait_for(lambda: not admin.out_of_sync(), timeout, "every replica is in sync")
