"""Names of beans in Prometheus format, by rules that two kinds of users have."""

import math
import tracemalloc

import pytest

from kafka_warden.clients.agents import prometheus
from kafka_warden.clients.agents.prometheus import LONGEST_NAME, read_page
from kafka_warden.clients.jmx.protocol import MAX_ROWS, RawBeans
from kafka_warden.errors import ProtocolError
from kafka_warden.model import ClientBean
from kafka_warden.sources.bean_list import MUTATIONS
from kafka_warden.sources.jmx import QUESTIONS, parse_beans


def read(page: str, kind: str = "broker") -> RawBeans:
    return read_page(page.encode().split(b"\n"), QUESTIONS[kind])  # type: ignore[index]  # a kind


@pytest.mark.parametrize(
    ("kind", "line", "name", "value"),
    [
        ("broker", "kafka_server_LeaderReplication_byte_rate 5.5", "leader_replication_byte_rate", 5.5),
        ("broker", 'kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",} 7.0', "bytes_in_total", 7),
        ("broker", "kafka_server_brokertopicmetrics_bytesin_total 7.0", "bytes_in_total", 7),
        ("broker", "kafka_server_replicamanager_isrshrinks_total 1", "isr_shrinks_total", 1),
        (
            "broker",
            'kafka_server_ReplicaFetcherManager_Value{clientId="Replica",name="FailedPartitionsCount"} 2',
            "fetcher_failed_partitions_count",
            2,
        ),
        (
            "broker",
            'kafka_server_replicafetchermanager_failedpartitionscount{clientId="Replica"} 2',
            "fetcher_failed_partitions_count",
            2,
        ),
        ("broker", "java_lang_Runtime_StartTime 1.795E12", "process_start_time", 1.795e9),
        (
            "broker",
            "kafka_server_RemoteLogManager_remote_copy_throttle_time_max 250",
            "remote_copy_throttle_time_max",
            0.25,
        ),
        (
            "controller",
            'kafka_controller_ControllerEventManager_999thPercentile{name="EventQueueTimeMs"} 40',
            "event_queue_time_p999",
            0.04,
        ),
        (
            "controller",
            'kafka_controller_controllereventmanager_eventqueuetimems{quantile="0.999"} 40',
            "event_queue_time_p999",
            0.04,
        ),
        (
            "controller",
            'kafka_controller_KafkaController_Value{name="FencedBrokerCount",} 1',
            "fenced_broker_count",
            1,
        ),
    ],
)
def test_a_number(kind: str, line: str, name: str, value: float) -> None:
    assert parse_beans(read(f"# TYPE x untyped\n{line}\nkafka_x 1\n", kind)).values == {name: value}


AGENT = 'jmx_exporter_build_info{name="jmx_prometheus_javaagent",version="1.0.1"} 1\n'
STANDALONE = AGENT.replace("javaagent", "httpserver")
JVM = "java_lang_Runtime_StartTime 1.795E12\n"


@pytest.mark.parametrize(
    ("page", "started"),
    [
        (AGENT, {"process_start_time": 1.7e9}),
        ("", {}),
        (STANDALONE, {}),
        (JVM, {"process_start_time": 1.795e9}),
        (JVM + STANDALONE, {"process_start_time": 1.795e9}),
        (JVM + AGENT, {"process_start_time": 1.795e9}),
    ],
)
def test_start_of_the_process(page: str, started: dict[str, float]) -> None:
    """It is that of the process with the beans: an exporter beside the broker has a start time of its own."""
    for lines in (f"process_start_time_seconds 1.7E9\n{page}", f"{page}process_start_time_seconds 1.7E9\n"):
        assert parse_beans(read(f"{lines}kafka_x 1\n")).values == started


@pytest.mark.parametrize(
    "line",
    [
        'kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",topic="orders"} 7.0',
        "process_start_time_seconds 1.795E9\nkafka_x 1",
        'kafka_server_brokertopicmetrics_bytesin_total{topic="orders"} 7.0',
        'kafka_server_BrokerTopicMetrics_OneMinuteRate{name="BytesInPerSec"} 7.0',
        'kafka_server_ReplicaAlterLogDirsManager_Value{clientId="ReplicaAlterLogDirs",name="DeadThreadCount"} 1',
        "kafka_server_ControllerMutation_queue_size 0",
        "kafka_server_LeaderReplication_byte_rate NaN",
    ],
)
def test_another_number(line: str) -> None:
    assert parse_beans(read(f"{line}\n")).values == {}


def test_clients() -> None:
    """The agent leaves the quotes of JMX in a label, and writes them in its own. Kafka encodes the user."""
    page = (
        'kafka_server_ControllerMutation_tokens{client_id="\\"a, \\\\\\"b\\\\\\"\\"",user="ada%40x"} -5.0\n'
        'kafka_server_ControllerMutation_throttle_time{client_id="\\"a, \\\\\\"b\\\\\\"\\"",user="ada%40x"} NaN\n'
        'kafka_server_controllermutation_tokens{client_id="plain"} 3.0\n'
        "kafka_server_ControllerMutation_queue_size 0.0\n"
        'kafka_server_ControllerMutation_tokens{ip="10.0.0.1"} 1.0\n'
    )
    found = parse_beans(read(page, "controller")).mutations
    assert set(map(str, found)) == {
        str(ClientBean("ada@x", 'a, "b"', {"tokens": -5.0})),
        str(ClientBean(None, "plain", {"tokens": 3.0})),
    }


