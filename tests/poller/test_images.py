"""How old the image of each broker is, by the answer of DescribeQuorum."""

import itertools

from kafka_warden.model import Broker
from kafka_warden.poller.links import Images
from kafka_warden.replies import Quorum, QuorumReplica


def test_a_broker_whose_directory_was_replaced_is_as_old_as_its_newest_one() -> None:
    """The active controller lists both directories of the node, in any order, until it drops the old one."""
    listed = (
        QuorumReplica(1, voter=True, log_end_offset=9, last_caught_up_time=1000.0),
        QuorumReplica(2, voter=False, log_end_offset=4, last_caught_up_time=700.0),
        QuorumReplica(2, voter=True, log_end_offset=9, last_caught_up_time=999.9),
        QuorumReplica(2, voter=False, log_end_offset=0, last_caught_up_time=None),
    )
    brokers = {id_: Broker(id_, "localhost", 9092) for id_ in (1, 2)}
    for order in itertools.permutations(listed):
        images = Images()
        images.note_quorum(Quorum(1, 3, 9, order), brokers, (), 50.0)
        assert images.ages(50.0) == {1: 0.0, 2: 0.0}
