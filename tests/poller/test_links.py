"""Which brokers the poller asks about the cluster, and in which order; and how old the image of each is."""

import itertools

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.model import Broker
from kafka_warden.poller.answers import LastAnswers
from kafka_warden.poller.asking import PollerSettings, PollerState
from kafka_warden.poller.links import Images, Links
from kafka_warden.poller.status import StatusBook
from kafka_warden.replies import Quorum, QuorumReplica

BROKERS = {broker: Broker(broker, f"kafka-{broker}.example", 9092) for broker in (1, 2, 3, 4, 5)}


def made() -> Links:
    return Links(network=None, settings=translate({"bootstrap.servers": "kafka.example:9092"}))  # type: ignore[arg-type]  # no link is used


def asked(links: Links, last: int | None, images: Images | None = None) -> dict[BrokerLink, int | None]:
    """Links and their brokers in the order in which they are asked."""
    return links.metadata_candidates(BROKERS, last, images or Images())


def order(links: Links, last: int | None, images: Images | None = None) -> list[int | None]:
    """Brokers in the order in which they are asked, `None` for the bootstrap address."""
    return list(asked(links, last, images).values())


def test_the_broker_that_answered_last_is_asked_first() -> None:
    assert order(made(), last=3) == [3, 1, 2, 4, 5, None]


def test_brokers_that_did_not_answer_come_last() -> None:
    """Brokers that hang cannot keep the others from being asked, however many there are, not even the last lead."""
    links = made()
    for clock, link in enumerate(list(asked(links, 1))[:3], start=1):
        links.mark_failed(link, float(clock))
    assert order(links, last=1) == [4, 5, None, 1, 2, 3]


def test_a_broker_that_answers_again_is_asked_in_its_place() -> None:
    links = made()
    link = next(iter(asked(links, 1)))
    links.mark_failed(link, 1.0)
    links.mark_ok(link)
    assert order(links, last=1) == [1, 2, 3, 4, 5, None]


def test_two_instances_start_at_different_brokers() -> None:
    """One with an old image then leads one of them at most. The broker that answered last still comes first."""
    assert order(made(), None, Images(turn=7)) == [3, 4, 5, 1, 2, None]
    assert order(made(), 1, Images(turn=7)) == [1, 3, 4, 5, 2, None]


def test_a_broker_with_an_old_image_is_asked_last() -> None:
    links, images = made(), Images()
    links.mark_failed(next(iter(asked(links, 2))), 1.0)
    images.note(1, 0.0)
    assert order(links, 1, images) == [3, 4, 5, None, 2, 1]


def test_brokers_that_are_fenced_or_gone_are_not_asked() -> None:
    brokers = {1: Broker(1, "a", 1, fenced=True), 2: Broker(2, "b", 1, gone=True), 3: Broker(3, "c", 1)}
    links = made()
    state = PollerState(links.network, links, LastAnswers(brokers=brokers), StatusBook(), PollerSettings())
    assert list(links.metadata_candidates(state.active, 1, state.images).values()) == [3, None]


def test_controllers_that_are_no_longer_asked_keep_no_connection() -> None:
    """A broker that names another controller in every reply causes one connection, not one for each."""
    links = made()
    kept, dropped = links.controller("a", 1), links.controller("b", 1)
    links.keep_controllers([("a", 1)])
    assert links.controller("a", 1) is kept
    assert links.controller("b", 1) is not dropped


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
