"""`limits.series` bounds the whole page: what is left out first, what never is, and that the choice is stable."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kafka_warden.catalogue import CATALOGUE, ExporterState, Metric, Rank, View
from kafka_warden.catalogue.cluster import WORST
from kafka_warden.catalogue.metric import Labels
from kafka_warden.catalogue.replicas import LONGEST
from kafka_warden.derive.throttle_problems import Problem
from kafka_warden.exposition import BROKER_SERIES, FIXED_SERIES, PARTS, Budget, Exposition
from kafka_warden.model import NO_BROKER, SIDES, UNKNOWN, Broker, PollResult, QuotaEntity, Source
from tests import scene
from tests.building import Partition, answered, brokers_of, judge, snapshot

ALERTS = Path(__file__).parents[1] / "alerts"
DEFAULT = 20_000
DEAD, DEAD_REPLICAS = 3, 10_000
QUOTA = "kafka_warden_controller_mutation_quota_config_per_second"
LAG = Metric("lag", "By partition", ("topic", "partition"), lambda _: (), source="ListOffsets")

Page = Counter[str]


def page(view: View | None, budget: int = DEFAULT, sidecar: ExporterState | None = None) -> tuple[list[str], Page]:
    exposition = Exposition(budget)
    text = exposition.render(sidecar or scene.sidecar(), view).text.decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return lines, Counter(line.partition("{")[0].partition(" ")[0] for line in lines)


def value(lines: Iterable[str], name: str) -> float:
    (found,) = [line for line in lines if line.startswith(f"{name} ")]
    return float(found.rpartition(" ")[2])


@pytest.fixture(scope="module")
def view() -> View:
    return scene.view()


def seen(topics: Mapping[str, list[Partition]], **fields: Any) -> View:
    derived = judge(*(snapshot(topics, clock=clock, **fields) for clock in (0.0, 10.0, 20.0)))
    return scene.view_of(derived)


def test_clients_and_unknown_brokers_are_bounded() -> None:
    hosts = range(1000, 6000)
    topics = {"t": [Partition(replicas=(1, broker), out=(broker,)) for broker in hosts]}
    brokers = brokers_of({"t": [Partition(replicas=(1, 2, 3))]})
    unknown = {broker: Broker(broker, "", 0, gone=True) for broker in hosts}
    quotas = tuple(QuotaEntity(f"user-{number}", None, {"controller_mutation_rate": 1.0}) for number in range(10_000))
    lines, families = page(seen(topics, brokers={**brokers, **unknown}, quotas=quotas))
    assert families.total() <= DEFAULT + BROKER_SERIES + FIXED_SERIES
    assert families["kafka_warden_broker_replicas"] == len(brokers)
    assert families["kafka_warden_replica_state"] == len(hosts)
    assert value(lines, "kafka_warden_under_replicated_partitions") == len(hosts)
    dropped = f'kafka_warden_dropped_series{{family="{QUOTA}"}}'
    assert value(lines, dropped) == len(quotas) - families[QUOTA]
    assert value(lines, 'kafka_warden_dropped_series{family="kafka_warden_broker_replicas"}') == len(hosts)


@pytest.mark.parametrize("count", [1, 30_000])
def test_the_status_of_unknown_brokers_is_shown_while_there_is_room(count: int) -> None:
    """JMX may be asked of brokers that Metadata never described. What is left out is counted."""
    hosts = range(1000, 1000 + count)
    topics = {"t": [Partition(replicas=(1, broker)) for broker in hosts]}
    brokers = brokers_of({"t": [Partition(replicas=(1,))]}) | {id_: Broker(id_, "", 0, gone=True) for id_ in hosts}
    shown = seen(topics, brokers=brokers)
    status = {(Source.JMX, str(broker)): answered(0.0, 0.1) for broker in hosts}
    sidecar = replace(shown.exporter, polled=PollResult(status=status))
    lines, families = page(replace(shown, exporter=sidecar), sidecar=sidecar)
    dropped = value(lines, 'kafka_warden_dropped_series{family="kafka_warden_up"}') if count > 1 else 0
    assert families["kafka_warden_up"] + dropped == count
    assert families.total() <= DEFAULT + BROKER_SERIES + FIXED_SERIES


def test_registered_brokers_are_bounded() -> None:
    brokers = {number: Broker(number, "x.example", 9092) for number in range(5000)}
    sources = (Source.OFFSETS, Source.LOG_DIRS, Source.CONFIGS, Source.JMX)
    status = {(source, str(broker)): answered() for source in sources for broker in brokers}
    polled = PollResult(status={(Source.METADATA, NO_BROKER): answered(), **status})
    sidecar = replace(scene.sidecar(), polled=polled)
    view = seen({"t": [Partition(replicas=(1, 2))]}, brokers=brokers)
    for each in (view, None):
        _, families = page(each, sidecar=sidecar)
        assert families.total() <= DEFAULT + BROKER_SERIES + FIXED_SERIES
        assert families["kafka_warden_up"] == len(status) + 1


def dead_broker(*, moving: bool, brokers: int = 3) -> View:
    """The view of a cluster after a broker died with 10,000 replicas."""
    alive = {broker: Broker(broker, "x.example", 9092) for broker in range(1, brokers + 1)}
    up = [Partition(adding=(DEAD,) if moving else (), end=1000) for _ in range(DEAD_REPLICAS)]
    down = [replace(each, out=(DEAD,), silent=(DEAD,), lag={DEAD: 5}) for each in up]
    dead = {**alive, DEAD: replace(alive[DEAD], gone=True)}
    derived = judge(
        snapshot({"t": up}, brokers=alive),
        *(snapshot({"t": down}, brokers=dead, clock=clock) for clock in (60.0, 300.0, 600.0)),
    )
    return scene.view_of(derived)


def offline(lines: Iterable[str]) -> int:
    return len([line for line in lines if f'broker="{DEAD}",state="offline"' in line and "replica_state" in line])


@pytest.mark.parametrize("moving", [False, True])
def test_replicas_of_a_dead_broker_keep_state_and_cause(*, moving: bool) -> None:
    lines, families = page(dead_broker(moving=moving))
    assert offline(lines) == DEAD_REPLICAS
    assert families["kafka_warden_reassignment_stuck"] == (DEAD_REPLICAS if moving else 0)
    ages = [families[f"kafka_warden_{name}_seconds"] for name in ("partition_under_replicated", "replica_out_of_sync")]
    assert ages == ([0, 0] if moving else [LONGEST, DEFAULT - DEAD_REPLICAS - LONGEST])
    assert value(lines, "kafka_warden_dropped_verdicts") == 0
    assert families["kafka_warden_broker_replicas"] == 3
    assert families["kafka_warden_partition_bytes_in_per_second"] == 0
    assert families.total() <= DEFAULT + BROKER_SERIES + FIXED_SERIES


@pytest.mark.parametrize(("brokers", "shown"), [(30, 480), (500, BROKER_SERIES)])
def test_problems_of_throttles_take_no_room_of_states_and_causes(brokers: int, shown: int) -> None:
    """With all problems of all brokers. Those of more than 30 brokers may be left out, which is counted."""
    view = dead_broker(moving=True, brokers=brokers)
    problems = {(broker, side, each): 60.0 for broker in range(1, brokers + 1) for side in SIDES for each in Problem}
    throttling = replace(view.derived.throttling, problems=problems)
    lines, families = page(replace(view, derived=replace(view.derived, throttling=throttling)))
    assert offline(lines) == families["kafka_warden_reassignment_stuck"] == DEAD_REPLICAS
    assert families["kafka_warden_replication_throttle_problem_seconds"] == shown

    assert value(lines, "kafka_warden_dropped_verdicts") >= len(problems) - shown


MISSED: Final = {
    "kafka_warden_partition_bytes_in_per_second",
    "kafka_warden_log_dir_move_bytes_remaining",
    "kafka_warden_reassignment_bytes_remaining",
    "kafka_warden_topic_isr_shrinks_total",
}
"""Rules read them, and no alert needs them: without them a text lacks a number, or a warning is early or ends early."""


def test_what_alerts_read_comes_before_details() -> None:
    groups = [yaml.safe_load(file.read_text())["groups"] for file in ALERTS.glob("*.rules.yml")]
    expressions = [rule["expr"] for group in itertools.chain(*groups) for rule in group["rules"]]
    read = {name for each in expressions for name in re.findall(r"(?<![:\w])kafka_warden_\w+", each)}
    ranks = {metric.full_name: metric.rank for metric in CATALOGUE}
    assert {name for name in read if Rank.ALERTS < ranks[name] < Rank.FIXED} == MISSED
    assert {name for name, rank in ranks.items() if rank is Rank.ALERTS} <= read


def test_what_alerts_read_is_counted_apart_when_it_is_left_out() -> None:
    view = scene.view()
    all_lines, full = page(view)
    quiet = re.compile(r'_replica_state{.*state="(moving|in_sync)"|_topic_(offline|under_min_isr)_partitions{.*} 0$')
    routine = [line for line in all_lines if quiet.search(line)]
    lines, families = page(view, budget=1)
    assert families["kafka_warden_reassignment_stuck"] + families["kafka_warden_replica_state"] == 1
    read = [metric.full_name for metric in CATALOGUE if metric.rank <= Rank.ALERTS]
    left_out = sum(full[name] - families[name] for name in read) - len(routine)
    assert value(lines, "kafka_warden_dropped_verdicts") == left_out


@pytest.mark.parametrize("budget", [0, 3, 13, 30, 42, 49, 55, 60, 66, 69])
def test_what_is_shown_and_what_is_counted_add_up(view: View, budget: int) -> None:
    full = page(view)[1]
    lines, families = page(view, budget)
    dropped = {name: count - families[name] for name, count in full.items() if count > families[name]}
    for name, count in dropped.items():
        assert value(lines, f'kafka_warden_dropped_series{{family="{name}"}}') == count
    budgeted = [metric for metric in CATALOGUE if {"topic", "user"} & set(metric.labels) and metric.rest is None]
    first = min((metric.rank for metric in budgeted if metric.full_name in dropped), default=Rank.FIXED)
    assert not any(families[metric.full_name] for metric in budgeted if metric.rank > first)


def by_topic(lines: Iterable[str], name: str) -> dict[str, float]:
    found = (re.fullmatch(rf'{name}{{topic="(.*)"}} (.*)', line) for line in lines)
    return {match[1]: float(match[2]) for match in found if match}


@pytest.mark.parametrize(
    ("bad", "budget", "shown"), [(30, 4000, 100), (30, 80, 30), (30, 20, 20), (WORST + 100, WORST, WORST)]
)
def test_topics_with_offline_partitions_stay_and_the_worst_last(bad: int, budget: int, shown: int) -> None:
    healthy = {f"healthy-{number}": [Partition()] for number in range(70)}
    offline = {f"offline-{number:04}": [Partition(leader=UNKNOWN)] * (1 + number // 10) for number in range(bad)}
    quotas = tuple(QuotaEntity(f"user-{number}", None, {"controller_mutation_rate": 1.0}) for number in range(50))
    lines, families = page(seen(healthy | offline, quotas=quotas), budget)
    found = by_topic(lines, "kafka_warden_topic_offline_partitions")
    assert len(found) == shown
    assert [*found][: min(bad, shown)] == sorted(offline, key=lambda name: -len(offline[name]))[:shown]
    assert all(value == len((healthy | offline)[name]) * (name in offline) for name, value in found.items())
    assert families[QUOTA] == min(50, budget - min(shown, bad))
    dropped = 'kafka_warden_dropped_series{family="kafka_warden_topic_offline_partitions"}'
    if shown < bad + len(healthy):
        assert value(lines, dropped) == bad + len(healthy) - shown
    assert value(lines, "kafka_warden_dropped_verdicts") == max(min(bad, WORST) - shown, 0)


def test_the_largest_topics_are_shown() -> None:
    topics = {f"t{number}": [Partition(end=number, sizes={1: UNKNOWN} if number == 9 else {})] for number in range(10)}
    for room in (1, 3, 9):
        # Four other families come first.
        found = by_topic(page(seen(topics), 4 * len(topics) + room)[0], "kafka_warden_topic_bytes")
        assert found == {f"t{number}": number * 300 for number in range(8, 8 - room, -1)}


def test_families_without_a_bound_are_few() -> None:
    fixed = {metric.full_name for rank, metric, _ in PARTS if rank is Rank.FIXED}
    families = page(scene.view())[1]
    of_process = sum(count for name, count in families.items() if not name.startswith("kafka_warden_"))
    assert of_process > 0
    assert sum(families[name] for name in fixed) + len(CATALOGUE) + of_process < FIXED_SERIES


def order(*values: str) -> list[tuple[Labels, float]]:
    return [(("t", each), 1.0) for each in values]


def shown(budget: Budget, values: Iterable[str]) -> set[str]:
    budget.begin()
    return {partition for _, partition in budget.choose(Rank.RATES, LAG, order(*values))[0]}


def test_partitions_that_change_places_stay() -> None:
    numbers = [str(number) for number in range(30)]
    budget = Budget(20)
    first = shown(budget, numbers)
    assert first == set(numbers[:20])
    swapped = [*numbers[:17], *numbers[22:25], *numbers[17:22], *numbers[25:]]
    assert shown(budget, swapped) == first


def test_the_busiest_are_always_shown() -> None:
    numbers = [str(number) for number in range(30)]
    budget = Budget(20)
    shown(budget, numbers)
    assert shown(budget, ["29", *numbers[:29]]) == {*numbers[:19], "29"}


def test_free_room_is_used() -> None:
    budget = Budget(200)
    budget.begin()
    budget.choose(Rank.DETAILS, LAG, order(*(f"other-{number}" for number in range(15))))
    assert budget.choose(Rank.RATES, LAG, order(*map(str, range(195))))[1] == 10
    budget.begin()
    assert budget.choose(Rank.RATES, LAG, order(*map(str, range(195))))[1] == 0


def test_room_that_changes_a_little_does_not_change_the_page() -> None:
    numbers = [str(number) for number in range(300)]
    budget = Budget(200)
    sizes = []
    for used in (20, 15, 18, 12, 20, 60, 10):
        budget.begin()
        budget.choose(Rank.DETAILS, LAG, order(*(f"other-{number}" for number in range(used))))
        sizes.append(len(budget.choose(Rank.RATES, LAG, order(*numbers))[0]))
    assert sizes == [180, 180, 180, 180, 180, 140, 190]
