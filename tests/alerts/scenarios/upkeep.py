"""What a sidecar reports of its files: history, state, certificates and configuration."""

import math

from tests.alerts.scenarios.scenario import Story, firing, over, scenario, silent, steady
from tests.alerts.scenarios.sidecars import SMALL, frozen, pair
from tests.support.exporter_pages import Exporter
from tests.support.over_time import HOUR, MINUTE, Value, after, during, in_each

LOST, CERTIFICATE, UNUSED = (
    "KafkaWardenHistoryLost",
    "KafkaWardenCertificateExpiring",
    "KafkaWardenConfigurationNotUsed",
)
DAY = 24 * HOUR


def history(
    exporter: Exporter, up: Value = 1, *, lost: Value = 0, written: Value = lambda t: t, sink: str = "parquet"
) -> None:
    """Let the exporter write history."""
    exporter.set("sink_up", up, sink=sink)
    exporter.set("sink_dropped_total", lost, sink=sink, reason="queue_full")
    exporter.set("sink_last_success_timestamp_seconds", written, sink=sink)


@scenario("U01", core=True)
def not_writable() -> Story:
    """History or the state file cannot be written for 30 min: an alert each after 15 min, until 10 min later."""
    exporter = Exporter(55, brokers=SMALL)
    up = during(10 * MINUTE, 40 * MINUTE, 0, 1)
    history(exporter, up)
    exporter.set("state_last_save_successful", up)
    checks = [check for sink in ("parquet", "state") for check in steady(LOST, 25.5, 49.5, sink=sink)]
    return Story([exporter], [silent(until=24), *checks, over(LOST, at=51.5)])


