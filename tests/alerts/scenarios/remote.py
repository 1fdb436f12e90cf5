"""Remote storage: quotas that limit it, requests to it that fail, and topics that fall behind."""

from tests.alerts.reading import reading
from tests.alerts.scenarios.changes import broker_down, every, rolling_restart
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.quotas import COPY, overdue, tiered
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Function, Value, after, age, during, ramp
from tests.support.promtool import Check

FETCH = "KafkaRemoteFetchHeldBack"
REMOTE = f"{COPY}|{FETCH}"
QUOTAS = ("copy_held_back", "fetch_held_back")
CAUSES = 3
"""Causes of COPY; FETCH has the first two."""


def held_back(exporter: Exporter, value: Value, *problems: str) -> None:
    """Let the quotas of broker 2 limit it; `value` is for how many seconds they have."""
    for problem in problems or QUOTAS:
        exporter.set("tiered_storage_problem_seconds", value, broker=2, problem=problem)


def behind(exporter: Exporter, end: float) -> None:
    """Let broker 2 have every problem of remote storage until `end`; they are absent from then on."""
    failed: Function = during(0, end, lambda t: t / 5, None)
    tiered(exporter, errors=failed, deletion=end)
    exporter.set("remote_fetch_errors_total", failed, broker=2)
    held_back(exporter, age(0, end))
    overdue(exporter, during(0, end, lambda t: 2e9 + 1e7 * t, None), age(0, end))


def all_of_them(since: float, until: float) -> list[Check]:
    """Each alert fires once for each cause."""
    return [*steady(COPY, since, until, count=CAUSES), *steady(FETCH, since, until, count=2)]


@scenario("R01", 50, core=True, brokers=(1, 2))
def quotas_bind(exporter: Exporter) -> Checks:
    """Both quotas limit for 25 min: an alert each, 15 min after they began, until 15 and 10 min after they ended."""
    tiered(exporter)
    held_back(exporter, during(MINUTE, 26 * MINUTE, lambda t: t - 60))
    yield from (*steady(COPY, 16.75, 40.5, cause="quota"), *steady(FETCH, 16.75, 35.5, cause="quota"))
    yield from (silent(until=15.9), over(FETCH, at=37.5), over(COPY, at=42.5))


@scenario("R02", 110, step=30, brokers=(1, 2))
def errors_go_on(exporter: Exporter) -> Checks:
    """Copies fail, then deletions: one alert, without a gap, which ends. Reads fail: the other one."""
    tiered(exporter, errors=ramp(10 * MINUTE, 40 * MINUTE, 0, 300))
    exporter.set("remote_delete_errors_total", ramp(40 * MINUTE, 70 * MINUTE, 0, 300), broker=2)
    exporter.set("remote_fetch_errors_total", ramp(10 * MINUTE, 40 * MINUTE, 0, 60), broker=2)
    yield from (*steady(COPY, 28, 70, cause="errors", broker="2"), *steady(FETCH, 31, 48, cause="errors", broker="2"))
    yield from (silent(until=25), over(FETCH, at=62), over(COPY, at=97))


@scenario("R03", 75, core=True, step=60, brokers=(1, 2))
def copies_stand_still(exporter: Exporter) -> Checks:
    """Nothing of a topic is copied for 50 min: an alert after 45, until 15 min after it goes on."""
    tiered(exporter)
    overdue(exporter, during(0, 50 * MINUTE, 2e9), during(0, 50 * MINUTE, lambda t: t))
    return [silent(until=45), *steady(COPY, 48, 64, cause="lag", topic="orders"), over(COPY, at=67)]


@scenario("R16", 75, step=60, brokers=(1, 2))
def denied_copies_stand_still(exporter: Exporter) -> Checks:
    """Nothing of the topics of topics.deny is copied for 50 min: the alert names none."""
    tiered(exporter)
    overdue(exporter, during(0, 50 * MINUTE, 2e9), during(0, 50 * MINUTE, lambda t: t), topic="")
    return [silent(until=45), *steady(COPY, 48, 64, cause="lag"), over(COPY, at=67)]


