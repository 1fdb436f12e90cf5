"""Every number of the status page, of `/api/v1`, of `top` and of `/metrics` of the same poll agrees."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_warden.clients.jmx.protocol import BeanRow, RawBeans
from kafka_warden.clients.jmx.session import JmxTarget
from kafka_warden.clock import monotonic
from kafka_warden.exposition import Page
from kafka_warden.model import Parameters
from kafka_warden.poller.beans import JmxQuestions
from kafka_warden.sources.bean_list import BEANS, MUTATIONS
from kafka_warden.views.conditions import conditions
from sandbox.monitoring_rules import shorten_files
from tests.building import known
from tests.poller.polling import INTERVAL, Polling, polling
from tests.support import same_numbers, same_on_page, status_rows
from tests.support.answers import Answers, Metrics, read
from tests.support.asking import differences_from, getter, shown_of, views_of
from tests.support.page_numbers import PageNumbers
from tests.support.promtool import Check, block, failures, samples, selector, write
from tests.support.row_values import differences as row_differences
from tests.support.row_values import rows_of, series_of
from tests.support.rules import FILES
from tests.support.same_numbers import WITHOUT
from tests.support.scripted import ScriptedCluster, VirtualClock
from tests.web.conftest import Serve, Served

BROKERS: Final = {broker: (f"broker-{broker}.example", 9999) for broker in (1, 2, 3)}
CONTROLLERS: Final = {"100": ("controller.example", 9999)}
SPECIAL: Final = {
    "active_controller_count": 1.0,
    "fetcher_failed_partitions_count": 0.0,
    "fetcher_dead_thread_count": 0.0,
}
"""Beans that have a meaning of their own; the others are numbered."""
POLLS: Final = 12
DEAD, HANGS = 4, 8
"""Polls before which a broker dies, and another one hangs."""
FAST: Final = 1 / 90, 20.0
"""Scale and floor of the rules' times."""
FAST_STEP: Final = 5
FAST_END: Final = 300
"""Seconds: between two scrapes, and until all alerts fire."""


class Beans:
    """Answers for each process at once, with every bean and one client that is over its quota."""

    source, starts = "rmi", 1

    def ask(self, targets: Sequence[JmxTarget], _: float) -> dict[str, RawBeans]:
        return {target.key: self._of(target.key) for target in targets}

    def close(self) -> None:
        """Nothing to end."""

    def _of(self, key: str) -> RawBeans:
        kind, _, node = key.partition(" ")
        values = {
            (bean.object_name, bean.attribute): SPECIAL.get(bean.name, 1000.0 * int(node) + place)
            for place, bean in enumerate(BEANS)
            if bean.where == kind
        }
        clients = {
            f"kafka.server:type=ControllerMutation,user={user}": {"tokens": tokens, "mutation-rate": 9.5}
            for user, tokens in (("ada", -45.0), ("grace", 31.25))
        }
        rows = {MUTATIONS.pattern: tuple(BeanRow(name, of) for name, of in clients.items())}
        return RawBeans(monotonic(), values, rows if kind == "controller" else {})


