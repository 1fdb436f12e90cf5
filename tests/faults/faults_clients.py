"""Quotas of clients: of the sidecar itself, and of clients with odd names or very many of them."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from itertools import islice
from typing import Final

from kafka_warden.timer import SETTLED
from sandbox.monitoring_tools import tools
from sandbox.protection import MONITOR
from tests.alerts.stage import Fired
from tests.faults.witness import TIME_LIMIT, Witness
from tests.support.processes import run

POLLS: Final = 60
INTERVAL: Final = 2.0
"""Seconds, as the stage configures it."""
STRETCHED: Final = "a poll takes longer than poll.interval"
SHARE: Final = 0.01
"""Request quota in percent of one thread, which every poll exceeds by far."""
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


def throttled(witness: Witness) -> Iterator[set[Fired]]:
    """With pauses of 1 s the interval is stretched, which is shown and logged once, and there is no more connection."""
    kept = 0
    for page in witness.pages():
        kept = kept + 1 if page["poll_interval_seconds"] == INTERVAL else 0
        if kept == SETTLED:
            break
    assert kept == SETTLED, "the interval is not kept before the fault"

    def links() -> list[set[int]]:
        """Every connection to a broker by its own port: one that is made again has another."""
        return [witness.connections(broker) for broker in witness.cluster.broker_ids]

    before, logged, limit = links(), witness.log.count(STRETCHED), witness.cluster.admin.set_client_quota
    limit(user=MONITOR, values={"request_percentage": SHARE})
    try:
        witness.until(lambda page: min(page.brokers("exporter_throttle_seconds").values()) == 1, "they ask for 1 s")
        witness.until(lambda page: page["poll_interval_seconds"] > INTERVAL, "the interval is stretched")
        for page in islice(witness.pages(POLLS * TIME_LIMIT), POLLS):
            assert not page.down()
            assert links() == before, page.all("source_errors_total")
        yield set()
        assert witness.log.count(STRETCHED) == logged + 1
    finally:
        limit(user=MONITOR, values={"request_percentage": None})
    witness.until(lambda page: page["poll_interval_seconds"] == INTERVAL, "the interval is as configured")


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
        yield {labels["client_id"] for labels, _ in page.rows("controller_mutation_quota_config_per_second")}
    finally:
        admin.set_client_quotas(clients, {"controller_mutation_rate": None})
        witness.restart()
