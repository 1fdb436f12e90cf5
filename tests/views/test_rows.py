"""Rows have the numbers of `/metrics` of the same poll, and the order of what matters."""

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafka_warden.catalogue import CATALOGUE
from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import EXPLAINED, Cause
from kafka_warden.derive.throttle_problems import Problem as ThrottleProblem
from kafka_warden.derive.tiered import Problem as TieredProblem
from kafka_warden.model import Broker, Limit, Origin, Parameters, QuotaEntity, Side, Snapshot, TopicConfig
from kafka_warden.views import alerts, conditions, recent, rows
from kafka_warden.views.alerts import ALERTS as ALERT_SEVERITIES
from kafka_warden.views.alerts import SEVERITIES
from kafka_warden.views.build import series
from kafka_warden.views.fields import FAMILIES, LabelOf, Of, fields_of
from kafka_warden.views.specs import BY_NAME, TABLES
from tests import scene
from tests.building import Partition, judge, known, snapshot
from tests.poller.polling import INTERVAL, polling
from tests.support import status_rows
from tests.support.asking import views_of
from tests.support.row_values import differences, rows_of, series_of
from tests.support.rules import FILES, alerting_rules, rules_in
from tests.support.scripted import ScriptedCluster, VirtualClock

ROOT = Path(__file__).parents[2]
WITHOUT_ROW = {
    # Of changes over time, and of a label of Prometheus: one poll does not show them.
    *("KafkaIsrFlapping", "KafkaUncleanLeaderElection", "KafkaWardenRestarting", "KafkaWardenClusterLabelAmbiguous"),
    # The page has the number in a tile, and no row for the dates of certificates.
    *("KafkaPartitionAtMinIsr", "KafkaWardenCertificateExpiring"),
}
"""Alerts that no row and no problem has."""
SOURCES = tuple((ROOT / "exporter" / "kafka_warden" / "views").glob("*.py"))


@pytest.mark.parametrize("denied", ["hidden", "orders", "payments", "quiet"])
def test_denied_topics_have_no_row(denied: str) -> None:
    """A topic that is out of sync, moving, in remote storage or without a leader is in no table when it is denied."""
    page = status_rows.page(scene.poll, scene.PARAMETERS, deny=denied)
    named = {row.topic for row in rows_of(views_of(page)) if hasattr(row, "topic")}

    assert named == {"hidden", "orders", "payments", "quiet"} - {denied}
    assert differences(views_of(page), page.text)[0] == []


@pytest.mark.parametrize("denied", ["hidden", "orders", "payments", "quiet"])
def test_denied_topics_hide_no_problem_and_no_alert(denied: str) -> None:
    """The page and the alerts have the same problems as without `topics.deny`, without the name.

    So has each family that an alert reads, except where the alert itself is by topic.
    """
    hidden, whole = (status_rows.page(scene.poll, scene.PARAMETERS, deny=deny) for deny in (denied, ""))
    found, expected = (
        {each.kind: each.severity for each in views_of(page).tables["problems"].rows} for page in (hidden, whole)
    )
    assert found == expected
    expressions = [rule["expr"] for rule in rules_in(*(file.read_text() for file in FILES))]
    read = set(re.findall(r"(?<![\w:])kafka_warden_\w+", " ".join(expressions)))
    by_topic = {name for name in read if name.startswith("kafka_warden_topic_")} | {
        "kafka_warden_partition_bytes_in_per_second",  # for annotations
        # for disks: less than what arrives
        "kafka_warden_reassignment_bytes_remaining",
        "kafka_warden_log_dir_move_bytes_remaining",
    }
    sums, all_sums = (without_topics(page.text.decode(), read - by_topic) for page in (hidden, whole))
    assert sums == all_sums
    assert any(name == "kafka_warden_reassignment_stuck" for name, _ in sums)
    assert f'"{denied}"' not in hidden.text.decode()
    assert not any(denied in each.sentence for each in views_of(hidden).tables["problems"].rows)


def test_the_cluster_has_its_name() -> None:
    view = scene.view()
    unnamed = replace(view, parameters=replace(view.parameters, cluster_name=None))
    page, without = (status_rows.rendered(view.exporter, each, recent.Recent()) for each in (view, unnamed))
    cluster = known(views_of(page).cluster)
    assert (cluster.cluster_name, cluster.cluster_id) == ("orders-prod", "cluster")
    assert not known(views_of(without).cluster).cluster_name


