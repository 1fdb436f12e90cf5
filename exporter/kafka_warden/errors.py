"""One exception class per meaning. Imported by everything, imports nothing.

Every :class:`SourceError` carries the `reason` that `kafka_warden_source_errors_total` counts it under.
"""

from enum import StrEnum
from typing import ClassVar, Final

LONGEST_MESSAGE: Final = 1000
"""Characters of a `SourceError`."""


class KafkaWardenError(Exception):
    """Base of all errors that this program raises."""


class UnusableError(KafkaWardenError):
    """The user's input cannot be used."""


class ConfigError(UnusableError):
    """The configuration cannot be used; the message is one line that says which key and what to do."""


class SecretError(ConfigError):
    """A file that holds a secret cannot be read, or other users may read it too."""


class KeyStoreError(ConfigError):
    """A store of keys or certificates cannot be used; the message says why, without the file's name."""


class ForbiddenRequestError(KafkaWardenError):
    """The code tried to send a request that is not on the read-only allow-list: always a bug."""


class PollAbandonedError(KafkaWardenError):
    """The exporter is stopping; the current poll was abandoned."""


class StateError(KafkaWardenError):
    """The state file is damaged, of another version or of another cluster; it is not used."""


class PlanError(UnusableError):
    """What is to be planned cannot be: a reassignment or a topic; the message says what to change."""


class IncompleteError(KafkaWardenError):
    """The cluster did not report all that a plan needs; the message says what is missing and what to do."""


class NoAnswerError(KafkaWardenError):
    """An exporter did not answer, or what answered is none; the message says why, without its address."""


class HistoryRowsError(KafkaWardenError):
    """The rows are not those of one whole poll."""


class HistoryFileError(UnusableError):
    """A file of the history is damaged, unreadable or of a newer version; the message names it."""


class TruthError(UnusableError):
    """The record of real faults cannot be read; the message names the file and says what to do."""


class PromqlError(UnusableError):
    """An expression uses what the backtest does not evaluate; the message quotes it."""


class EmptyHistoryError(HistoryFileError):
    """No file covers the time that was asked for."""


class StoreError(UnusableError):
    """The pipeline's store or a mart is missing, of another version, or cannot be written; it says what to do."""


class StoreInUseError(StoreError):
    """Another process writes to the store; the message names it."""


class ClockError(UnusableError):
    """All rows of a batch are ahead of this machine's clock, so it may be the one that is wrong."""


class HistoryTopicError(UnusableError):
    """The topic of history cannot be used: it does not answer, is missing or refuses; the message names it."""


class JobError(KafkaWardenError):
    """Spark abandoned a job; the message is Spark's."""


class SinkReason(StrEnum):
    """Why history cannot be written, and rows are lost."""

    ERROR = "error"
    DISK_FULL = "disk_full"
    """The disk is full or almost full."""
    NOT_WRITABLE = "not_writable"
    """The folder cannot be created or written to."""
    IN_USE = "in_use"
    """Another process writes to the folder."""
    QUEUE_FULL = "queue_full"
    """The queue to the brokers is full."""
    UNREACHABLE = "unreachable"
    """The brokers that history is sent to cannot be reached, or do not answer."""
    AUTH = "auth"
    """The brokers refuse the login, or an ACL is missing."""
    TOO_LARGE = "too_large"
    """A message is larger than the brokers accept."""


class SinkError(KafkaWardenError):
    """History cannot be written now. The exporter continues without it and counts the lost rows."""

    def __init__(self, message: str, reason: SinkReason = SinkReason.ERROR) -> None:
        super().__init__(message)
        self.reason = reason


class SourceError(KafkaWardenError):
    """One process did not answer a request. Only its own numbers are missing.

    The message is cut off after `LONGEST_MESSAGE` characters: parts of it come from the process.
    """

    reason: ClassVar[str] = "protocol"
    reached: bool | None = True
    """Whether the process is there, whatever it refused; `None` where nothing is known of it."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}...")


class RefusedError(SourceError):
    """Nothing listens at the address, or the name does not resolve."""

    reason = "refused"
    reached = False


class ConnectTimeoutError(SourceError):
    """The address did not accept a connection within the deadline."""

    reason = "connect_timeout"
    reached = False


class AnswerTimeoutError(SourceError):
    """The process accepted the connection and did not answer within the deadline."""

    reason = "timeout"
    reached = False


class FencedError(SourceError):
    """The broker is known and fenced: it is not asked."""

    reason = "fenced"


class AuthenticationError(SourceError):
    """User name, password, token, ticket or mechanism were refused, by a broker, an issuer or a KDC."""

    reason = "auth"


class TokenError(SourceError):
    """There is no token or ticket to log in with: issuer or KDC cannot be reached, is too slow, or gives none.

    Nothing was sent to the process.
    """

    reason = "token"
    reached = None


class AuthorizationError(SourceError):
    """The principal lacks an ACL; docs/reference/acls.md lists what each source needs."""

    reason = "authorization"


class TlsError(SourceError):
    """No TLS session, or none where a password needs one: an untrusted certificate, or no common protocol."""

    reason = "tls"


class UnsupportedError(SourceError):
    """The broker is too old for this request."""

    reason = "unsupported"


class ProtocolError(SourceError):
    """The reply could not be decoded, or has an unexpected error code."""

    reason = "protocol"


class InvalidRequestError(ProtocolError):
    """The process answers that it cannot answer such a request."""


class MisdirectedError(ProtocolError):
    """Another broker answers at the address of this one, or it cannot be known which one does."""

    reached = None


class ReplacedControllerError(ProtocolError):
    """The answer is that of a controller which another one has replaced."""


class OtherClusterError(SourceError):
    """A broker of another cluster answers: an address was given to it. The cluster that is watched was not reached."""

    reason = "other_cluster"
    reached = False


class TooLargeError(SourceError):
    """The reply was larger than the largest that is accepted."""

    reason = "too_large"


REASONS = {cls.reason: cls for cls in SourceError.__subclasses__()}
"""Every value of the label `reason`, with its class."""
