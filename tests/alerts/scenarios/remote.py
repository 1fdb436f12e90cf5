"""Remote storage: quotas that limit it, requests to it that fail, and topics that fall behind."""

from collections.abc import Sequence

from tests.alerts.scenarios.changes import broker_down, every, rolling_restart
from tests.alerts.scenarios.quotas import COPY, overdue, tiered
from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
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


def behind(
    minutes: float,
    end: float,
    *,
    step: int = 15,
    instance: str = "a:10073",
    outages: Sequence[tuple[float, float]] = (),
) -> Exporter:
    """Return an exporter of a broker with every problem of remote storage until `end`; they are absent from then on."""
    exporter = Exporter(minutes, brokers=(1, 2), step=step, instance=instance, outages=outages)
    failed: Function = during(0, end, lambda t: t / 5, None)
    tiered(exporter, errors=failed, deletion=end)
    exporter.set("remote_fetch_errors_total", failed, broker=2)
    held_back(exporter, age(0, end))
    overdue(exporter, during(0, end, lambda t: 2e9 + 1e7 * t, None), age(0, end))
    return exporter


def all_of_them(since: float, until: float) -> list[Check]:
    """Each alert fires once for each cause."""
    return [*steady(COPY, since, until, count=CAUSES), *steady(FETCH, since, until, count=2)]


@scenario("R01", core=True)
def quotas_bind() -> Story:
    """Both quotas limit for 25 min: an alert each, 15 min after they began, until 15 and 10 min after they ended."""
    exporter = Exporter(50, brokers=(1, 2))
    tiered(exporter)
    held_back(exporter, during(MINUTE, 26 * MINUTE, lambda t: t - 60))
    checks = [*steady(COPY, 16.75, 40.5, cause="quota"), *steady(FETCH, 16.75, 35.5, cause="quota")]
    return Story([exporter], [silent(until=15.9), *checks, over(FETCH, at=37.5), over(COPY, at=42.5)])


@scenario("R02")
def errors_go_on() -> Story:
    """Copies fail, then deletions: one alert, without a gap, which ends. Reads fail: the other one."""
    exporter = Exporter(110, step=30, brokers=(1, 2))
    tiered(exporter, errors=ramp(10 * MINUTE, 40 * MINUTE, 0, 300))
    exporter.set("remote_delete_errors_total", ramp(40 * MINUTE, 70 * MINUTE, 0, 300), broker=2)
    exporter.set("remote_fetch_errors_total", ramp(10 * MINUTE, 40 * MINUTE, 0, 60), broker=2)
    checks = [*steady(COPY, 28, 70, cause="errors", broker="2"), *steady(FETCH, 31, 48, cause="errors", broker="2")]
    return Story([exporter], [silent(until=25), *checks, over(FETCH, at=62), over(COPY, at=97)], evaluation=30)


@scenario("R03", core=True)
def copies_stand_still() -> Story:
    """Nothing of a topic is copied for 50 min: an alert after 45, until 15 min after it goes on."""
    exporter = Exporter(75, step=60, brokers=(1, 2))
    tiered(exporter)
    overdue(exporter, during(0, 50 * MINUTE, 2e9), during(0, 50 * MINUTE, lambda t: t))
    checks = [silent(until=45), *steady(COPY, 48, 64, cause="lag", topic="orders"), over(COPY, at=67)]
    return Story([exporter], checks, evaluation=60)


