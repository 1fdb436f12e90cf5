"""The links of a poll: one per known broker and controller, and one per bootstrap address until brokers are known."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.errors import AuthenticationError, SourceError
from kafka_warden.model import Broker
from kafka_warden.poller.images import Images
from kafka_warden.sources.metadata import verify_cluster

AUTHENTICATION_PAUSE = 60.0
"""Seconds without a further attempt after a refused password, so that no account is locked."""


@dataclass(slots=True)
class _Refusal:
    fault: AuthenticationError
    until: float


@dataclass(slots=True)
class Links:
    """Makes links when they are needed, a new one when an address changes, all of them when a secret does.

    Use it on the network's loop, except `close`, and except between polls.
    """

    network: Network
    settings: KafkaClientSettings
    lost: Callable[[], None] = lambda: None
    """Called on the network's loop when a connection to a broker is lost between two polls: `BrokerLink`."""
    watched: Callable[[], str | None] = lambda: None
    """Returns the id of the cluster that may answer, `None` for any."""
    closed: bool = False
    _links: dict[str, BrokerLink] = field(default_factory=dict)
    _refused: dict[str, _Refusal] = field(default_factory=dict)
    _failed: dict[str, float] = field(default_factory=dict)
    """Key of a link to when it did not answer for the metadata, monotonic seconds."""

    def refresh(self) -> bool:
        """Forget every refusal when the login changed, and return whether it did.

        A file with a password or certificate drops every connection, too. Another token does not: connections log in
        again by themselves before their sessions end.
        """
        changed = self.settings.changed()
        if changed:
            self._close_all()
        if isinstance(tokens := self.settings.credentials, Tokens):
            changed |= tokens.changed(self.network.clock.monotonic())
        if changed:
            self._refused.clear()
        return changed

    def replace(self, settings: KafkaClientSettings) -> None:
        """Use other settings for new connections, and drop the old ones. Call it between two polls."""
        self.settings = settings
        self._refused.clear()
        self.network.post(self._close_all)

    def broker(self, broker: Broker) -> BrokerLink:
        """Return the link to a broker."""
        return self._at(f"broker {broker.id}", broker.host, broker.port)

    def controller(self, host: str, port: int) -> BrokerLink:
        """Return the link to a controller's own listener."""
        return self._at(f"controller {host}:{port}", host, port)

    def metadata_candidates(
        self, brokers: Mapping[int, Broker], last: int | None, images: Images
    ) -> dict[BrokerLink, int | None]:
        """Return the links to ask for metadata, in order: the last that answered, other brokers, bootstrap addresses.

        Those that did not answer come later, the longest ago first: a few brokers that hang must not keep the others
        from being asked, poll after poll. Brokers with an old image come last. The values are broker ids, `None` for
        an address.
        """
        alive = list(brokers.values())
        first = images.turn % len(alive) if alive else 0
        alive = sorted(alive[first:] + alive[:first], key=lambda broker: broker.id != last)
        found: list[tuple[int | None, str, str, int]] = [(b.id, f"broker {b.id}", b.host, b.port) for b in alive]
        found += [(None, f"bootstrap {host}:{port}", host, port) for host, port in self.settings.bootstrap]
        found.sort(key=lambda candidate: self._failed.get(candidate[1], 0.0))
        found.sort(key=lambda candidate: images.rank(candidate[0]))
        return {self._at(key, host, port): broker for broker, key, host, port in found}

    def mark_failed(self, link: BrokerLink, clock: float) -> None:
        """Remember that there was no answer for the metadata over this link."""
        self._failed.update({key: clock for key, known in self._links.items() if known is link})

    def mark_ok(self, link: BrokerLink) -> None:
        """Remember that there was one."""
        self._failed = {key: clock for key, clock in self._failed.items() if self._links.get(key) is not link}

    def leave_bootstrap(self) -> None:
        """Close the bootstrap links; from here on the brokers' own are used."""
        for key in [key for key in self._links if key.startswith("bootstrap")]:
            self._links.pop(key).close()

    def forget(self, broker: int) -> None:
        """Close the link of a broker that is no longer known."""
        self._failed.pop(f"broker {broker}", None)
        link = self._links.pop(f"broker {broker}", None)
        if link is not None:
            link.close()

    def keep_controllers(self, addresses: Collection[tuple[str, int]]) -> None:
        """Close the links of all controllers but these."""
        kept = {f"controller {host}:{port}" for host, port in addresses}
        for key in [key for key in self._links if key.startswith("controller") and key not in kept]:
            self._links.pop(key).close()

    def take_throttle_times(self) -> dict[int, float]:
        """Return, by broker, the longest pause that it asked for since the previous call, or what is left. Seconds."""
        return {
            int(key.removeprefix("broker ")): longest
            for key, link in self._links.items()
            if key.startswith("broker ") and (longest := link.take_throttle_time()) is not None
        }

    def refused(self, link: BrokerLink, clock: float) -> AuthenticationError | None:
        """Return why this address must not be tried yet, if so."""
        refusal = self._refused.get(link.address)
        return refusal.fault if refusal is not None and clock < refusal.until else None

    def note(self, link: BrokerLink, fault: SourceError | None, clock: float) -> None:
        """Remember that a password was refused, or that one was accepted."""
        if isinstance(fault, AuthenticationError):
            if self.refused(link, clock) is None:
                self._refused = {where: refusal for where, refusal in self._refused.items() if clock < refusal.until}
                self._refused[link.address] = _Refusal(fault, clock + AUTHENTICATION_PAUSE)
        elif fault is None:
            self._refused.pop(link.address, None)

    def close(self) -> None:
        """Close every connection for good, from any other thread. Does not wait; open questions fail."""
        self.closed = True
        self.network.post(self._close_all)

    def _at(self, key: str, host: str, port: int) -> BrokerLink:
        link = self._links.get(key)
        if link is None or (link.host, link.port) != (host, port):
            if link is not None:
                link.close()
            where = f"{host}:{port}, the address of {key}," if key.startswith("broker") else f"{host}:{port}"
            # A name or a NAT may lead to another cluster since the last connection. A controller has no metadata.
            verify = None if key.startswith("controller") else partial(verify_cluster, self.watched, where)
            link = self._links[key] = BrokerLink(self.network, self.settings, host, port, self.lost, verify)
        return link

    def _close_all(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()