def test_clients_by_the_examples_of_jmx_exporter() -> None:
    """The type of the bean is a label, in which the examples before 0.18 also put the user."""
    page = (
        'kafka_server_quota_tokens{clientId="app",resource="ControllerMutation",user="ada%40x"} -5.0\n'
        'kafka_server_quota_mutation_rate{clientId="app",resource="ControllerMutation",user="ada%40x"} 2.5\n'
        'kafka_server_quota_tokens{clientId="\\"a, user=b\\"",resource="ControllerMutation, user=\\"c, d\\""} 1.0\n'
        'kafka_server_quota_tokens{resource="ControllerMutation",user="eve"} 3.0\n'
        'kafka_server_quota_throttle_time{clientId="app",resource="Produce"} 4.0\n'
        'kafka_server_quota_tokens{clientId="app"} 4.0\n'
    )
    found = read(page, "controller")
    assert set(map(str, parse_beans(found).mutations)) == {
        str(ClientBean("ada@x", "app", {"tokens": -5.0, "mutation_rate": 2.5})),
        str(ClientBean("c, d", "a, user=b", {"tokens": 1.0})),
        str(ClientBean("eve", None, {"tokens": 3.0})),
    }
    assert found.unreadable == frozenset()


def test_clients_in_names_of_metrics() -> None:
    """The example for KRaft puts user and client id there, in lower case: they cannot be read, and that is known."""
    page = (
        "kafka_server_controllermutation_user_ada_client_id_app_tokens 5.0\n"
        "kafka_server_controllermutation_queue_size 0.0\n"
        "kafka_server_request_client_id_app_throttle_time 0.0\n"
    )
    found = read(page, "controller")
    assert (found.unreadable, found.rows) == (frozenset({MUTATIONS.pattern}), {})
    assert read("kafka_server_controllermutation_queue_size 0.0\n", "controller").unreadable == frozenset()


def test_many_clients() -> None:
    page = "".join(f'kafka_server_Request_throttle_time{{client_id="c{n}"}} 1\n' for n in range(MAX_ROWS + 3))
    found = read(page)
    assert (sum(map(len, found.rows.values())), found.left_out) == (MAX_ROWS, 3)
    assert math.isnan(found.at)


def test_more_clients_than_memory_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_CLIENTS", 2_000_000)
    count = 6000
    page = "".join(
        f'kafka_server_ControllerMutation_{name}{{client_id="c{n:04}"}} 1\n'
        for name in ("throttle_time", "tokens")
        for n in range(count)
    )
    found = read(f"{page}java_lang_Runtime_StartTime 5000\n", "controller")
    assert {len(row.values) for rows in found.rows.values() for row in rows} == {2}
    assert (sum(map(len, found.rows.values())), found.left_out) == (MAX_ROWS, count - MAX_ROWS)
    assert found.values["java.lang:type=Runtime", "StartTime"] == 5000


def test_long_names() -> None:
    """They are counted, once each; without their quotes and the pattern some 50 characters are left."""
    page = "".join(
        f'kafka_server_ControllerMutation_{name}{{client_id="{"x" * size}"}} 1\n'
        for name in ("throttle_time", "tokens")
        for size in (LONGEST_NAME - 50, LONGEST_NAME, LONGEST_NAME + 1)
    )
    found = read(page, "controller")
    ((row,),) = found.rows.values()
    assert (len(row.values), found.left_out) == (2, 2)
    assert len(row.name) <= LONGEST_NAME


@pytest.mark.parametrize(
    ("line", "most"),
    [
        ('kafka_server_Request_throttle_time{client_id="client-%d"} 1', 3 << 20),
        ('kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",topic="%d"} 1', 1 << 20),
        ('kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec"} %d', 1 << 20),
    ],
)
def test_memory(monkeypatch: pytest.MonkeyPatch, line: str, most: int) -> None:
    monkeypatch.setattr(prometheus, "MOST_CLIENTS", 1 << 20)
    tracemalloc.start()
    try:
        read_page(((line % number).encode() for number in range(10_000)), QUESTIONS["broker"])
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<html></html>\n",
        "# HELP a b\n",
        "Exporter is healthy.\n",
        "<html>\nkafka\n</html>\n",
        "# TYPE node_load1 gauge\nnode_load1 0.5\nprocess_start_time_seconds 1.795E9\n",
        STANDALONE,
    ],
)
def test_no_page(page: str) -> None:
    with pytest.raises(ProtocolError, match=r"jmx\.port or jmx\.path"):
        read(page)


@pytest.mark.parametrize("line", ["kafka_log_Log_Size 1", "Kafka_server_x 1", "java_lang_Runtime_StartTime 1"])
def test_a_page_without_what_is_wanted(line: str) -> None:
    assert read(f"{line}\n").rows == {}


def test_a_broken_line() -> None:
    assert read("kafka_log_Log_Value{ 1\n").values == {}
    with pytest.raises(ProtocolError, match="Prometheus format"):
        read("kafka_server_LeaderReplication_byte_rate{ 1\n")