@scenario("U02")
def rows_lost() -> Story:
    """A disk is too slow for each tenth poll: an alert after 10 min. Rows lost now and then, or once: none."""
    slow, seldom = Exporter(100, step=30, brokers=SMALL), Exporter(100, step=30, brokers=SMALL, cluster="seldom")
    history(slow, lost=lambda t: max(0.0, (t - 300) // 100) * 167)
    history(seldom, lost=lambda t: 167 * (1 + t // 1800))
    checks = [silent(until=15), *steady(LOST, 18, 100, cluster="prod"), silent(cluster="seldom", until=100)]
    return Story([slow, seldom], checks, evaluation=30)


@scenario("U03")
def no_file() -> Story:
    """No file is made any more, though nothing fails: an alert after 2 h and 10 min, which ends."""
    exporter = Exporter(240, step=60, brokers=SMALL)
    history(exporter, written=during(10 * MINUTE, 200 * MINUTE, 600, lambda t: t // HOUR * HOUR))
    return Story([exporter], [silent(until=139), *steady(LOST, 142, 209), over(LOST, at=213)], evaluation=60)


@scenario("U04")
def broken_and_gone() -> Story:
    """History cannot be written, and the exporter is down for 7 h: the alert stays, then ends."""
    exporter = Exporter(9 * 60, step=60, brokers=SMALL, outages=[(HOUR, 8 * HOUR)])
    history(exporter, during(0, 8 * HOUR, 0, 1))
    return Story([exporter], [*steady(LOST, 20, 480), over(LOST, at=500)], evaluation=60)


@scenario("U05")
def turned_off() -> Story:
    """History that cannot be written is turned off: the alert ends."""
    exporter = Exporter(50, step=30, brokers=SMALL)
    history(exporter, during(0, 20 * MINUTE, 0, None), lost=during(0, 20 * MINUTE, 0, None))
    exporter.set("sink_last_success_timestamp_seconds", None, sink="parquet")
    return Story([exporter], [firing(LOST, at=20), over(LOST, at=37)], evaluation=30)


@scenario("U06")
def restarts() -> Story:
    """An exporter restarts, and shows history wrongly for 1 or 2 min: the alert stays, and none begins."""
    exporter, well = (
        Exporter(60, brokers=SMALL, cluster=name, outages=[(1200, 1260), (2400, 2460)]) for name in ("prod", "well")
    )
    new = ((1260, 1320), (2460, 2520))
    history(exporter, lambda t: float(any(start <= t < end for start, end in new)))
    history(well, lambda t: float(not any(start <= t < start + 120 for start, _ in new)))
    return Story([exporter, well], [*steady(LOST, 18, 60, cluster="prod"), silent(cluster="well", until=60)])


@scenario("U07")
def two_exporters() -> Story:
    """Two exporters cannot write: one alert for each destination. One without polls has nothing to write."""
    one, other = pair(40, step=30)
    history(one, 0)
    history(one, 0, sink="kafka")
    history(other, 0)
    history(other, sink="kafka")
    old = pair(40, "old", step=30)
    frozen(old[0], 0)
    history(old[0], 0)
    history(old[1])
    checks = [*steady(LOST, 18, 40, count=2, cluster="prod"), silent(LOST, until=40, cluster="old")]
    return Story([one, other, *old], checks, evaluation=30)


@scenario("U08")
def rolling() -> Story:
    """Brokers restart, so a topic cannot be written for 3 min each, and a burst loses rows once: no alert."""
    exporter = Exporter(60, brokers=SMALL)
    history(exporter, in_each(8 * MINUTE, 180, 0, 1), lost=after(20 * MINUTE, 2000, 0), sink="kafka")
    return Story([exporter], [silent(until=60)])


def certificate(exporter: Exporter, expiry: Value, lifetime: Value, name: str = "web") -> None:
    """Let the exporter use a certificate."""
    exporter.set("certificate_expiry_timestamp_seconds", expiry, certificate=name)
    exporter.set("certificate_lifetime_seconds", lifetime, certificate=name)


@scenario("U10", core=True)
def certificates() -> Story:
    """Certificates have less than two weeks and a quarter of their life left: an alert 1 h later; renewed, it ends."""
    exporter = Exporter(240, step=60, brokers=SMALL)
    left = 14 * DAY + HOUR
    certificate(exporter, during(0, 3 * HOUR, left, 90 * DAY), 90 * DAY)
    certificate(exporter, 1.75 * DAY + HOUR, 7 * DAY, "jmx_client")
    certificate(exporter, 5 * DAY, 7 * DAY, "kafka_client")
    certificate(exporter, -HOUR, 30 * DAY, "web_client_ca")
    checks = [
        silent(CERTIFICATE, certificate="web|jmx_client", until=119),
        *steady(CERTIFICATE, 123, 194, certificate="web"),
        *steady(CERTIFICATE, 123, 240, certificate="jmx_client"),
        *steady(CERTIFICATE, 62, 240, certificate="web_client_ca"),
        over(CERTIFICATE, at=197, certificate="web"),
        silent(CERTIFICATE, certificate="kafka_client", until=240),
    ]
    return Story([exporter], checks, evaluation=60)


@scenario("U11")
def certificates_of_two() -> Story:
    """The certificate of one of two exporters expires, and it restarts and is scraped badly: one alert."""
    one = Exporter(150, step=60, brokers=SMALL, outages=[(80 * MINUTE, 82 * MINUTE)], lost=lambda t: t // 60 % 9 == 5)
    other = Exporter(150, step=60, brokers=SMALL, instance="b:10073")
    certificate(one, 5 * DAY, 90 * DAY)
    certificate(other, 60 * DAY, 90 * DAY)
    return Story([one, other], [*steady(CERTIFICATE, 62, 150)], evaluation=60)


@scenario("U12")
def short_and_long() -> Story:
    """One of two exporters has a certificate of a year, the other one of a week with 5 days left: no alert."""
    one, other = pair(120, step=60)
    certificate(one, 300 * DAY, 365 * DAY)
    certificate(other, 5 * DAY, 7 * DAY)
    return Story([one, other], [silent(until=120)], evaluation=60)


@scenario("U13", core=True)
def configuration() -> Story:
    """A configuration is not used for an hour: one alert for two exporters after 15 min, until 5 min after it."""
    one, other = pair(90, step=60)
    one.set("config_last_reload_successful", during(10 * MINUTE, 70 * MINUTE, 0, 1))
    other.set("web_config_in_use", during(12 * MINUTE, 70 * MINUTE, 0, 1))
    checks = [silent(until=24.9), *steady(UNUSED, 27, 74), over(UNUSED, at=77)]
    return Story([one, other], checks, evaluation=60)


@scenario("U14")
def files_replaced() -> Story:
    """Files are replaced one after the other within 12 min, and the exporter restarts: no alert."""
    exporter = Exporter(60, brokers=SMALL, outages=[(40 * MINUTE, 43 * MINUTE)])
    exporter.set("config_last_reload_successful", during(10 * MINUTE, 20 * MINUTE, 0, 1))
    exporter.set("web_config_in_use", during(10 * MINUTE, 22 * MINUTE, 0, 1))
    certificate(exporter, 90 * DAY, 91 * DAY)
    certificate(exporter, math.inf, math.inf, "kafka_client")
    return Story([exporter], [silent(until=60)])


@scenario("U15")
def not_used_and_restarts() -> Story:
    """One of two exporters does not use its web configuration, loses scrapes and restarts: one alert."""
    exporter = Exporter(60, brokers=SMALL, outages=[(30 * MINUTE, 31 * MINUTE)], lost=lambda t: t // 15 % 12 == 7)
    exporter.set("web_config_in_use", 0)
    return Story([exporter, Exporter(60, brokers=SMALL, instance="b:10073")], [*steady(UNUSED, 17, 60)])
