"""The links of a poll, and which brokers have an old image of the metadata: these are asked about the cluster last.

A broker that lost its controllers stays up, and answers for the cluster from the image that it had. Two things show it:
DescribeQuorum has the time at which each broker last caught up with the active controller, and another broker's
metadata has higher leader epochs, or lacks this broker.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from kafka_warden.arrays import match_partitions
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import KafkaClientSettings
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.errors import AuthenticationError, SourceError
from kafka_warden.model import UNKNOWN, Broker
from kafka_warden.replies import Quorum
from kafka_warden.sources.metadata import Layout, verify_cluster

OLD: Final = 5.0
"""Seconds. The active controller writes a record every 0.5 s (`metadata.max.idle.interval.ms`), and fences a silent
broker after 9 s (`broker.session.timeout.ms`)."""


@dataclass(slots=True)
class Images:
    """What is known of the age of each broker's image. Times are monotonic seconds."""

    turn: int = 0
    """Grows with each comparison. Where it begins decides which broker is asked first."""
    _caught_up: dict[int, float] = field(default_factory=dict)
    """Broker to when it last caught up, by the last answer of DescribeQuorum."""
    _as_of: float = 0.0
    """When that answer came."""
    _behind: dict[int, float] = field(default_factory=dict)
    """Broker to when its metadata was first found to be behind that of another one."""

    def ages(self, clock: float) -> dict[int, float]:
        """Return for how many seconds the image of each broker has been old: 0 for a current one."""
        late = {broker: clock - at for broker, at in self._caught_up.items() if self._as_of - at >= OLD}
        return {
            broker: max(late.get(broker, 0.0), clock - self._behind.get(broker, clock))
            for broker in sorted(self._caught_up.keys() | self._behind.keys())
        }

    def old(self, broker: int) -> bool:
        """Return whether a broker is known to have an old image."""
        return broker in self._behind or self._as_of - self._caught_up.get(broker, self._as_of) >= OLD

    def rank(self, broker: int | None) -> tuple[bool, bool]:
        """Return a sort key: current images first, those that another broker's metadata contradicts last.

        DescribeQuorum counts less: a replaced controller that does not know it yet calls the images of the new one old.
        `None` is an unknown broker.
        """
        return (False, False) if broker is None else (broker in self._behind, self.old(broker))

    def misled_by(self, lead: int | None, brokers: Collection[int]) -> bool:
        """Return whether a lead has an old image, or is unknown and may, although another broker has a current one."""
        old = {broker for broker in brokers if self.old(broker)}
        return 0 < len(old) < len(brokers) and (lead is None or lead in old)

    def next(self, brokers: Sequence[int]) -> int:
        """Return the broker to compare with the lead: those that were behind in every poll, else each in its turn."""
        suspects = [broker for broker in brokers if broker in self._behind] or brokers
        self.turn += 1
        return suspects[self.turn % len(suspects)]

    def note_quorum(
        self, quorum: Quorum | None, brokers: Mapping[int, Broker], readers: Collection[int], clock: float
    ) -> None:
        """Take over when each broker last caught up. Without an answer with times the last one stays until `expire`.

        `readers`: the brokers that are to follow the active controller.
        """
        times: dict[int, float] = {}
        for replica in quorum.replicas if quorum is not None else ():
            # A node whose directory was replaced is listed twice until the controller drops the old one.
            if (at := replica.last_caught_up_time) is not None:
                times[replica.node] = max(at, times.get(replica.node, at))
        if quorum is None or (now := times.get(quorum.leader)) is None:
            return
        before, self._caught_up, self._as_of = self._caught_up, {}, clock
        for broker in brokers:
            at = times.get(broker)
            if at is not None:
                # Both are of the active controller's clock.
                self._caught_up[broker] = clock - max(now - at, 0.0)
            elif broker in readers:
                # After 300 s without a fetch the controller no longer lists it. A new controller does not list it yet.
                self._caught_up[broker] = before.get(broker, clock)

    def expire(self, oldest: float) -> None:
        """Forget the last answer of DescribeQuorum if it came before a monotonic time."""
        if self._as_of < oldest:
            self._caught_up = {}

    def note(self, broker: int, behind_at: float | None) -> None:
        """Note when the metadata of a broker was found to be behind; `None` where it is not."""
        if behind_at is None:
            self._behind.pop(broker, None)
        else:
            self._behind.setdefault(broker, behind_at)

    def keep(self, brokers: Collection[int]) -> None:
        """Forget what the metadata of all other brokers was: they are not asked."""
        self._behind = {broker: at for broker, at in self._behind.items() if broker in brokers}

    @property
    def suspected(self) -> bool:
        """Whether the metadata of any broker was behind when it was compared last."""
        return bool(self._behind)


def newer(first: Layout, second: Layout, brokers: tuple[int, int]) -> int:
    """Compare the metadata of two brokers: -1 where the first is newer, 1 where the second is, 0 where neither.

    Leader epochs only grow. Where they are alike, a broker that the other one does not list as active is behind.
    """
    rows = match_partitions(first.keys(), second.keys())
    both = rows != UNKNOWN
    ahead = int(np.sign(second.leader_epoch[both] - first.leader_epoch[rows[both]]).sum())
    if not ahead:
        ahead = (brokers[0] not in second.brokers) - (brokers[1] not in first.brokers)
    return (ahead > 0) - (ahead < 0)


AUTHENTICATION_PAUSE = 60.0
"""Seconds without a further attempt after a refused password, so that no account is locked."""


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
    _refused: dict[str, tuple[AuthenticationError, float]] = field(default_factory=dict)
    """Address to what was refused, and until when it is not tried again, monotonic seconds."""
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
        fault, until = self._refused.get(link.address, (None, 0.0))
        return fault if clock < until else None

    def note(self, link: BrokerLink, fault: SourceError | None, clock: float) -> None:
        """Remember that a password was refused, or that one was accepted."""
        if isinstance(fault, AuthenticationError):
            if self.refused(link, clock) is None:
                self._refused = {where: refused for where, refused in self._refused.items() if clock < refused[1]}
                self._refused[link.address] = fault, clock + AUTHENTICATION_PAUSE
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
