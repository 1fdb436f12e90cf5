"""What JMX answers mean: recorded answers of real brokers and controllers, and names that Kafka itself made."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_warden.clients.jmx.protocol import BeanRow, Kind, RawBeans
from kafka_warden.model import ClientBean
from kafka_warden.sources.bean_list import BEANS, MUTATIONS, REQUESTS
from kafka_warden.sources.jmx import QUESTIONS, parse_beans, properties
from tests.sources.record_jmx import CLIENTS, RECORDED, VERSIONS, load

NEVER_THERE = {"remote_fetch_throttle_time_avg", "remote_fetch_throttle_time_max"}
"""No fetch was throttled while recording."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["broker", "controller"])
def test_a_recorded_process_has_every_number(version: str, kind: Kind) -> None:
    values = parse_beans(load(RECORDED / f"jmx-{version}-{kind}.json")).values
    assert set(values) == {bean.name for bean in BEANS if bean.where == kind} - NEVER_THERE


@pytest.mark.parametrize("version", VERSIONS)
def test_clients_get_their_own_names_back(version: str) -> None:
    """Quotes, wildcards, line ends, plus and percent signs: users and client ids are as the clients said them."""
    mutations = parse_beans(load(RECORDED / f"jmx-{version}-controller.json")).mutations
    found = {(bean.user, bean.client_id) for bean in mutations}
    assert set(CLIENTS) <= found


@pytest.mark.parametrize("version", VERSIONS)
def test_units(version: str) -> None:
    """Milliseconds became seconds; in KRaft the controller's own throttle time stays NaN and is absent."""
    raw = load(RECORDED / f"jmx-{version}-broker.json")
    broker = parse_beans(raw)
    controller = parse_beans(load(RECORDED / f"jmx-{version}-controller.json"))

    milliseconds = raw.values["kafka.server:type=RemoteLogManager", "remote-copy-throttle-time-max"]
    assert broker.values["remote_copy_throttle_time_max"] == pytest.approx(float(milliseconds) / 1000)
    assert 1.7e9 < broker.values["process_start_time"] < 4e9
    assert broker.values["broker_state"] == 3
    assert all(set(bean.values) == {"tokens", "mutation_rate"} for bean in controller.mutations)
    assert broker.requests
    assert all(0 <= bean.values["throttle_time"] < 60 for bean in broker.requests)


def test_what_is_no_number_is_absent() -> None:
    names = {bean.name: (bean.object_name, bean.attribute) for bean in BEANS if bean.where == "broker"}
    raw = RawBeans(
        at=12.5,
        values={
            names["leader_replication_byte_rate"]: math.nan,
            names["bytes_in_total"]: "12",
            names["bytes_out_total"]: True,
            names["isr_shrinks_total"]: 0,
            names["remote_copy_byte_rate"]: math.inf,
            names["build_remote_log_aux_state_errors_total"]: -math.inf,
            names["remote_fetch_throttle_time_max"]: 1500.0,
            ("kafka.server:type=Unknown", "Value"): 1.0,
        },
    )
    beans = parse_beans(raw)
    assert beans.at == 12.5
    assert beans.values == {
        "isr_shrinks_total": 0.0,
        "remote_fetch_throttle_time_max": 1.5,
    }
    assert beans.mutations == ()


def test_clients_without_a_number_are_left_out() -> None:
    rows = (
        BeanRow("kafka.server:type=ControllerMutation", {"queue-size": 0.0}),
        BeanRow(
            "kafka.server:type=ControllerMutation,client-id=quiet", {"throttle-time": math.nan, "tokens": math.inf}
        ),
        BeanRow("kafka.server:type=ControllerMutation,client-id=busy", {"tokens": -5.0, "throttle-time": 250.0}),
        BeanRow("kafka.server:type=ControllerMutation,user=CN%3Dx", {"tokens": 55.0}),
    )
    beans = parse_beans(RawBeans(at=0.0, values={}, rows={MUTATIONS.pattern: rows}))
    assert beans.mutations == (
        ClientBean(None, "busy", {"tokens": -5.0, "throttle_time": 0.25}),
        ClientBean("CN=x", None, {"tokens": 55.0}),
    )
    assert beans.requests == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kafka.server:type=Request", {"type": "Request"}),
        ("kafka.server:type=Request,client-id=a%41b", {"type": "Request", "client-id": "a%41b"}),
        (r'k:client-id="CN=x,OU=\"y\"",type=Request', {"type": "Request", "client-id": 'CN=x,OU="y"'}),
        (r'k:type=Request,client-id="a\*b\?c"', {"type": "Request", "client-id": "a*b?c"}),
        (r'k:type=Request,client-id="line\nbreak"', {"type": "Request", "client-id": "line\nbreak"}),
        (r'k:type=Request,client-id="back\\nslash"', {"type": "Request", "client-id": r"back\nslash"}),
        (r'k:type=Request,client-id=""', {"type": "Request", "client-id": ""}),
    ],
)
def test_properties_of_an_object_name(name: str, expected: dict[str, str]) -> None:
    assert properties(name) == expected


@pytest.mark.parametrize("part", ["a", '"x"a', 'a="x"a', ',a="', 'a="\\",'])
def test_a_long_name_is_read_at_once(part: str) -> None:
    """Where each character is a new try, this takes hours, and no other thread runs meanwhile."""
    assert len(properties(f"k:{part * 100_000}")) < 2


@given(st.text(), st.text())
def test_every_quoted_value_comes_back(user: str, client_id: str) -> None:
    assert properties(f"k:user={_quote(user)},client-id={_quote(client_id)},type=Request") == {
        "user": user,
        "client-id": client_id,
        "type": "Request",
    }


def test_the_list_is_explicit_and_short() -> None:
    for kind, question in QUESTIONS.items():
        names = [query.name for query in question.beans]
        assert len(names) == len(set(names)) < 50
        assert not [name for name in names if "*" in name or "partition=" in name or "topic=" in name]
        short = [bean.name for bean in BEANS if bean.where == kind]
        assert len(short) == len(set(short))
    assert [query.name for query in QUESTIONS["broker"].patterns] == [REQUESTS.pattern]
    assert [query.name for query in QUESTIONS["controller"].patterns] == [MUTATIONS.pattern]


def test_recorded_files_hold_no_machine_path() -> None:
    recorded = Path(RECORDED).glob("jmx-*.json")
    assert not [path for path in recorded if "/tmp" in path.read_text(encoding="utf-8")]  # noqa: S108


def _quote(text: str) -> str:
    """As `javax.management.ObjectName.quote` does it."""
    escaped = "".join("\\" + char if char in '\\"*?' else "\\n" if char == "\n" else char for char in text)
    return f'"{escaped}"'
