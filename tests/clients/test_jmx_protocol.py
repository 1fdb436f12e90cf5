"""The line protocol between parent and child, and how Java's exceptions become reasons."""

import json
import math
import os
import threading
import tracemalloc
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.clients.jmx import process
from kafka_warden.clients.jmx.failures import CONNECT_TIMED_OUT, Chain, classify
from kafka_warden.clients.jmx.protocol import (
    BeanQueries,
    BeanQuery,
    BeanRequest,
    BeanRow,
    Hello,
    JmxTls,
    RawBeans,
    Scalar,
    decode_answer,
    decode_hello,
    encode,
)
from kafka_warden.clients.jmx.session import Slot
from kafka_warden.errors import AuthenticationError, ProtocolError, RefusedError
from kafka_warden.settings.secrets import Secret

QUESTION = BeanQueries((BeanQuery("a:type=B", ("x", "y")),), (BeanQuery("a:*", ("z",)),))
text = st.text()
scalars = st.floats(allow_nan=False) | st.integers() | text | st.booleans()
Rows = Sequence[tuple[str, Mapping[str, Scalar]]]
rows = st.lists(st.tuples(text, st.dictionaries(text, scalars, max_size=3)), max_size=3)


@pytest.mark.parametrize(
    "hello",
    [
        Hello({"broker": QUESTION}),
        Hello({"broker": QUESTION, "controller": BeanQueries(())}, JmxTls("ca", "cert", "key", registry=False), 2.5),
    ],
)
def test_hello_survives(hello: Hello) -> None:
    assert decode_hello(encode(hello)) == hello


@given(st.builds(BeanRequest, st.integers(), text, text, text, st.integers(), text | st.none(), text | st.none()))
def test_requests_survive(request: BeanRequest) -> None:
    line = encode(request)
    assert line.count(b"\n") == 1
    assert BeanRequest(**json.loads(line)) == request


def test_the_password_is_in_the_line_only() -> None:
    request = BeanRequest(7, "broker 1", "broker", "127.0.0.1", 9999, "monitor", "open sesame")
    assert b"open sesame" in encode(request)
    assert "sesame" not in repr(request)


@given(rows, st.dictionaries(text, rows, max_size=2), st.integers())
def test_replies_survive(beans: Rows, found: Mapping[str, Rows], left_out: int) -> None:
    line = encode({"id": 1, "beans": beans, "rows": found, "left_out": left_out})
    assert line.count(b"\n") == 1
    expected = {pattern: tuple(BeanRow(*row) for row in each) for pattern, each in found.items()}
    values = {(name, attribute): value for name, bean in beans for attribute, value in bean.items()}
    assert decode_answer(json.loads(line), 3.0) == RawBeans(3.0, values, expected, left_out)


def test_nan_travels() -> None:
    values = {"nan": math.nan, "inf": math.inf}
    answer = decode_answer(json.loads(encode({"beans": [("a:type=B", values)], "rows": {}, "left_out": 0})), 3.0)
    assert isinstance(answer, RawBeans)
    assert math.isnan(float(answer.values["a:type=B", "nan"]))
    assert answer.values["a:type=B", "inf"] == math.inf


def test_a_reply_may_be_an_error() -> None:
    refused = decode_answer({"reason": "refused", "message": "nothing listens"}, 3.0)
    assert (type(refused), str(refused)) == (RefusedError, "nothing listens")
    assert type(decode_answer({"reason": "new", "message": ""}, 3.0)) is ProtocolError


@pytest.mark.parametrize(
    ("program", "ended"),
    [
        ("print('gibberish', flush=True); input(); input()", "it wrote a line that is not a message: JSONDecodeError"),
        (
            "import sys; print('one', 'two', 'three', sep='\\n', file=sys.stderr); sys.exit(3)",
            "it ended with code 3: three",
        ),
        ("import os; print('{\"failed\": \"%s\"}' % os.environ['PYTHONPATH'].split(':')[0])", "it ended with code 0"),
    ],
)
def test_the_end_of_a_child_has_a_reason(monkeypatch: pytest.MonkeyPatch, program: str, ended: str) -> None:
    changed = threading.Condition()
    monkeypatch.setattr(process, "_PROGRAM", ("-c", program))
    child = process.ChildProcess(encode(Hello({})), changed, lambda _, body: print(decode_answer(body, 0.0)))
    try:
        with changed:
            assert changed.wait_for(lambda: child.ended is not None, 60)
    finally:
        child.end()
    assert (child.ended or "").startswith(ended)
    assert child.failed in {None, str(Path(process.__file__).resolve().parents[3])}
    assert child.over
    assert not child.ready


