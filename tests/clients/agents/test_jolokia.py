"""Jolokia's answers, as version 2.4 gives them."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kafka_warden.clients.agents.jolokia import MOST_NAMES, read_beans
from kafka_warden.clients.agents.prometheus import LONGEST_NAME
from kafka_warden.clients.jmx.protocol import MAX_ROWS, BeanQueries, BeanQuery, BeanRow
from kafka_warden.errors import AuthorizationError, ProtocolError, SourceError, TooLargeError

PATTERN = "kafka.server:type=Request,*"
QUESTION = BeanQueries((BeanQuery("a:type=B", ("Count", "Rate")),), (BeanQuery(PATTERN, ("throttle-time", "rate")),))
CLIENTS = ("kafka.server:client-id=x,type=Request", "kafka.server:client-id=y,type=Request")
NOT_A_NUMBER = {"status": 400, "error_type": "java.lang.NumberFormatException"}


class Agent:
    """Answers with values by bean and attribute, and with what matches a pattern."""

    def __init__(self, values: Mapping[tuple[str, str], Any], matched: Any = CLIENTS) -> None:
        self.values, self.matched = values, matched
        self.posts = 0

    def post(self, body: bytes) -> bytes:
        self.posts += 1
        return json.dumps([self._answer(request) for request in json.loads(body)]).encode()

    def _answer(self, request: Mapping[str, str]) -> Mapping[str, Any]:
        if request["type"] == "search":
            return {"status": 200, "value": self.matched}
        value = self.values.get((request["mbean"], request["attribute"]), {"status": 404})
        return value if isinstance(value, dict) else {"status": 200, "value": value}


def test_beans() -> None:
    values = {
        ("a:type=B", "Count"): 3,
        ("a:type=B", "Rate"): NOT_A_NUMBER,
        (CLIENTS[0], "throttle-time"): NOT_A_NUMBER,
        (CLIENTS[0], "rate"): 2.5,
        (CLIENTS[1], "rate"): {"status": 403},
        (CLIENTS[1], "throttle-time"): {"status": 500, "error": "it failed"},
    }
    found = read_beans(Agent(values).post, QUESTION)
    assert found.values == {("a:type=B", "Count"): 3}
    assert found.rows == {PATTERN: (BeanRow(CLIENTS[0], {"rate": 2.5}),)}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("-0", 0),
        ("9223372036854775807", 2**63),
        ("1.0E20", 1e20),
        (f"1{'0' * 400}", None),
        (f"-1{'0' * 400}", None),
        (f"1{'0' * 10_000}", None),
        ("1e999", None),
        ("-1e999", None),
        ("NaN", None),
        ("Infinity", None),
        ("null", None),
        ("true", None),
        ("false", None),
        ('"3"', None),
        ("[[1], [2]]", None),
        ('{"a": {"b": 1}}', None),
    ],
)
def test_values(written: str, value: float | None) -> None:
    found = read_beans(
        lambda _: (
            f'[{{"status":200,"value":{written}}},{{"status":200,"value":2}},{{"status":200,"value":[]}}]'.encode()
        ),
        QUESTION,
    )
    assert found.values == {("a:type=B", "Rate"): 2} | ({} if value is None else {("a:type=B", "Count"): value})


def test_no_client() -> None:
    agent = Agent({}, [])
    assert read_beans(agent.post, QUESTION).rows == {PATTERN: ()}
    assert agent.posts == 1


def test_many_clients() -> None:
    names = [f"kafka.server:client-id=c{number:04},type=Request" for number in range(MAX_ROWS + 2)]
    found = read_beans(Agent({(name, "rate"): 1 for name in names}, names).post, QUESTION)
    assert (len(found.rows[PATTERN]), found.left_out) == (MAX_ROWS, 2)


def test_names_of_20_000_clients_are_no_large_answer() -> None:
    names = [
        f"kafka.server:client-id=client-{number:06},type=Request,user=User-{number:06}" for number in range(20_000)
    ]
    assert read_beans(Agent({}, names).post, QUESTION).left_out == len(names) - MAX_ROWS


def test_long_names() -> None:
    longest, *names = (f"kafka.server:type=Request,client-id={'x' * n}" for n in (LONGEST_NAME - 36, LONGEST_NAME - 35))
    assert len(longest) == LONGEST_NAME
    found = read_beans(Agent({(longest, "rate"): 1}, [*names, longest, 3, [longest]]).post, QUESTION)
    assert (found.rows[PATTERN], found.left_out) == ((BeanRow(longest, {"rate": 1}),), 3)


def test_names_that_are_long_together() -> None:
    """No more is sent than for usual names, however many bytes their characters have in JSON."""
    names = [f"kafka.server:client-id={number:04}{'é' * 4000},type=Request" for number in range(MAX_ROWS)]
    agent, sizes = Agent({}, names), []

    def post(body: bytes) -> bytes:
        sizes.append(len(body))
        return agent.post(body)

    left_out = read_beans(post, QUESTION).left_out
    assert MAX_ROWS / 2 < left_out < MAX_ROWS
    assert sizes[1] < 2.1 * MOST_NAMES, "there are two attributes"


def test_one_answer_is_parsed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several at once would need as many times the memory."""
    parse, at_once, most = json.loads, [], []

    def loads(body: bytes, **given: Any) -> Any:
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.01)
        at_once.pop()
        return parse(body, **given)

    body = json.dumps([{"status": 200, "value": []}] * 3).encode()
    with monkeypatch.context() as patched, ThreadPoolExecutor(4) as threads:
        patched.setattr(json, "loads", loads)
        list(threads.map(lambda _: read_beans(lambda _: body, QUESTION), range(8)))
    assert most == [1] * 8


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"<html>", ProtocolError),
        (b"{}", ProtocolError),
        (b"[1, 2, 3]", ProtocolError),
        (b'[{"status": 200}]', ProtocolError),
        (json.dumps([{"status": 500, "error": "out of memory"}] * 3).encode(), ProtocolError),
        (json.dumps([{"status": 403}] * 3).encode(), AuthorizationError),
        (b"[" * 100_000, ProtocolError),
        (b"[" + b"[]," * 3_000_000 + b"0]", TooLargeError),
        (b"[" + b"0," * 3_000_000 + b"0]", TooLargeError),
        (b'[{"status": true}, {"status": null}, {"status": [200]}]', ProtocolError),
    ],
)
def test_refusals(answer: bytes, error: type[SourceError]) -> None:
    with pytest.raises(error):
        read_beans(lambda _: answer, QUESTION)
