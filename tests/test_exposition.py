"""The page: the golden text, what the official parsers and promtool make of it, and what it promises for any input."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from kafka_warden.catalogue import CATALOGUE, OF_SNAPSHOT, ExporterState, Metric
from kafka_warden.exposition import LONGEST_LABEL, Exposition, Page
from kafka_warden.model import PollResult, ProcessBeans, QuotaEntity, Source, SourceStatus
from sandbox.monitoring_tools import tools
from tests import scene
from tests.building import Partition, judge, snapshot
from tests.support.processes import run

Golden = Callable[[str, bytes], None]
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
"""Everything that UTF-8 can write: line ends, quotes, backslashes and control characters, too."""

MUTATION_QUOTA = "kafka_warden_controller_mutation_quota_config_per_second"


@pytest.fixture(scope="module")
def page() -> Page:
    view = scene.view()
    return Exposition(scene.PARAMETERS.series_budget, CollectorRegistry()).render(view.exporter, view)


def render(*, sidecar: ExporterState | None = None, budget: int = 20_000, **fields: Any) -> Page:
    seen = snapshot({"quiet": [Partition()]}, **fields)
    view = scene.view_of(judge(seen))
    return Exposition(budget).render(sidecar or view.exporter, view)


def with_quotas(users: Iterable[str]) -> Page:
    """Render a page with one mutation quota a user: the only label with any text that a person typed."""
    return render(quotas=[QuotaEntity(user, None, {"controller_mutation_rate": 1.0}) for user in users])


def series(families: Iterable[Any]) -> Series:
    found: Series = {}
    for family in families:
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found
            found[key] = sample.value
    return found


def users(found: Series) -> set[str]:
    """The label `user` of the quotas on a page."""
    return {dict(labels)["user"] for name, labels in found if name == MUTATION_QUOTA}


def dropped(found: Series) -> dict[str, float]:
    name = "kafka_warden_dropped_series"
    return {dict(labels)["family"]: value for (each, labels), value in found.items() if each == name}


def test_golden_page(page: Page, golden: Golden) -> None:
    golden("metrics.txt", page.text)


def test_golden_page_shows_every_family(page: Page) -> None:
    typed = set(re.findall(r"^# TYPE (\w+)", page.text.decode(), re.MULTILINE))
    assert typed == {metric.full_name for metric in CATALOGUE}


def test_promtool_finds_nothing(page: Page) -> None:
    done = run(tools().promtool, "check", "metrics", given=page.text.decode())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_both_formats_say_the_same(page: Page) -> None:
    text, openmetrics = list(parse_text(page.text.decode())), list(parse_openmetrics(page.openmetrics.decode()))
    assert series(text) == series(openmetrics)
    assert [(each.name, each.type, each.documentation) for each in text] == [
        (f"{each.name}_info", "gauge", each.documentation)
        if each.type == "info"
        else (each.name, each.type, each.documentation)
        for each in openmetrics
    ]


def test_page_without_a_snapshot_is_about_the_sidecar_only() -> None:
    page = Exposition(100).render(scene.sidecar(), None)
    names = {name for name, _ in series(parse_text(page.text.decode()))}
    assert "kafka_warden_up" in names
    assert not names & {metric.full_name for metric in OF_SNAPSHOT}


PROCESS = {
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
    "python_gc_collections_total",
    "python_gc_objects_collected_total",
    "python_gc_objects_uncollectable_total",
    "python_info",
}


@pytest.mark.parametrize("fresh", [True, False])
def test_families_of_the_process_are_on_each_page(*, fresh: bool) -> None:
    page = Exposition(1000).render(scene.sidecar(), scene.view() if fresh else None)
    for found in (series(parse_text(page.text.decode())), series(parse_openmetrics(page.openmetrics.decode()))):
        assert {name for name, _ in found if not name.startswith("kafka_warden_")} == PROCESS
        assert found["process_open_fds", frozenset()] > 0
    assert page.openmetrics.count(b"# EOF") == 1
    assert b"# EOF" not in page.text


@given(st.sets(ANY_TEXT.filter(bool), max_size=5))
def test_any_label_value_survives(names: set[str]) -> None:
    page = with_quotas(names)
    assert users(series(parse_text(page.text.decode()))) == names
    assert users(series(parse_openmetrics(page.openmetrics.decode()))) == names


@given(st.sets(st.text(st.characters(categories=["Cs", "Lu"]), min_size=1), max_size=5))
def test_what_utf8_cannot_write_does_not_break_the_page(names: set[str]) -> None:
    page = with_quotas(names)
    assert len(users(series(parse_text(page.text.decode())))) == len(names)


def test_what_utf8_cannot_write_is_escaped_as_the_format_has_it() -> None:
    page = with_quotas({"a\ud800"})
    assert rb'user="a\\ud800"' in page.text
    assert rb'user="a\\ud800"' in page.openmetrics
    assert users(series(parse_text(page.text.decode()))) == {r"a\ud800"}


@given(st.lists(st.sampled_from(["ada", "", "<default>", None, "grace"])))
def test_no_label_set_appears_twice(names: list[str]) -> None:
    """Two answers for one label set are one series: Prometheus would refuse the whole page."""
    series(parse_text(with_quotas(names).text.decode()))


def test_long_label_values_are_cut_and_stay_distinct() -> None:
    names = {"a" * 255, *("a" * 30_000 + end for end in "xyz"), "\ud800" * 300, '"' * 300}
    cut = users(series(parse_text(with_quotas(names).text.decode())))
    found = users(series(parse_text(with_quotas(names | cut).text.decode())))
    assert (len(cut), len(found)) == (len(names), 2 * len(names) - 1)
    assert cut < found
    assert {len(name) for name in cut if "\\" not in name} == {255, LONGEST_LABEL}


def test_of_two_answers_the_first_is_shown() -> None:
    rates = ((name, {"controller_mutation_rate": rate}) for name, rate in (("", 1.0), ("<default>", 2.0)))
    page = render(quotas=[QuotaEntity(name, None, values) for name, values in rates])
    shown = [value for (name, _), value in series(parse_text(page.text.decode())).items() if name == MUTATION_QUOTA]
    assert shown == [1.0]


@given(st.floats(allow_nan=True, allow_infinity=True, width=64))
def test_unknown_is_absent_and_every_other_number_survives(number: float) -> None:
    page = render(quotas=[QuotaEntity("ada", None, {"controller_mutation_rate": number})])
    found = {name: value for (name, _), value in series(parse_text(page.text.decode())).items()}
    assert not any(math.isnan(value) for value in found.values())
    if math.isnan(number):
        assert MUTATION_QUOTA not in found
    else:
        assert found[MUTATION_QUOTA] == number
    if number == math.inf:
        assert b'{user="ada",client_id=""} +Inf\n' in page.text


def test_family_without_series_is_not_mentioned() -> None:
    page = render(quotas=[])
    assert MUTATION_QUOTA.encode() not in page.text + page.openmetrics


def test_budget_cuts_from_the_end_and_counts() -> None:
    partitions = [Partition(replicas=(1, 2), out=(2,), lag={2: 5}, end=10_000 * number) for number in range(1, 6)]
    grown = [replace(partition, end=partition.end * 2) for partition in partitions]
    derived = judge(snapshot({"t": partitions}), snapshot({"t": grown}, clock=10.0))
    # Seven families of five come first: the state, seconds out of sync and under-replicated, lag and time behind; and
    # six of one topic.
    page = Exposition(43).render(scene.sidecar(), scene.view_of(derived))
    found = series(parse_text(page.text.decode()))
    rates = {dict(labels)["partition"] for name, labels in found if name.endswith("_partition_bytes_in_per_second")}
    assert rates == {"3", "4"}
    cut = {"kafka_warden_partition_bytes_in_per_second": 3, "kafka_warden_partition_end_offset_total": 5}
    assert dropped(found) == cut
    assert ("kafka_warden_broker_replicas", frozenset({("broker", "1")})) in found


def test_clients_past_the_limit_of_jmx_are_counted() -> None:
    derived = judge(
        snapshot(
            {"t": [Partition(replicas=(1, 2))]},
            controller=101,
            controller_beans={"101": ProcessBeans(0.0, {}, left_out=7), "102": ProcessBeans(0.0, {}, left_out=90)},
            broker_beans={1: ProcessBeans(0.0, {}, left_out=2), 2: ProcessBeans(0.0, {}, left_out=3)},
        )
    )
    page = Exposition(1000).render(scene.sidecar(), scene.view_of(derived))
    counts = {"kafka_warden_controller_mutation_tokens": 7, "kafka_warden_client_request_throttle_seconds": 5}
    assert dropped(series(parse_text(page.text.decode()))) == counts


def test_topics_that_may_not_have_series_have_none(page: Page) -> None:
    assert b"hidden" not in page.text
    assert b"kafka_warden_cluster_partitions 6\n" in page.text


def test_wrong_number_of_labels_is_refused() -> None:
    metric = Metric("wrong", "Too few labels", ("a", "b"), lambda _: [(("1",), 1.0)], source="Metadata")
    with pytest.raises(ValueError, match="labels"):
        list(Exposition(10)._lines(metric, dict(metric.read(scene.view())), {}))


def test_pages_of_one_exposition_do_not_mix() -> None:
    exposition, view = Exposition(1000), scene.view()
    first = exposition.render(view.exporter, view)
    status = SourceStatus(up=False, duration=1.0, last_success=None, errors={})
    changed = replace(view.exporter, polled=PollResult(status={(Source.METADATA, ""): status}))
    second = series(parse_text(exposition.render(changed, view).text.decode()))
    labels = frozenset({("source", "metadata"), ("broker", "")})
    assert series(parse_text(first.text.decode()))["kafka_warden_up", labels] == 1
    assert second["kafka_warden_up", labels] == 0