@pytest.mark.parametrize("output", ["stdout", "stderr"])
def test_output_without_a_newline_is_not_kept(monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    """A child writes 32 MB in one line: as an answer it is no message, as a warning it is cut off."""
    monkeypatch.setattr(process, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(process, "_PROGRAM", ("-c", f"import sys; sys.{output}.write('x' * (32 << 20))"))
    changed = threading.Condition()
    tracemalloc.start()
    child = process.ChildProcess(encode(Hello({})), changed, lambda *_: None)
    try:
        with changed:
            assert changed.wait_for(lambda: child.ended is not None, 60)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
        child.end()
    assert ("not a message" in (child.ended or "")) == (output == "stdout")


def test_a_refused_password_is_held_back_for_a_minute() -> None:
    slot = Slot(("one", "127.0.0.1", 9999), used=0.0, outstanding=1, password=Secret("wrong"))
    slot.take(1, AuthenticationError("refused"), 10.0)
    assert [slot.held_back(now, Secret("wrong")) for now in (69.0, 71.0)] == [True, False]
    assert not slot.held_back(69.0, Secret("another"))


def test_writes_to_the_child_never_wait() -> None:
    reader, writer = os.pipe()
    try:
        process._never_wait(writer)
        assert os.write(writer, bytes(2 << 20)) == 1 << 20
    finally:
        os.close(reader)
        os.close(writer)


WRAPPED = ("java.rmi.UnmarshalException", "x")
READ_TIMED_OUT = ("java.net.SocketTimeoutException", "Read timed out")
REJECTED = ("java.io.InvalidClassException", "filter status: REJECTED")


@pytest.mark.parametrize(
    ("chain", "reason", "says"),
    [
        (
            [("java.rmi.ConnectException", "x"), ("java.net.ConnectException", "Connection refused")],
            "refused",
            "JMX_PORT",
        ),
        ([("java.rmi.UnknownHostException", "x"), ("java.net.UnknownHostException", "h")], "refused", "resolve"),
        ([("java.net.NoRouteToHostException", "No route to host")], "refused", "nothing listens"),
        ([WRAPPED, ("java.io.EOFException", "")], "refused", "restarted"),
        ([("java.rmi.NoSuchObjectException", "no such object in table")], "refused", "restarted"),
        ([("java.net.SocketTimeoutException", f"{CONNECT_TIMED_OUT}: h:1")], "connect_timeout", "firewall"),
        ([("java.net.ConnectException", "Connection timed out")], "connect_timeout", "did not accept"),
        ([WRAPPED, READ_TIMED_OUT], "timeout", "h:1"),
        ([("javax.net.ssl.SSLException", "x"), READ_TIMED_OUT], "timeout", "h:1"),
        ([("java.lang.SecurityException", "Authentication failed! Invalid")], "auth", "jmx.password_file"),
        ([("java.lang.SecurityException", "Access denied! Invalid access level")], "authorization", "readonly"),
        ([WRAPPED, REJECTED], "protocol", "not accepted"),
        ([("java.rmi.ConnectIOException", "non-JRMP server at remote endpoint")], "protocol", "jmx.tls"),
        ([("java.rmi.NotBoundException", "jmxrmi")], "protocol", "without JMX"),
        ([("javax.net.ssl.SSLHandshakeException", "PKIX path building failed")], "tls", "PKIX"),
        ([("com.example.New", "first line\nsecond line")], "protocol", "first line"),
    ],
)
def test_failures_have_a_reason_and_an_advice(chain: Chain, reason: str, says: str) -> None:
    failure = classify(chain, "h:1", "monitor")
    assert failure.reason == reason
    assert says in str(failure)
    assert "\n" not in str(failure)


def test_a_server_that_wants_a_client_certificate_is_understood() -> None:
    """TLS 1.3 says no by closing: only without a certificate of ours is that taken for a matter of TLS."""
    closed = [("java.rmi.MarshalException", "x"), ("java.net.SocketException", "Broken pipe")]
    failure = classify(closed, "h:1", tls=JmxTls("authority"))
    assert (failure.reason, "client certificate" in str(failure)) == ("tls", True)
    assert {classify(closed, "h:1", tls=tls).reason for tls in (None, JmxTls("a", "own", "key"))} == {"refused"}
