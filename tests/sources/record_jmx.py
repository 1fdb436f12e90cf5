"""Records what real Kafka processes answer over JMX, for the parser's tests: `python -m tests.sources.record_jmx`.

Starts a secured sandbox cluster of each version, gives every bean of the list a reason to exist, and has users and
client ids with every character that JMX or Kafka quote. Rewrites the files in `recorded/`.
"""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_warden.clients.jmx.protocol import BeanRow, RawBeans
from kafka_warden.clients.jmx.session import JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.sources.jmx import QUESTIONS, parse_beans
from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.admin_quotas import DEFAULT
from sandbox.passwords import new_password
from sandbox.settings import Security

RECORDED: Final = Path(__file__).with_name("recorded")
VERSIONS: Final = ("4.1.1", "3.9.1")
CLIENTS: Final = (
    ("plain", "plain"),
    ('CN=x,OU="y"', 'CN=x,OU="y"'),
    ("a*b?c", "a*b?c"),
    ("50% + 1", "50% + 1"),
    ("a%41b", "a%41b"),
    ("back\\slash", "back\\slash"),
    ("plain", "line\nbreak"),
    ("plain", "a:b;c/d"),
    ("plain", "grüße"),
)
"""Users and client ids."""
COPY_QUOTA: Final = 200_000
"""Bytes per second, less than what there is to copy, so that copying is throttled."""
TIERED: Final = {
    "remote.storage.enable": True,
    "segment.bytes": 1 << 20,
    "local.retention.bytes": 1 << 20,
    "retention.ms": 3_600_000,
}
THROTTLED: Final = {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"}


def main() -> None:
    users = ";".join(f"User:{user}" for user in ("broker", "admin", *dict.fromkeys(user for user, _ in CLIENTS)))
    for version in VERSIONS:
        settings = ClusterSettings(
            brokers=2,
            version=version,
            security=Security.SASL_SSL_SCRAM,
            broker_properties={"super.users": users, "remote.log.manager.copy.max.bytes.per.second": COPY_QUOTA},
            controller_properties={"super.users": users},
        )
        with Cluster(settings) as cluster:
            for kind, answer in record(cluster).items():
                _write(RECORDED / f"jmx-{version}-{kind}.json", answer)


def record(cluster: Cluster) -> Mapping[str, RawBeans]:
    """Have everything happen, and return what broker 1 and the controller say then."""
    cluster.admin.set_client_quota(DEFAULT, DEFAULT, {"controller_mutation_rate": 5, "request_percentage": 1000})
    cluster.admin.create_topic("throttled", 4, 2, config=THROTTLED)
    cluster.admin.create_topic("tiered", 1, 2, config=TIERED, assignment={0: [1, 2]})
    cluster.load.produce("throttled", records=100, partitions=(0, 1, 2, 3))
    cluster.load.produce("tiered", bytes=8 << 20)
    for number, (user, client_id) in enumerate(CLIENTS):
        _mutate(cluster, user, client_id, f"mutation-{number}")
    session = JmxSession(QUESTIONS)
    try:
        wait_for(lambda: _read_remote(cluster, session), 120.0, "something was read from remote storage", 1.0)
        return _ask(cluster, session)
    finally:
        session.close()


def _mutate(cluster: Cluster, user: str, client_id: str, topic: str) -> None:
    """Create more partitions than the quota's burst of 55 has, through broker 1, so that it throttles the client."""
    password = new_password()
    cluster.admin.set_password(user, password)
    properties = cluster.client_properties() | {
        "sasl.username": user,
        "sasl.password": password,
        "client.id": client_id,
    }
    admin = AdminClient({**properties, "bootstrap.servers": cluster.broker_addresses[1], "log_level": 2})
    for part in ("a", "b"):
        for future in admin.create_topics([NewTopic(f"{topic}-{part}", 60, 1)]).values():
            wait_for(future.done, what=f"{topic}-{part} is answered")


def _read_remote(cluster: Cluster, session: JmxSession) -> bool:
    """Read the tiered topic from its start, once its first segments are in remote storage only."""
    config = {"bootstrap.servers": cluster.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"}
    consumer = Consumer({**cluster.client_properties(), **config, "enable.auto.commit": False, "log_level": 2})
    consumer.subscribe(["tiered"])
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not consumer.consume(100, timeout=1.0):
        pass
    consumer.close()
    return parse_beans(_ask(cluster, session)["broker"]).values.get("remote_fetch_bytes_total", 0.0) > 0


def _ask(cluster: Cluster, session: JmxSession) -> Mapping[str, RawBeans]:
    broker, controller = cluster.jmx_brokers[1], cluster.jmx_controllers[cluster.controller_ids[0]]
    targets = (
        JmxTarget("broker", *_address(broker)),
        JmxTarget("controller", *_address(controller), kind="controller"),
    )
    answers = session.ask(targets, monotonic() + 30)
    found = {kind: answer for kind, answer in answers.items() if isinstance(answer, RawBeans)}
    if len(found) != len(answers):
        raise RuntimeError(f"not all processes answered: {answers}")
    return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _write(path: Path, answer: RawBeans) -> None:
    path.parent.mkdir(exist_ok=True)
    body = {
        "values": [[bean, name, _json(value)] for (bean, name), value in answer.values.items()],
        "rows": {
            pattern: [[row.name, {name: _json(value) for name, value in row.values.items()}] for row in rows]
            for pattern, rows in answer.rows.items()
        },
    }
    path.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _json(value: Any) -> Any:
    """NaN as null, for JSON has none; no attribute is null otherwise."""
    return None if isinstance(value, float) and math.isnan(value) else value


def load(path: Path) -> RawBeans:
    body = json.loads(path.read_text(encoding="utf-8"))
    values = {(bean, name): math.nan if value is None else value for bean, name, value in body["values"]}
    rows = {
        pattern: tuple(BeanRow(name, found) for name, found in _nan(rows)) for pattern, rows in body["rows"].items()
    }
    return RawBeans(at=0.0, values=values, rows=rows)


def _nan(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, values in rows:
        yield name, {key: math.nan if value is None else value for key, value in values.items()}


if __name__ == "__main__":
    main()