@scenario("R04", 90, core=True, step=60, brokers=(1, 2))
def copies_fall_behind(exporter: Exporter) -> Checks:
    """Overdue bytes grow by two segments and shrink by one, although segments are copied all the time: an alert."""
    tiered(exporter)
    overdue(exporter, lambda t: 1.2e9 + 5e8 * (t // 60 - (t // 60 + 1) // 3 * 2))
    return [silent(until=44), firing(COPY, at=90, cause="lag")]


@scenario("R05", 150, step=60, brokers=(1, 2))
def leader_down(exporter: Exporter) -> Checks:
    """A topic and those of topics.deny are behind; a broker is silent for 20 min: alerts stay, and end with them."""
    broker_down(exporter, 2, HOUR, 80 * MINUTE)
    tiered(exporter)
    exporter.set("topic_isr_shrinks_total", during(0, 100 * MINUTE, 3, None), topic="orders")
    known = during(HOUR, 80 * MINUTE, None, during(0, 100 * MINUTE, 2e9, None))
    for topic in ("orders", ""):
        overdue(exporter, known, during(HOUR, 80 * MINUTE, None, age(0, 100 * MINUTE)), topic=topic)
    return [*steady(COPY, 48, 100, count=2, cause="lag"), over(COPY, at=125)]


@scenario("R06", 60, brokers=(1, 2))
def rolling(exporter: Exporter) -> Checks:
    """Brokers restart one after the other: copies stop for 8 min, counts begin at 0: no alert."""
    rolling_restart(exporter, 5 * MINUTE, down=4 * MINUTE, catch_up=4 * MINUTE)
    tiered(exporter, errors=during(14 * MINUTE, 18 * MINUTE, None, after(18 * MINUTE, 2, 40)))
    first, second = 5 * MINUTE, 14 * MINUTE
    since = during(first, first + 480, age(first), during(second, second + 480, age(second)))
    overdue(exporter, lambda t: 1.3e9 + 1.3e6 * stalled if (stalled := since(t)) else 0.0, since)
    held_back(exporter, during(22 * MINUTE, 27 * MINUTE, lambda t: t - 1320))
    return [silent(REMOTE, until=60)]


@scenario("R07", 50, brokers=(1, 2))
def burst(exporter: Exporter) -> Checks:
    """A burst makes 4 GB overdue in 6 min, copied in 6; quotas bind for 12, requests fail: no alert."""
    tiered(exporter, errors=after(12 * MINUTE, 3))
    exporter.set("remote_fetch_errors_total", after(12 * MINUTE, 1), broker=2)
    overdue(exporter, during(0, 16 * MINUTE, ramp(600, 960, 0, 4e9), ramp(960, 1320, 4e9, 0)))
    held_back(exporter, during(10 * MINUTE, 22 * MINUTE, lambda t: t - 600))
    return [silent(until=50)]


@scenario("R08", 90, step=60, brokers=(1, 2))
def configured_badly(exporter: Exporter) -> Checks:
    """Quotas do not fit segments or clients, requests failed long ago, and 500 MB are always overdue: no alert."""
    tiered(exporter, errors=4711)
    for name in ("fetch", "delete"):
        exporter.set(f"remote_{name}_errors_total", 4711, broker=2)
    held_back(exporter, age(0), "copy_quota_below_segment", "client_fetch_quota_above")
    overdue(exporter, 5e8)
    return [silent(until=90)]


@scenario("R09", 100, brokers=(1, 2), outages=every(360, first=330))
def restarts(exporter: Exporter) -> Checks:
    """The exporter restarts every 6 min: every alert on remote storage begins and stays."""
    behind(exporter, 2 * HOUR)
    return all_of_them(55, 100)


@scenario("R10", 70, step=30, brokers=(1, 2))
def two_exporters(first: Exporter) -> Checks:
    """Two exporters see the same, one of them since 5 min: one alert each. Overdue copies that only one sees: none."""
    second = first.beside(instance="b:10073")
    for exporter in (first, second):
        behind(exporter, 2 * HOUR)
    held_back(second, lambda t: t + 300)
    one, other = (first.beside(cluster="one", instance=instance) for instance in ("c:10073", "d:10073"))
    for exporter in (one, other):
        tiered(exporter)
        overdue(exporter, 0)
    overdue(one, 2e9, age(0))
    return [*all_of_them(50, 70), silent(cluster="one", until=70)]


@scenario("R11", 5 * 60, step=60, brokers=(1, 2), outages=[(HOUR, 4 * HOUR)])
def without_exporter(exporter: Exporter) -> Checks:
    """The exporter is down for 3 h, and then nothing is wrong any more: the alerts stay, and end."""
    behind(exporter, 4 * HOUR)
    return [*all_of_them(50, 240), over(REMOTE, at=275)]


@scenario("R12", 240, step=30, brokers=(1, 2))
def beans_fail(exporter: Exporter) -> Checks:
    """The beans of the broker cannot be read for 3 min, then for 2 h: its alerts are on time, stay, and end."""
    behind(exporter, 3 * HOUR)
    exporter.set("up", during(10 * MINUTE, 13 * MINUTE, 0, during(HOUR, 3 * HOUR, 0, 1)), source="jmx", broker=2)
    for first, last in ((10 * MINUTE, 13 * MINUTE), (HOUR, 3 * HOUR)):
        for problem in QUOTAS:
            key = {"broker": 2, "problem": problem}
            exporter.add("tiered_storage_problem_seconds", during(first + 30, last, None), **key)
        for name in ("copy", "fetch"):
            exporter.add(f"remote_{name}_errors_total", during(first + 30, last, None), broker=2)
    for alert in (COPY, FETCH):
        yield from (*steady(alert, 17, 180, cause="quota"), *steady(alert, 20, 180, cause="errors"))
    yield over(REMOTE, at=215, cause="quota|errors")


@scenario("R13", 180, step=60, brokers=(1, 2))
def broker_removed(exporter: Exporter) -> Checks:
    """A broker with every problem stops, and is removed an hour later: its alerts end."""
    behind(exporter, HOUR)
    broker_down(exporter, 2, HOUR, ordered=True)
    exporter.end(2 * HOUR, broker=2)
    return [*steady(COPY, 50, 120, cause="quota|errors", count=2), over(REMOTE, at=145, broker="2")]


@scenario("R14", 60, step=60, brokers=(1, 2))
def without_polls(exporter: Exporter) -> Checks:
    """A proxy serves one old response with every problem: no alert."""
    behind(exporter, 2 * HOUR)
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, 60))
    return [silent(REMOTE, until=60)]