@scenario("R04", core=True)
def copies_fall_behind() -> Story:
    """Overdue bytes grow by two segments and shrink by one, although segments are copied all the time: an alert."""
    exporter = Exporter(90, step=60, brokers=(1, 2))
    tiered(exporter)
    overdue(exporter, lambda t: 1.2e9 + 5e8 * (t // 60 - (t // 60 + 1) // 3 * 2))
    return Story([exporter], [silent(until=44), firing(COPY, at=90, cause="lag")], evaluation=60)


@scenario("R05")
def leader_down() -> Story:
    """A topic is behind, and a broker does not answer for 20 min: its alert stays, and ends with the topic."""
    exporter = Exporter(150, step=60, brokers=(1, 2))
    broker_down(exporter, 2, HOUR, 80 * MINUTE)
    tiered(exporter)
    exporter.set("topic_isr_shrinks_total", during(0, 100 * MINUTE, 3, None), topic="orders")
    known = during(HOUR, 80 * MINUTE, None, during(0, 100 * MINUTE, 2e9, None))
    overdue(exporter, known, during(HOUR, 80 * MINUTE, None, age(0, 100 * MINUTE)))
    return Story([exporter], [*steady(COPY, 48, 100, cause="lag"), over(COPY, at=125)], evaluation=60)


@scenario("R06")
def rolling() -> Story:
    """Brokers restart one after the other: copies stop for 8 min, counts begin at 0: no alert."""
    exporter = Exporter(60, brokers=(1, 2))
    rolling_restart(exporter, 5 * MINUTE, down=4 * MINUTE, catch_up=4 * MINUTE)
    tiered(exporter, errors=during(14 * MINUTE, 18 * MINUTE, None, after(18 * MINUTE, 2, 40)))
    first, second = 5 * MINUTE, 14 * MINUTE
    since = during(first, first + 480, age(first), during(second, second + 480, age(second)))
    overdue(exporter, lambda t: 1.3e9 + 1.3e6 * stalled if (stalled := since(t)) else 0.0, since)
    held_back(exporter, during(22 * MINUTE, 27 * MINUTE, lambda t: t - 1320))
    return Story([exporter], [silent(REMOTE, until=60)])


@scenario("R07")
def burst() -> Story:
    """A burst makes 4 GB overdue in 6 min, copied in 6; quotas bind for 12, requests fail: no alert."""
    exporter = Exporter(50, brokers=(1, 2))
    tiered(exporter, errors=after(12 * MINUTE, 3))
    exporter.set("remote_fetch_errors_total", after(12 * MINUTE, 1), broker=2)
    overdue(exporter, during(0, 16 * MINUTE, ramp(600, 960, 0, 4e9), ramp(960, 1320, 4e9, 0)))
    held_back(exporter, during(10 * MINUTE, 22 * MINUTE, lambda t: t - 600))
    return Story([exporter], [silent(until=50)])


@scenario("R08")
def configured_badly() -> Story:
    """Quotas do not fit segments or clients, requests failed long ago, and 500 MB are always overdue: no alert."""
    exporter = Exporter(90, step=60, brokers=(1, 2))
    tiered(exporter, errors=4711)
    for name in ("fetch", "delete"):
        exporter.set(f"remote_{name}_errors_total", 4711, broker=2)
    held_back(exporter, age(0), "copy_quota_below_segment", "client_fetch_quota_above")
    overdue(exporter, 5e8)
    return Story([exporter], [silent(until=90)], evaluation=60)


@scenario("R09")
def restarts() -> Story:
    """The exporter restarts every 6 min: every alert on remote storage begins and stays."""
    return Story([behind(100, 2 * HOUR, outages=every(360, first=330))], all_of_them(55, 100))


@scenario("R10")
def two_exporters() -> Story:
    """Two exporters see the same, one of them since 5 min: one alert each. Overdue copies that only one sees: none."""
    both = [behind(70, 2 * HOUR, step=30), behind(70, 2 * HOUR, step=30, instance="b:10073")]
    held_back(both[1], lambda t: t + 300)
    one = [
        Exporter(70, step=30, brokers=(1, 2), cluster="one", instance=instance) for instance in ("c:10073", "d:10073")
    ]
    for exporter in one:
        tiered(exporter)
        overdue(exporter, 0)
    overdue(one[0], 2e9, age(0))
    return Story([*both, *one], [*all_of_them(50, 70), silent(cluster="one", until=70)], evaluation=30)


@scenario("R11")
def without_exporter() -> Story:
    """The exporter is down for 3 h, and then nothing is wrong any more: the alerts stay, and end."""
    exporter = behind(5 * 60, 4 * HOUR, step=60, outages=[(HOUR, 4 * HOUR)])
    return Story([exporter], [*all_of_them(50, 240), over(REMOTE, at=275)], evaluation=60)


@scenario("R12")
def beans_fail() -> Story:
    """The beans of the broker cannot be read for 3 min, then for 2 h: its alerts are on time, stay, and end."""
    exporter = behind(240, 3 * HOUR, step=30)
    unknown = [(10 * MINUTE, 13 * MINUTE), (HOUR, 3 * HOUR)]
    for first, last in unknown:
        exporter.set("up", during(10 * MINUTE, 13 * MINUTE, 0, during(HOUR, 3 * HOUR, 0, 1)), source="jmx", broker=2)
        for problem in QUOTAS:
            key = {"broker": 2, "problem": problem}
            exporter.add("tiered_storage_problem_seconds", during(first + 30, last, None), **key)
        for name in ("copy", "fetch"):
            exporter.add(f"remote_{name}_errors_total", during(first + 30, last, None), broker=2)
    checks = [*steady(COPY, 17, 180, cause="quota"), *steady(FETCH, 17, 180, cause="quota")]
    checks += [*steady(COPY, 20, 180, cause="errors"), *steady(FETCH, 20, 180, cause="errors")]
    return Story([exporter], [*checks, over(REMOTE, at=215, cause="quota|errors")], evaluation=30)


@scenario("R13")
def broker_removed() -> Story:
    """A broker with every problem stops, and is removed an hour later: its alerts end."""
    exporter = behind(180, HOUR, step=60)
    broker_down(exporter, 2, HOUR, ordered=True)
    exporter.end(2 * HOUR, broker=2)
    checks = [*steady(COPY, 50, 120, cause="quota|errors", count=2), over(REMOTE, at=145, broker="2")]
    return Story([exporter], checks, evaluation=60)


@scenario("R14")
def without_polls() -> Story:
    """A proxy serves one old response with every problem: no alert."""
    exporter = behind(60, 2 * HOUR, step=60)
    exporter.set("snapshot_timestamp_seconds", lambda t: min(t, 60))
    return Story([exporter], [silent(REMOTE, until=60)], evaluation=60)


@scenario("R15")
def one_of_two_sees_quotas() -> Story:
    """One of two exporters sees that quotas limit: one that does not see a problem has no say, so an alert each."""
    exporters = [Exporter(40, brokers=(1, 2), instance=instance) for instance in ("a:10073", "b:10073")]
    for exporter in exporters:
        tiered(exporter)
    held_back(exporters[0], age(0))
    return Story(exporters, [*steady(COPY, 17, 40, cause="quota"), *steady(FETCH, 17, 40, cause="quota")])