def test_uncounted_topics_are_shown_and_have_no_critical_alert() -> None:
    """The numbers of the cluster leave them out, another one has them, and their row and problem are only info."""
    without, page = (status_rows.page(scene.poll, scene.PARAMETERS, uncounted=topic) for topic in ("", "quiet"))
    problems = {row.kind: row for row in views_of(page).tables["problems"].rows}
    assert {row.kind for row in views_of(without).tables["problems"].rows} - problems.keys() == {"offline_partitions"}
    found = problems["uncounted_partitions"]
    text = "Partitions that topics.uncounted leaves out of the counts and critical alerts: 1 offline."
    assert (found.sentence, found.severity, found.runbook) == (text, "info", None)
    cluster = known(views_of(page).cluster)
    assert (cluster.offline_partitions, cluster.under_min_isr_partitions) == (0, 1)
    assert cluster.uncounted == {"offline": 1}
    severities = {row.topic: (row.uncounted, row.severity) for row in views_of(page).tables["topics"].rows}
    assert severities == {"payments": (False, "critical"), "quiet": (True, "info")}
    assert differences(views_of(page), page.text)[0] == []
    assert known(views_of(without).cluster).uncounted == {}
    assert b"kafka_warden_uncounted_partitions" not in without.text


@pytest.mark.parametrize(("configured", "absent"), [(("t", "old"), set()), (("t",), {"at_min_isr"})])
def test_uncounted_partitions_at_min_isr_are_absent_until_known(configured: tuple[str, ...], absent: set[str]) -> None:
    """As the number of the cluster is. Those under it are at least so many, as in the cluster."""
    topics = {name: [Partition(replicas=(1, 2), out=(2,))] for name in ("t", "old")}
    derived = judge(snapshot(topics, topic_configs=dict.fromkeys(configured, TopicConfig())))
    view = replace(
        scene.view_of(derived), uncounted=np.array([name == "old" for name in derived.indexed.snapshot.topics])
    )
    shown = {key[0] for key in series(view, "uncounted_partitions")}
    assert {"offline", "under_min_isr", "at_min_isr"} - shown == absent
    assert bool(series(view, "at_min_isr_partitions")) is not bool(absent)


def test_a_denied_move_counts_once_it_is_stuck_for_long_enough() -> None:
    """For 255 s by itself, as the rule demands of each move with a name; page and `/metrics` have one number."""

    def poll(clock: float) -> Snapshot:
        move = Partition(replicas=(1, 2), adding=(2,), end=1000, lag={2: 400})
        # Another one begins before the first one has lasted: it is not counted in its place.
        later = Partition(replicas=(1, 3), adding=(3,) if clock >= 100 else (), out=(3,), end=1000, lag={3: 400})
        return snapshot({"t": [move, later]}, clock=clock)

    found = [status_rows.page(poll, Parameters(poll_interval=10.0), polls, deny="t") for polls in (29, 30, 39, 40)]
    assert [known(views_of(page).cluster).stuck for page in found] == [
        {},
        {"no_progress": 1},
        {"no_progress": 1},
        {"no_progress": 2},
    ]
    assert [differences(views_of(page), page.text)[0] for page in found] == [[]] * 4
    problems = [{row.kind: row.sentence for row in views_of(page).tables["problems"].rows} for page in found]
    sentences = [None, "1 move stuck: no progress.", "1 move stuck: no progress.", "2 moves stuck: no progress."]
    assert [each.get("stuck_no_progress") for each in problems] == sentences


def test_a_move_that_only_removes_replicas_says_what_it_waits_for() -> None:
    def poll(clock: float, down: bool = False) -> Snapshot:
        removal = Partition(replicas=(1, 3), removing=(1,), out=(3,), end=1000, lag={3: 400})
        brokers = {1: Broker(1, "one", 9092), 3: Broker(3, "three", 9092, fenced=down)}
        return snapshot({"t": [removal]}, clock=clock, brokers=brokers)

    def row(polls: int, *, down: bool = False) -> rows.Move:
        page = status_rows.page(partial(poll, down=down), Parameters(poll_interval=10.0), polls)
        assert differences(views_of(page), page.text)[0] == []
        (move,) = views_of(page).tables["moves"].rows
        return move

    state = next(column for column in BY_NAME["moves"].columns if column.title == "State")
    waits = "Nothing is left to copy. The move ends when the replica on broker 3, which stays, is in sync."
    first, hangs, down = row(2), row(6), row(2, down=True)
    assert [(move.remaining_bytes, move.adding, state.value(move)) for move in (first, hangs, down)] == [
        (0, False, "waiting"),
        (0, False, "stuck"),
        (0, False, "stuck"),
    ]
    assert (first.cause, first.sentence) == (None, waits)
    assert (hangs.cause, hangs.sentence) == ("copied_not_completed", waits)
    assert down.cause == "target_down"
    assert known(down.sentence).startswith("Broker 3, whose replica has to be in sync first,")


