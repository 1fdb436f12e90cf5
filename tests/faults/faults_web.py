"""Many clients, slow clients, odd names, and pages at the moment in which they change."""

import http.client
import socket
import time
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from sandbox.monitoring_tools import tools
from tests.alerts.stage import Fired
from tests.cluster.beans import read_secured
from tests.faults.faults_brokers import no_numbers
from tests.faults.witness import Witness
from tests.support.processes import run
from tests.support.threads import repeating

CLIENTS: Final = 50
HALVES, SILENT = 300, 20
PASSING: Final = 4
"""Descriptors that come and go: of files that are read, and of a connection to a controller."""
SCRAPES: Final = 10_000
REQUESTS: Final = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=ListOffsets,*"
"""Which no client of the cluster sends except the sidecar."""
ODD: Final = (
    'quote"',
    "back\\slash",
    "line\nfeed",
    "carriage\rreturn",
    "nul\0",
    "\N{PILE OF POO}",
    "\N{HEBREW LETTER ALEF}x",
    '{a="b"} 1',
)
LONG, LONGEST_LABEL = "10 KB " * 1700, 256
LONGEST_TOPIC: Final = 249
MANY: Final = frozenset(f"client-{number}" for number in range(1000))


def flooded(witness: Witness) -> Iterator[set[Fired]]:
    """F17: 50 clients that scrape without a pause are all answered, and the brokers get no request because of it."""
    quiet = _requests_per_poll(witness, 10)
    deadline = time.monotonic() + 30
    with ThreadPoolExecutor(CLIENTS) as clients:
        counts = [clients.submit(_scrape_until, witness.stage.sidecar.port, deadline) for _ in range(CLIENTS)]
        busy = _requests_per_poll(witness, 10)
        print(f"{sum(count.result() for count in counts)} scrapes of {CLIENTS} clients")
    assert busy <= 1.05 * quiet
    yield set()


def slow_clients(witness: Witness) -> Iterator[set[Fired]]:
    """F18: 300 half requests and 20 silent clients, some of which send a byte a second, delay no scrape."""
    before = witness.used()["sidecar"][0]
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", witness.stage.sidecar.port)))
            for _ in range(HALVES + SILENT)
        ]
        for client in clients[:HALVES]:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")

        def drip() -> None:
            for client in clients[HALVES - SILENT : HALVES]:
                with suppress(OSError):
                    client.send(b"a")

        with repeating(drip, 1.0):
            for _ in range(5):
                witness.until(lambda page: not page.down(), "every source answers")
                used = witness.used()["sidecar"][0]
                assert used - before <= len(clients) + PASSING, f"{before} became {used}"
            witness.until(lambda page: page.one("web_connections_closed_total", reason="timeout"), "it counts them")
            yield set()
            for client in clients:
                with suppress(ConnectionError):
                    client.settimeout(60)
                    assert client.recv(1 << 16) == b"" or client.recv(1) == b""


def odd_names(witness: Witness) -> Iterator[set[Fired]]:
    """F19: names of clients that are no identifiers, and the longest topic, are shown as they are; 10 KB are cut."""
    admin = witness.cluster.admin
    topics = ("t" * LONGEST_TOPIC, "a.b", "c_d")
    for topic in topics:
        admin.create_topic(topic, assignment={0: [1, 2]})
    try:
        with _quotas(witness, {*ODD, LONG}) as shown:
            assert not set(ODD) - shown, shown
            (cut,) = (name for name in shown if name.startswith(LONG[: LONGEST_LABEL // 2]))
            assert len(cut) == LONGEST_LABEL
            page = witness.until(
                lambda page: {dict(labels).get("topic") for _, labels in page.samples} >= set(topics), "all have rates"
            )
            checked = run(tools().promtool, "check", "metrics", given=page.text)
            assert checked.returncode == 0, checked.stdout + checked.stderr
            yield set()
    finally:
        admin.delete_topic(*topics)


def many_clients(witness: Witness) -> Iterator[set[Fired]]:
    """F20: each of 1,000 client ids with a quota is shown, and no source misses the deadline of a poll because of them.

    Ten thousand partitions, the other half of F20, are those of `bench.soak`.
    """
    with _quotas(witness, MANY) as shown:
        assert not MANY - shown, shown - MANY
        for _ in range(5):
            assert not witness.until(lambda _: True, "a poll").down()
        yield set()


@contextmanager
def _quotas(witness: Witness, clients: AbstractSet[str]) -> Iterator[AbstractSet[str]]:
    """These client ids have a quota while the block lasts; yields those that a sidecar shows which starts then."""
    admin = witness.cluster.admin
    admin.set_client_quotas(clients, {"controller_mutation_rate": 5})
    try:
        witness.restart()
        page = witness.until(lambda page: not page.down(), "every source answers")
        yield {labels["client_id"] for labels, _ in page.rows("controller_mutation_quota_config")}
    finally:
        admin.set_client_quotas(clients, {"controller_mutation_rate": None})
        witness.restart()


def first_poll(witness: Witness) -> Iterator[set[Fired]]:
    """F25: before its first poll has ended a sidecar has no number of a cluster, and no zero."""
    witness.restart(ready=False)
    pages = [witness.page]
    while not pages[-1].time:
        pages.append(witness.scrape())
    assert all(no_numbers(page) for page in pages[:-1])
    assert len(pages) > 1
    yield set()


def swaps(witness: Witness) -> Iterator[set[Fired]]:
    """F25: no page of 10,000 has numbers of two polls."""
    connection = http.client.HTTPConnection("127.0.0.1", witness.stage.sidecar.port, timeout=60)
    polls = defaultdict[bytes, set[int]](set)
    for _ in range(SCRAPES):
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().splitlines()
        (poll,) = (line for line in lines if line.startswith(b"kafka_warden_snapshot_timestamp_seconds "))
        polls[poll].add(hash(tuple(line for line in lines if b'broker="' in line)))
    connection.close()
    print(f"{SCRAPES} scrapes of {len(polls)} polls")
    assert all(len(numbers) == 1 for numbers in polls.values())
    yield set()


def _requests_per_poll(witness: Witness, polls: int) -> float:
    """Requests that the brokers had from the sidecar during some polls, for each."""
    witness.until(lambda _: True, "a poll")
    before = sum(read_secured(witness.cluster, REQUESTS, "Count").values())
    for _ in range(polls):
        witness.until(lambda _: True, "a poll")
    return (sum(read_secured(witness.cluster, REQUESTS, "Count").values()) - before) / polls


def _scrape_until(port: int, deadline: float) -> int:
    """Scrape over one connection until a monotonic time; return how often."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    count = 0
    while time.monotonic() < deadline:
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert response.read()
        assert response.status == http.HTTPStatus.OK
        count += 1
    connection.close()
    return count