def troubled(brokers: ScriptedCluster) -> None:
    """A stuck move and one that advances, throttles, followers out of sync, quotas, remote storage, a lost disk."""
    brokers.controller()
    listed = {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"}
    adding = {0: {"adding": [3], "removing": [2]}}
    brokers.topic(
        "stuck", [[1, 2, 3]], isr=[[1, 2]], end=100_000, rate=100.0, lag={3: 50_000}, config=listed, moves=adding
    )
    brokers.topic("copied", [[2, 1, 3]], isr=[[2, 1]], end=900_000, rate=10.0, lag={3: 700_000}, moves=adding)
    brokers.topic(
        "late",
        [[2, 1], [3, 2], [4, 1]],
        isr=[[2], [3, 2], [4]],
        end=1000,
        rate=10.0,
        lag={1: 400},
        config={"min.insync.replicas": "2"},
    )
    tiered = {"remote.storage.enable": "true", "segment.bytes": "1000000"}
    brokers.topic("tiered", [[1, 2], [2, 3]], end=90_000, rate=50.0, tiered=49, config=tiered)
    brokers.topic("lost", [[4, 3]], isr=[[]], elr={0: [4, 3]}, last_known_elr={0: [4]})
    limits = {"leader.replication.throttled.rate": "0", "follower.replication.throttled.rate": "1000000"}
    copying = {"remote.log.storage.system.enable": "true", "remote.log.manager.copy.max.bytes.per.second": "1000"}
    brokers.brokers(*({"id": broker, "config": limits | copying} for broker in (1, 2)))
    brokers.brokers({"id": 3, "config": limits, "offline": ["/data/b"]}, {"id": 4})
    brokers.do("quotas", quotas=[{"entity": {"user": "ada"}, "values": {"controller_mutation_rate": 5.0}}])


@pytest.fixture
def polled(brokers: ScriptedCluster, clock: VirtualClock) -> Iterator[Polling]:
    troubled(brokers)
    jmx = JmxQuestions(Beans(), None, BROKERS, CONTROLLERS)  # type: ignore[arg-type]  # has what is used of a session
    with polling(brokers, clock, jmx=jmx) as made:
        yield made


def shown(served: Served, page: Page, before: Mapping[float, bytes] | None = None) -> Answers:
    served.holder.page = page

    def get(path: str) -> bytes:
        answer = served.get(path)
        assert answer.status == 200, (path, answer.body)
        return answer.body

    return read(get, before or {})


def differences(answers: Answers) -> tuple[list[str], Counter[str]]:
    """Return what differs on the way from `/metrics` to the page, and what was compared."""
    wrong, compared = same_numbers.differences(answers)
    on_page, places = same_on_page.differences(answers)
    return wrong + on_page, compared + places


def pages(polled: Polling, brokers: ScriptedCluster, denied: Sequence[str] = ()) -> Iterator[Page]:
    """Return the page of each poll; a broker dies, and another one hangs."""
    cycle = polled.cycle()
    limits = Parameters(poll_interval=INTERVAL, max_broker_partitions=4, max_partitions=200)
    cycle.configure(limits, lambda topic: topic not in denied, lambda _: False)
    for poll in range(POLLS):
        if poll == DEAD:
            brokers.do("refuse", broker=4)
        if poll == HANGS:
            brokers.rule(2, hang=True)
        brokers.do("topics", topics=[_copied(poll)])
        polled.clock.advance(INTERVAL)
        cycle.once()
        yield known(cycle.holder.page)


def test_every_number_agrees_in_a_run_with_faults(polled: Polling, brokers: ScriptedCluster, serve: Serve) -> None:
    """Before and after a broker dies and another one hangs: walks all numbers of the document and of the HTML."""
    before: dict[float, bytes] = {}
    compared = Counter[str]()
    for poll, page in enumerate(pages(polled, brokers)):
        before[views_of(page).time or 0.0] = page.text
        if poll in (DEAD - 1, HANGS - 1, POLLS - 1):
            # Of a server of its own: one that is asked again within a second serves what it kept.
            answers = shown(serve(), page, before)
            wrong, numbers = differences(answers)
            assert wrong == []
            # The rows' labels, such as states and causes, too.
            assert row_differences(views_of(page), page.text)[0] == []
            assert differences_from(shown_of(getter(lambda page=page: page)), views_of(page)) == []  # type: ignore[misc]  # bound in this round
            compared += numbers
    assert [path for path in answers.document["paths"] if not compared[path]] == ["/log-dir-moves"]
    assert sum(compared.values()) > 1500
    api = answers.api
    assert {row["cause"] for row in api["/moves"]} == {"throttle_blocked", "leader_unresponsive"}
    assert {row["state"] for row in api["/brokers"]} >= {"active", "unanswering"}
    assert {row["online"] for row in api["/log-dirs"]} == {0.0, 1.0}
    assert {row["user"] for row in api["/clients"]} == {"ada", "grace"}
    assert len(api["/history"]["times"]) == POLLS


@pytest.mark.parametrize("denied", [(), ("stuck", "late", "lost")], ids=["", "topics.deny"])
def test_what_is_wrong_is_what_the_rules_send(
    denied: Sequence[str], polled: Polling, brokers: ScriptedCluster, tmp_path: Path
) -> None:
    """Rows and problems have the alerts that fire if all stays so; one that another one explains is no problem."""
    *_, page = pages(polled, brokers, denied)
    views, fired = views_of(page), firing(page, tmp_path)

    assert {each.alert for row in rows_of(views) for each in conditions(row)} - {None} == fired
    problems = {(Path(each.runbook).stem, each.severity) for each in views.tables["problems"].rows if each.runbook}
    assert problems == fired - {("KafkaReassignmentWillMissItsTime", "warning")}
    assert len(fired) > 12
    assert {row.topic for row in views.tables["moves"].rows} == {"copied", "stuck"} - {*denied}


def firing(page: Page, folder: Path) -> set[tuple[str, str]]:
    """Return name and severity of the alerts that fire in the end; the rules are faster, and the page stays so."""
    times = [float(time) for time in range(0, FAST_END + 1, FAST_STEP)]
    target = {"cluster": "prod", "job": "kafka-warden", "instance": "a:10073"}
    series = [(selector("up", target), [1.0] * len(times))]
    for (name, labels), value in series_of(page.text).items():
        values = times if name == "kafka_warden_snapshot_timestamp_seconds" else [value] * len(times)
        series.append((selector(name, target | dict(labels)), values))
    test = block("page", FAST_STEP, series, [Check(FAST_END, 'ALERTS{alertstate="firing"}', None)])
    rules = shorten_files(FILES, folder, *FAST)
    printed = failures(write(folder / "page.test.yml", [test], FAST_STEP, rules))
    return {(dict(labels)["alertname"], dict(labels)["severity"]) for _, labels in samples(printed)}


def _copied(poll: int) -> dict[str, Any]:
    adding = {0: {"adding": [3], "removing": [2]}}
    lag = {3: 700_000 - 20_000 * poll}
    return {"name": "copied", "replicas": [[2, 1, 3]], "isr": [[2, 1]], "end": 900_000, "rate": 10.0, "lag": lag} | {
        "moves": adding
    }


@pytest.mark.parametrize("make", [status_rows.troubled, status_rows.quiet], ids=lambda each: each.__name__)
def test_every_number_of_a_snapshot_agrees(make: Callable[[], Page], served: Served) -> None:
    wrong, compared = differences(shown(served, make()))

    assert wrong == []
    assert sum(compared.values()) > (400 if make is status_rows.troubled else 100)


def test_a_number_that_differs_is_found(served: Served) -> None:
    answers = shown(served, status_rows.troubled())
    page = served.get("/").body.decode()

    def found(made: Answers) -> str:
        return "\n".join(differences(made)[0])

    series = {key: value + 1 for key, value in answers.metrics.series.items() if key[0].endswith("offline_partitions")}
    assert "Cluster.offline_partitions" in found(replace(answers, metrics=Metrics(answers.metrics.series | series)))
    cluster = answers.api["/cluster"]
    assert "('tile', 'Offline')" in found(
        replace(answers, api={**answers.api, "/cluster": {**cluster, "offline_partitions": 7}})
    )
    for old, new, says in (
        ('<data value="156000000.0">156 MB', '<data value="156000001.0">156 MB', "156000001.0"),
        ('<data value="156000000.0">156 MB', '<data value="156000000.0">157 MB', "is written 157 MB"),
        ("<small>node</small>", "<small>node 5</small>", "'Controller'"),
        ('<h2 id="cluster-title">', '<h2 id="cluster-title">9 ', "'h2'"),
        ('data-row="orders/0/3"', 'data-row="orders/5/3"', "orders/0/3"),
    ):
        assert old in page, old
        changed = PageNumbers(page.replace(old, new, 1))
        assert says in found(replace(answers, pages={("", 1): changed})), says


def test_numbers_without_a_metric_are_those_of_the_document(served: Served) -> None:
    schemas = shown(served, status_rows.troubled()).document["components"]["schemas"]
    for name, key in (*WITHOUT, *same_numbers.MADE_OF):
        assert "x-metric" not in schemas[name]["properties"][key]