def without_topics(text: str, names: set[str]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    sums: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name in names:
                labels = frozenset((k, v) for k, v in sample.labels.items() if k not in {"topic", "partition"})
                sums[sample.name, labels] = sums.get((sample.name, labels), 0.0) + sample.value
    return sums


def test_the_worst_come_first() -> None:
    views = views_of(status_rows.troubled())

    assert [row.cause is None for row in views.tables["moves"].rows] == [False, True]
    assert [row.state == "active" for row in views.tables["brokers"].rows] == [False, False, True, True]
    severities = [row.severity for row in views.tables["problems"].rows]
    assert severities == sorted(severities, key=SEVERITIES.index)
    ages = [row.out_of_sync_seconds or 0.0 for row in views.tables["replicas"].rows]
    assert ages == sorted(ages, reverse=True)


def test_only_the_worst_of_very_many_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems count the others, too."""
    monkeypatch.setattr("kafka_warden.views.build.MOST", 3)
    views = views_of(status_rows.moving(40, polls=10))

    assert (len(views.tables["moves"].rows), views.tables["moves"].total) == (3, 40)
    assert all(row.cause is not None for row in views.tables["moves"].rows)
    assert known(views.cluster).stuck == {"no_progress": 7}
    (stuck,) = (row.sentence for row in views.tables["problems"].rows if row.kind == "stuck_no_progress")
    assert stuck.startswith("7 moves ")


def test_every_cause_and_problem_has_a_sentence() -> None:
    assert set(alerts.CAUSES) == set(Cause)
    assert set(alerts.STATES) == set(ReplicaState)
    assert set(alerts.THROTTLES) == set(ThrottleProblem)
    assert set(alerts.TIERED) == set(TieredProblem)
    move = views_of(status_rows.troubled()).tables["moves"].rows[0]
    moves = [replace(move, leader=None, cause=cause) for cause in Cause]
    assert not any("{" in known(alerts.why(move)) for move in moves)
    assert {row.cause for row in moves if conditions.conditions(row)[0].alert != conditions.STUCK} == EXPLAINED
    named = {alert for file in SOURCES for alert in re.findall(r'"(Kafka[A-Z]\w+)"', file.read_text())}
    assert ALERT_SEVERITIES.keys() - named == WITHOUT_ROW
    assert [alert for alert in named if not (ROOT / "alerts" / "runbooks" / f"{alert}.md").exists()] == []


def test_fields_name_metrics_and_labels_that_exist() -> None:
    for kind in (rows.Cluster, rows.ExporterRow, recent.History, recent.SideHistory, *(spec.row for spec in TABLES)):
        for name, (_, about) in fields_of(kind).items():
            assert isinstance(about, Of | LabelOf | str), name
            if not isinstance(about, str):
                family = FAMILIES[about.metric]
                assert family in CATALOGUE
                assert set(family.labels) <= {*fields_of(kind), *labels_of(kind, family.name)}, name


def labels_of(kind: type, metric: str) -> set[str]:
    """Labels of a metric that are fields of a row, which may have other names."""
    found = (about for _, about in fields_of(kind).values() if isinstance(about, LabelOf))
    return {about.label for about in found if about.metric == metric}


@pytest.mark.process
def test_dropped_series_are_those_of_metrics(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    brokers.topic("many", [[1, 2, 3] for _ in range(40)], end=100, rate=10.0)
    with polling(brokers, clock) as polled:
        cycle = polled.cycle(series_budget=10)
        for _ in range(3):
            clock.advance(INTERVAL)
            cycle.once()
        page = known(cycle.holder.page)
        left_out = {
            dict(labels)["family"]: value
            for (name, labels), value in series_of(page.text).items()
            if name == "kafka_warden_dropped_series"
        }
        assert left_out
        assert views_of(page).sidecar.dropped_series == left_out


def test_clients_with_the_fewest_tokens_come_first() -> None:
    def poll(clock: float) -> Snapshot:
        seen = scene.poll(clock)
        beans = seen.controller_beans["101"]
        clients = tuple(
            replace(beans.mutations[0], user=user, values={"tokens": tokens, "mutation_rate": 1.0})
            for user, tokens in (("free", 1e20), ("rich", 50.0), ("ada", -45.0), ("half", 25.0))
        )
        quotas = tuple(QuotaEntity(user, None, {"controller_mutation_rate": 5.0}) for user in ("rich", "ada", "half"))
        return replace(seen, controller_beans={"101": replace(beans, mutations=clients)}, quotas=quotas)

    views = views_of(status_rows.page(poll, scene.PARAMETERS))
    assert [row.user for row in views.tables["clients"].rows] == ["ada", "half", "rich", "free"]


def test_a_copy_between_log_directories_that_never_ends_has_the_alert_of_a_stuck_move() -> None:
    def poll(clock: float) -> Snapshot:
        seen = scene.poll(clock)
        config = seen.broker_configs[2]
        configs = {2: replace(config, limits={**config.limits, Side.LOG_DIRS: Limit(0.0, Origin.BROKER)})}
        still = (replace(seen.future_replicas[0], size=0),)
        return replace(seen, broker_configs={**seen.broker_configs, **configs}, future_replicas=still)

    healthy, stuck, denied = (
        views_of(status_rows.page(each, scene.PARAMETERS, deny=deny))
        for each, deny in ((scene.poll, ""), (poll, ""), (poll, "payments"))
    )
    kind = "log_dir_moves_never_end"
    assert kind not in {row.kind for row in healthy.tables["problems"].rows}
    assert [row.severity for row in healthy.tables["log-dir-moves"].rows] == [None]
    assert [row.severity for row in stuck.tables["log-dir-moves"].rows] == ["warning"]
    assert denied.tables["log-dir-moves"].rows == ()
    for views in (stuck, denied):
        (problem,) = (row for row in views.tables["problems"].rows if row.kind == kind)
        assert problem.sentence == "1 move between log directories of broker 2 never ending."
        assert (problem.severity, problem.runbook) == ("warning", "alerts/runbooks/KafkaReassignmentStuck.md")


def test_the_state_of_a_broker_names_what_is_wrong_beside_it() -> None:
    active = views_of(status_rows.quiet()).tables["brokers"].rows[0]
    limited = {"partitions": 9.0, "partition_limit": 10.0}
    column = next(column for column in BY_NAME["brokers"].columns if column.field == "state")
    changes: list[dict[str, Any]] = [{}, {"metadata_stale_seconds": 300.0}, limited]
    changes += [changes[1] | limited, {"state": "fenced", **limited}]
    assert [column.text(replace(active, **change)) for change in changes] == [
        "active",
        "active, old metadata",
        "active, near its limit",
        "active, old metadata, near its limit",
        "fenced, near its limit",
    ]


def test_hostile_names_are_kept_as_they_are() -> None:
    evil = 'a"<script>\n\x1b[31m'

    def poll(clock: float) -> Snapshot:
        seen: Any = scene.poll(clock)
        renamed = tuple(evil if name == "orders" else name for name in seen.topics)
        return replace(seen, topics=renamed, topic_configs={**seen.topic_configs, evil: TopicConfig()})

    assert evil in {row.topic for row in views_of(status_rows.page(poll, scene.PARAMETERS)).tables["moves"].rows}


def test_what_is_wrong_is_as_severe_as_its_alert() -> None:
    """Problems and rows have a severity that the rules send; `info` has no alert, or one of that severity."""
    rules = alerting_rules()
    sent = {name: [rule["labels"]["severity"] for rule in rules if rule["alert"] == name] for name in ALERT_SEVERITIES}
    assert {rule["alert"] for rule in rules} == sent.keys()
    views = views_of(status_rows.troubled())
    rated = {row.severity for row in rows_of(views) if getattr(row, "severity", None)}
    assert rated == set(SEVERITIES)
    for row in (row for row in rows_of(views) if hasattr(row, "severity") and getattr(row, "runbook", None)):
        alert = row.runbook.rpartition("/")[2].removesuffix(".md")
        assert row.severity in sent[alert], row
    mildest_first = {name: sorted(set(each), key=SEVERITIES[::-1].index) for name, each in sent.items()}
    assert {name: tuple(each) for name, each in mildest_first.items()} == ALERT_SEVERITIES


def test_rows_are_as_severe_as_the_problem_that_counts_them() -> None:
    """A stuck move, a broker that is away and a lost disk are what "Needs a look" calls them; the rest is not rated."""
    views = views_of(status_rows.troubled())
    problem = {each.kind: each.severity for each in views.tables["problems"].rows}

    moves = {row.cause: row.severity for row in views.tables["moves"].rows}
    assert moves == {"throttle_below_inbound": problem["stuck_throttle_below_inbound"], None: None}
    brokers = {row.state: row.severity for row in views.tables["brokers"].rows}
    assert brokers == {"active": None, **{state: problem[f"broker_{state}"] for state in ("unanswering", "fenced")}}
    assert {row.severity for row in views.tables["log-dirs"].rows if row.online == 0} == {problem["log_dir_offline"]}
    assert {row.severity for row in views.tables["topics"].rows if row.offline_partitions} == {
        problem["offline_partitions"]
    }
    assert {row.severity for row in views.tables["clients"].rows if (row.tokens or 0) < 0} == {
        problem["mutations_throttled"]
    }
    replicas = {row.state: row.severity for row in views.tables["replicas"].rows if row.out_of_sync_seconds is not None}
    assert {**replicas, "moving": None} == dict.fromkeys(replicas, problem["out_of_sync"]) | {"moving": None}
    for row in views.tables["throttle-problems"].rows:
        assert row.severity == problem.get(f"throttle_{row.problem}", "info")
    for source in views.tables["sources"].rows:
        expected = problem["jmx_down" if source.source == "jmx" else "sources_down"] if source.up == 0 else None
        assert source.severity == expected