@scenario("R15", 40, brokers=(1, 2))
def one_of_two_sees_quotas(exporter: Exporter) -> Checks:
    """One of two exporters sees that quotas limit: one that does not see a problem has no say, so an alert each."""
    tiered(exporter)
    tiered(exporter.beside(instance="b:10073"))
    held_back(exporter, age(0))
    return [*steady(COPY, 17, 40, cause="quota"), *steady(FETCH, 17, 40, cause="quota")]


@reading("quotas hold back remote storage", 30, (20, COPY), (20, FETCH), step=30, brokers=(1, 2))
def read_remote_quotas(exporter: Exporter) -> None:
    tiered(exporter)
    held_back(exporter, age(0))
    for what in ("copy", "fetch"):
        exporter.set(f"remote_{what}_quota_bytes_per_second", 1e6, broker=2)
        exporter.set(f"remote_{what}_bytes_per_second", 0.97e6, broker=2)


@reading("remote storage fails", 65, (49, COPY), (49, FETCH), (62, COPY), (62, FETCH), step=30, brokers=(1, 2))
def read_remote_errors(exporter: Exporter) -> None:
    tiered(exporter, errors=lambda t: t / 30)
    exporter.set("remote_delete_errors_total", lambda t: t / 60, broker=2)
    exporter.set("remote_fetch_errors_total", lambda t: t / 20, broker=2)
    overdue(exporter, 2.5e9, age(0))
    exporter.set("up", after(3000, 0, 1), source="metadata", broker="")


@fault(COPY, "quota")
def copy_quota(exporter: Exporter, start: float) -> None:
    tiered(exporter)
    exporter.set("tiered_storage_problem_seconds", after(start, age(start)), broker=2, problem="copy_held_back")


@fault(FETCH, "quota")
def fetch_quota(exporter: Exporter, start: float) -> None:
    tiered(exporter)
    exporter.set("tiered_storage_problem_seconds", after(start, age(start)), broker=2, problem="fetch_held_back")


@fault(COPY, "errors")
def copies_fail(exporter: Exporter, start: float) -> None:
    tiered(exporter, errors=after(start, lambda t: (t - start) // 10), copied=lambda t: 1e6 * min(t, start))


@fault(COPY, "nothing is copied")
def copies_stop(exporter: Exporter, start: float) -> None:
    tiered(exporter)
    overdue(exporter, 2e9, after(start, age(start)))
