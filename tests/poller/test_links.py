"""Whom the poller asks about the cluster, and in which order."""

from kafka_warden.clients.kafka.properties import translate
from kafka_warden.model import Broker
from kafka_warden.poller.links import Links

BROKERS = {broker: Broker(broker, f"kafka-{broker}.example", 9092) for broker in (1, 2, 3, 4, 5)}


def made() -> Links:
    """Links that nobody connects."""
    return Links(network=None, settings=translate({"bootstrap.servers": "kafka.example:9092"}))  # type: ignore[arg-type]  # no link is used


def order(links: Links, last: int | None) -> list[int | None]:
    """Doors in the order in which they are tried."""
    return [broker for broker, _ in links.doors(BROKERS, last)]


def test_who_answered_last_is_asked_first() -> None:
    """Then the other brokers, then the bootstrap addresses."""
    assert order(made(), last=3) == [3, 1, 2, 4, 5, None]


def test_doors_that_stay_shut_come_last() -> None:
    """Brokers that hang cannot keep the others from being asked, however many there are and whoever led."""
    links = made()
    for clock, (broker, link) in enumerate(list(links.doors(BROKERS, 1))[:3], start=1):
        links.shut(link, float(clock))
        assert broker in {1, 2, 3}

    assert order(links, last=1) == [4, 5, None, 1, 2, 3]


def test_a_door_that_opens_again_is_as_good_as_any() -> None:
    """Its failure is forgotten."""
    links = made()
    _, link = next(links.doors(BROKERS, 1))
    links.shut(link, 1.0)
    links.opened(link)

    assert order(links, last=1) == [1, 2, 3, 4, 5, None]


def test_brokers_that_are_fenced_or_gone_are_no_doors() -> None:
    """They cannot tell of the cluster."""
    brokers = {1: Broker(1, "a", 1, fenced=True), 2: Broker(2, "b", 1, gone=True), 3: Broker(3, "c", 1)}

    assert [broker for broker, _ in made().doors(brokers, 1)] == [3, None]
