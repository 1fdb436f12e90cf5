"""Classes and messages of error codes in replies, and of what libraries raise."""

import pytest

from kafka_warden.clients.kafka.faults import error_code_fault, request_fault
from kafka_warden.errors import (
    AnswerTimeoutError,
    AuthenticationError,
    AuthorizationError,
    ProtocolError,
    SourceError,
    UnsupportedError,
)


@pytest.mark.parametrize(
    ("code", "error", "says"),
    [
        (7, AnswerTimeoutError, "one:1: RequestTimedOutError (why)"),
        (29, AuthorizationError, "one:1: TopicAuthorizationFailedError (why); docs/security.md lists the ACLs"),
        (35, UnsupportedError, "one:1: UnsupportedVersionError (why)"),
        (58, AuthenticationError, "one:1 refused user name or password (why)"),
        (-1, ProtocolError, "one:1: UnknownError (why)"),
    ],
)
def test_error_codes_have_a_class(code: int, error: type[SourceError], says: str) -> None:
    fault = error_code_fault(code, "why", "one:1")
    assert type(fault) is error
    assert str(fault).startswith(says)
    assert error_code_fault(0, None, "one:1") is None


def test_an_error_without_a_class_of_its_own_is_named() -> None:
    fault = request_fault(KeyError("x"), "one:1")
    assert (type(fault), str(fault)) == (ProtocolError, "one:1: KeyError: 'x'")
