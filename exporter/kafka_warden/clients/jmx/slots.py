"""State of each target between two polls, and what one poll waits for. Used under a lock."""

import logging
from dataclasses import dataclass
from typing import Final

from kafka_warden.clients.jmx.protocol import Kind, RawBeans, Reply, result
from kafka_warden.errors import AuthenticationError, ProtocolError, SourceError, TlsError
from kafka_warden.settings.secrets import Secret, SecretSource

AUTH_HOLD: Final = 60.0
"""Seconds for which a refused password is not tried again, unless it changes: some servers lock accounts."""

FORGET: Final = 300.0
"""Seconds after which the state of a target that is no longer asked is dropped."""

MOST_TARGETS: Final = 500
"""Targets within `FORGET` seconds. Each has state, over RMI also a thread and a socket in the child, and metadata may
name any number of brokers."""

log = logging.getLogger(__name__)

Answer = RawBeans | SourceError
Place = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class JmxTarget:
    """One process to ask. `key` names it in the answers. Host and port may change from poll to poll."""

    key: str
    host: str
    port: int
    user: str | None = None
    password: SecretSource | None = None
    kind: Kind = "broker"
    named: bool = True
    """Whether the configuration names the host, not only the metadata. Only then the password may go without TLS.

    No exception for loopback: any user of this machine can listen there.
    """

    @property
    def place(self) -> Place:
        """A target that moved counts as another one: a call that hangs at the old address must not delay it."""
        return (self.key, self.host, self.port)


def refuse_clear_password(target: JmxTarget) -> None:
    """Send no password without TLS to a host that only the metadata names.

    Raises:
        TlsError: it is one.
    """
    if not target.named:
        raise TlsError(
            f"JMX at {target.host}:{target.port} would get the password in clear, and only the metadata names"
            " this host: set jmx.tls.ca_file, or name the address in jmx.brokers"
        )


def no_room(target: JmxTarget) -> SourceError:
    """Return the answer for a target beyond `MOST_TARGETS`."""
    return ProtocolError(f"JMX at {target.host}:{target.port} is not asked: {MOST_TARGETS} processes are asked at most")


@dataclass(slots=True)
class Slot:
    """One target at one address. Ids grow, so an answer to a later request than the awaited one is recognised."""

    place: Place
    used: float
    """Monotonic time of the latest poll that wanted it."""
    outstanding: int | None = None
    """Id of the request that is not answered yet; there is at most one."""
    since: float = 0.0
    answered: int = -1
    answer: Answer | None = None
    password: Secret | None = None
    """Password of the latest request."""
    refused_until: float = 0.0
    left_out_logged: bool = False

    def take(self, reply: Reply, now: float) -> None:
        """Its reply has arrived."""
        self.outstanding, self.answered, self.answer = None, reply.id, result(reply, now)
        if isinstance(self.answer, AuthenticationError):
            self.refused_until = now + AUTH_HOLD
        elif reply.left_out and not self.left_out_logged:
            self.left_out_logged = True
            message = "JMX of %s at %s:%d has too many beans of clients: %d are not read, see dropped_series"
            log.warning(message, *self.place, reply.left_out)

    def overdue(self, now: float, after: float) -> bool:
        """Whether its call hangs."""
        return self.outstanding is not None and now - self.since > after

    def held_back(self, now: float, password: Secret | None) -> bool:
        """Whether this password was refused less than `AUTH_HOLD` ago."""
        return isinstance(self.answer, AuthenticationError) and now < self.refused_until and password == self.password


@dataclass(slots=True)
class Wanted:
    """What one poll waits for at one target. `answer` may belong to the request of an earlier poll."""

    target: JmxTarget
    slot: Slot
    awaited: int = -1
    late: bool = False
    """The awaited request is of an earlier poll. Its answer counts for this poll; after a failure, ask again."""
    answer: Answer | None = None
