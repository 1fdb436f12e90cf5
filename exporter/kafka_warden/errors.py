"""One exception class per meaning. Imported by everything, imports nothing.

Every :class:`SourceError` carries the `reason` that `kafka_warden_source_errors_total` counts it under.
"""

from typing import ClassVar


class KafkaWardenError(Exception):
    """Anything that this program raises on purpose."""


class ConfigError(KafkaWardenError):
    """The configuration cannot be used; the message is one line that says which key and what to do."""


class SecretError(ConfigError):
    """A file that holds a secret cannot be read, or others may read it too."""


class ForbiddenRequestError(KafkaWardenError):
    """The code tried to send a request that is not on the read-only allow-list: a bug, never a condition."""


class PollAbandonedError(KafkaWardenError):
    """The sidecar is stopping; the poll that was under way was given up."""


class StateError(KafkaWardenError):
    """The state file is damaged, of another version or of another cluster; it is not used."""


class ReassignmentError(KafkaWardenError):
    """A reassignment file cannot be planned; the message names the entry and what is wrong with it."""


class TopicError(KafkaWardenError):
    """A topic that is to be planned cannot be created at all; the message says what to change."""


class IncompleteError(KafkaWardenError):
    """The cluster did not tell all that a plan stands on; the message says what is missing and what to do."""


class HistoryRowsError(KafkaWardenError):
    """The rows given are not those of one whole poll."""


class HistoryFileError(KafkaWardenError):
    """A file of the history cannot be used; the message names it."""


class DamagedFileError(HistoryFileError):
    """A file is cut off or not Parquet: this program did not write it to its end."""


class UnreadableFileError(HistoryFileError):
    """A file cannot be opened: it is gone, or somebody else's."""


class MissingColumnError(HistoryFileError):
    """A file lacks a column that its version of the tables has."""


class NewerSchemaError(HistoryFileError):
    """A file was written by a newer version of this program."""


class TruthError(KafkaWardenError):
    """What really happened cannot be read; the message names the file and says what to do."""


class EmptyHistoryError(HistoryFileError):
    """There is no file of the time that was asked for."""


class MartError(KafkaWardenError):
    """A mart of the pipeline is not there, cannot be written, or is not what its description says."""


class CheckpointError(KafkaWardenError):
    """What a streaming job remembers cannot be read; the message names the file."""


class HistoryTopicError(KafkaWardenError):
    """The topic of history cannot be used; the message names it."""


class TopicUnreachableError(HistoryTopicError):
    """No broker of it answers."""


class TopicMissingError(HistoryTopicError):
    """The brokers have no such topic."""


class TopicDeniedError(HistoryTopicError):
    """The brokers refuse the login, or the principal may not read it."""


class MessagesLostError(HistoryTopicError):
    """It let go of messages before they were read."""


class JobError(KafkaWardenError):
    """Spark gave a job up; the message is Spark's own."""


class SinkError(KafkaWardenError):
    """History cannot be written just now. The sidecar goes on without, and counts what is lost."""

    reason: ClassVar[str] = "error"


class SinkFullError(SinkError):
    """The disk is full, or as good as."""

    reason = "disk_full"


class SinkNotWritableError(SinkError):
    """The folder cannot be made or written to."""

    reason = "not_writable"


class SinkBacklogError(SinkError):
    """More waits for the brokers than there may."""

    reason = "queue_full"


class SinkUnreachableError(SinkError):
    """The brokers that history goes to cannot be reached, or do not answer."""

    reason = "unreachable"


class SinkAuthError(SinkError):
    """They refuse the login, or an ACL is missing."""

    reason = "auth"


class SinkTooLargeError(SinkError):
    """A message is larger than they take."""

    reason = "too_large"


class SinkInUseError(SinkError):
    """Another process writes to the folder."""

    reason = "in_use"


class SourceError(KafkaWardenError):
    """A question to one process was not answered. Its own numbers are missing, nobody else's."""

    reason: ClassVar[str] = "protocol"


class RefusedError(SourceError):
    """Nothing listens at the address, or the name does not resolve."""

    reason = "refused"


class ConnectTimeoutError(SourceError):
    """The address did not accept a connection within the deadline."""

    reason = "connect_timeout"


class AnswerTimeoutError(SourceError):
    """The process accepted the connection and did not answer within the deadline."""

    reason = "timeout"


class FencedError(SourceError):
    """The broker is known and fenced: it is not asked."""

    reason = "fenced"


class AuthenticationError(SourceError):
    """User name, password or mechanism were refused."""

    reason = "auth"


class AuthorizationError(SourceError):
    """The principal lacks an ACL; docs/security.md lists what each source needs."""

    reason = "authorization"


class TlsError(SourceError):
    """The TLS handshake failed: an untrusted, expired or wrongly named certificate, or no common protocol."""

    reason = "tls"


class UnsupportedError(SourceError):
    """The broker is too old for this request."""

    reason = "unsupported"


class ProtocolError(SourceError):
    """The reply could not be decoded, or named an error that nobody expected."""

    reason = "protocol"


class TooLargeError(SourceError):
    """The reply was larger than the largest that is accepted."""

    reason = "too_large"


REASONS = tuple(
    cls.reason
    for cls in (
        RefusedError,
        ConnectTimeoutError,
        AnswerTimeoutError,
        FencedError,
        AuthenticationError,
        AuthorizationError,
        TlsError,
        UnsupportedError,
        ProtocolError,
        TooLargeError,
    )
)
"""Every value of the label `reason`."""
