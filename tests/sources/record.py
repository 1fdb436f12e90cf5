"""Records what real brokers answer, for the parsers' tests: `python -m tests.sources.record`.

Starts a sandbox cluster of each version, brings it into a state with data for every request, sends what the sidecar
sends, and rewrites `recorded/kafka-*`: the frame of each reply, with its version in the file's name, and beside them
what other tools report about that state.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from kafka_warden.clients.kafka import connection
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.clients.kafka.requests import QUORUM
from kafka_warden.model import UNKNOWN
from kafka_warden.poller.tables import Rows
from kafka_warden.sources.cluster import read_eligible_leaders, read_quorum, read_quotas, read_reassignments
from kafka_warden.sources.configs import read_broker_config, read_controller_window, read_topic_configs
from kafka_warden.sources.log_dirs import read_log_dirs
from kafka_warden.sources.metadata import MetadataQuestion, read_fenced
from kafka_warden.sources.offsets import RowIndex, read_ends, read_starts
from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.admin_moves import FOLLOWER_RATE, LEADER_RATE, LOG_DIR_RATE
from sandbox.admin_quotas import DEFAULT
from tests.support.topics import lose_leaders

RECORDED: Final = Path(__file__).with_name("recorded")
VERSIONS: Final = ("4.1.1", "3.9.1")
ELR_VERSION: Final = "4.4.0"
TOPICS: Final = ("compacted", "emptied", "lagging", "moving", "sized")
TIME_LIMIT: Final = 60.0


def main() -> None:
    for version in VERSIONS:
        for old in RECORDED.glob(f"kafka-{version}-*"):
            old.unlink()
        with Cluster(ClusterSettings(version=version, log_dirs=2, tiered=False, jmx=False)) as cluster:
            prepare(cluster)
            facts = known(cluster)
            with recording(version) as name_next:
                Questions(cluster, name_next).ask_all()
        (RECORDED / f"kafka-{version}-known.json").write_text(f"{json.dumps(facts, indent=2, sort_keys=True)}\n")
    record_eligible_leaders()


def record_eligible_leaders() -> None:
    with Cluster(ClusterSettings(version=ELR_VERSION, tiered=False, jmx=False)) as cluster:
        lose_leaders(cluster)
        with recording(ELR_VERSION) as name_next:
            Questions(cluster, name_next).ask_eligible_leaders()


def prepare(cluster: Cluster) -> None:
    """Topics of every kind, a move between brokers and one between directories, limits, quotas, a dead broker."""
    admin = cluster.admin
    admin.create_topic("compacted", assignment={0: [2]}, config={"cleanup.policy": "compact,delete"})
    admin.create_topic("emptied", assignment={0: [1, 2]}, config={"min.insync.replicas": 2})
    admin.create_topic("lagging", assignment={0: [1, 3], 1: [3, 1]})
    admin.create_topic("moving", assignment={0: [1, 2]}, config={"segment.bytes": 2 << 20})
    admin.create_topic("sized", assignment={0: [1]})
    cluster.load.produce("emptied", records=10)
    admin.delete_records("emptied", {0: 4})
    cluster.load.produce("lagging", records=30, partitions=(0, 1))
    cluster.load.produce("moving", bytes=3_000_000)
    cluster.load.produce("sized", bytes=2_500_000)
    admin.alter_broker_config(1, {LOG_DIR_RATE: 1})
    (elsewhere,) = {str(each) for each in cluster.log_dirs(1)} - {_directory(cluster)}
    admin.move_log_dir(1, ("sized", 0), elsewhere)
    admin.alter_broker_config("", {LEADER_RATE: 777_777, FOLLOWER_RATE: 777_777})
    admin.reassign({("moving", 0): [1, 3]}, throttle=1)
    admin.alter_broker_config(2, {LEADER_RATE: None, FOLLOWER_RATE: None})
    admin.set_client_quota("alice", "app", {"controller_mutation_rate": 5, "producer_byte_rate": 1000})
    admin.set_client_quota(user=DEFAULT, values={"controller_mutation_rate": 2.5})
    admin.set_client_quota(client_id=DEFAULT, values={"consumer_byte_rate": 1e6})
    cluster.kill(3)
    wait_for(lambda: admin.isr("lagging") == {0: (1,), 1: (1,)}, what="broker 3 is in no ISR")
    cluster.load.produce("lagging", records=7)


def _directory(cluster: Cluster) -> str:
    return next(each.log_dir for each in cluster.admin.log_dirs(1) if each.topic == "sized")


def known(cluster: Cluster) -> dict[str, Any]:
    """What the files on the disks and the sandbox say."""
    return {
        "cluster_id": cluster.cluster_id,
        "addresses": {str(node): address for node, address in cluster.broker_addresses.items()},
        "controllers": {str(node): address for node, address in cluster.controller_addresses.items()},
        "directories": [str(each) for each in cluster.log_dirs(1)],
        "sizes": {
            name: _bytes(cluster, name) for name in ("emptied-0", "lagging-0", "lagging-1", "moving-0", "sized-0")
        },
    }


def _bytes(cluster: Cluster, partition: str) -> int:
    """Bytes of the segments of a log of broker 1."""
    return sum(file.stat().st_size for where in cluster.log_dirs(1) for file in (where / partition).glob("*.log"))


@contextmanager
def recording(version: str) -> Iterator[Callable[[str], None]]:
    """Write the next replies of any connection to files; yields the function that names the one to come."""
    name, original = [""], connection.decode_reply

    def record(frame: bytes, header: Any, **options: bool) -> Any:
        if name[0]:
            (RECORDED / f"kafka-{version}-{name[0]}-v{header.request_api_version}.bin").write_bytes(frame)
        return original(frame, header, **options)

    connection.decode_reply = record
    try:
        yield lambda chosen: name.__setitem__(0, chosen)
    finally:
        connection.decode_reply = original


class Questions:
    """What the sidecar asks, each answered by broker 1, and the window by the controller."""

    def __init__(self, cluster: Cluster, name_next: Callable[[str], None]) -> None:
        self._network = Network()
        self._settings = translate({"bootstrap.servers": cluster.bootstrap})
        self._cluster = cluster
        self._name_next = name_next
        self._broker = self._link(cluster.broker_addresses[1])
        self._controller = self._link(cluster.controller_addresses[101])

    def ask_all(self) -> None:
        layout = self._ask("metadata", MetadataQuestion().read)
        rows = Rows(layout)
        hosted, led = rows.hosted[1], rows.led[1]
        column = np.full(len(layout.partition), UNKNOWN, np.int64)
        self._ask("cluster", read_fenced)
        self._ask("ends", lambda link, until: read_ends(link, hosted, until, column))
        self._ask("starts", lambda link, until: read_starts(link, led, until, column))
        self._ask("log_dirs", lambda link, until: read_log_dirs(link, 1, None, RowIndex(), until, column))
        self._ask("reassignments", read_reassignments)
        self._ask("broker_config", partial(read_broker_config, broker=1))
        self._ask("topic_configs", partial(read_topic_configs, topics=TOPICS))
        self._ask("quotas", read_quotas)
        self._ask("quorum", read_quorum)
        self._broker.close()
        self._broker = self._link(self._cluster.broker_addresses[2])
        self._ask("other_broker_config", partial(read_broker_config, broker=2))
        self._broker.close()
        self._broker = self._controller
        self._ask("controller_config", partial(read_controller_window, node=101))

    def ask_eligible_leaders(self) -> None:
        """Ask for the partitions of `lose_leaders`."""
        partitions = [("pair", 0), ("single", 0)]
        self._ask("eligible_leaders", partial(read_eligible_leaders, partitions=partitions))

    def _ask(self, name: str, read: Callable[[BrokerLink, float], Any]) -> Any:
        until = time.monotonic() + TIME_LIMIT
        self._name_next("")  # ApiVersions, which begins every connection
        self._network.run(lambda: self._broker.supports(QUORUM, until))
        self._name_next(name)
        return self._network.run(lambda: read(self._broker, until))

    def _link(self, address: str) -> BrokerLink:
        host, port = address.rsplit(":", 1)
        return BrokerLink(self._network, self._settings, host, int(port))


if __name__ == "__main__":
    main()
