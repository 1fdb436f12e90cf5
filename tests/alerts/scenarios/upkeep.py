"""What a sidecar reports of its files: history, state, certificates and configuration."""

import math

from tests.alerts.reading import reading
from tests.alerts.scenarios.fault import fault
from tests.alerts.scenarios.scenario import Checks, firing, over, scenario, silent, steady
from tests.alerts.scenarios.sidecars import SMALL, frozen
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


@scenario("U01", 55, core=True, brokers=SMALL)
def not_writable(exporter: Exporter) -> Checks:
    """History or the state file cannot be written for 30 min: an alert each after 15 min, until 10 min later."""
    up = during(10 * MINUTE, 40 * MINUTE, 0, 1)
    history(exporter, up)
    exporter.set("state_last_save_successful", up)
    for sink in ("parquet", "state"):
        yield from steady(LOST, 25.5, 49.5, sink=sink)
    yield from (silent(until=24), over(LOST, at=51.5))


@scenario("U02", 100, step=30, brokers=SMALL)
def rows_lost(slow: Exporter) -> Checks:
    """A disk is too slow for each tenth poll: an alert after 10 min. Rows lost now and then, or once: none."""
    seldom = slow.beside(cluster="seldom")
    history(slow, lost=lambda t: max(0.0, (t - 300) // 100) * 167)
    history(seldom, lost=lambda t: 167 * (1 + t // 1800))
    return [silent(until=15), *steady(LOST, 18, 100, cluster="prod"), silent(cluster="seldom", until=100)]


@scenario("U03", 240, step=60, brokers=SMALL)
def no_file(exporter: Exporter) -> Checks:
    """No file is made any more, though nothing fails: an alert after 2 h and 10 min, which ends."""
    history(exporter, written=during(10 * MINUTE, 200 * MINUTE, 600, lambda t: t // HOUR * HOUR))
    return [silent(until=139), *steady(LOST, 142, 209), over(LOST, at=213)]


@scenario("U04", 9 * 60, step=60, brokers=SMALL, outages=[(HOUR, 8 * HOUR)])
def broken_and_gone(exporter: Exporter) -> Checks:
    """History cannot be written, and the exporter is down for 7 h: the alert stays, then ends."""
    history(exporter, during(0, 8 * HOUR, 0, 1))
    return [*steady(LOST, 20, 480), over(LOST, at=500)]


@scenario("U05", 50, step=30, brokers=SMALL)
def turned_off(exporter: Exporter) -> Checks:
    """History that cannot be written is turned off: the alert ends."""
    history(exporter, during(0, 20 * MINUTE, 0, None), lost=during(0, 20 * MINUTE, 0, None))
    exporter.set("sink_last_success_timestamp_seconds", None, sink="parquet")
    return [firing(LOST, at=20), over(LOST, at=37)]


@scenario("U06", 60, brokers=SMALL, cluster="prod", outages=[(1200, 1260), (2400, 2460)])
def restarts(exporter: Exporter) -> Checks:
    """An exporter restarts, and shows history wrongly for 1 or 2 min: the alert stays, and none begins."""
    well = exporter.beside(cluster="well", outages=[(1200, 1260), (2400, 2460)])
    new = ((1260, 1320), (2460, 2520))
    history(exporter, lambda t: float(any(start <= t < end for start, end in new)))
    history(well, lambda t: float(not any(start <= t < start + 120 for start, _ in new)))
    return [*steady(LOST, 18, 60, cluster="prod"), silent(cluster="well", until=60)]


@scenario("U07", 40, step=30, brokers=SMALL)
def two_exporters(one: Exporter) -> Checks:
    """Two exporters cannot write: one alert for each destination. One without polls has nothing to write."""
    other, old = one.beside(instance="b:10073"), one.beside(cluster="old")
    history(one, 0)
    history(one, 0, sink="kafka")
    history(other, 0)
    history(other, sink="kafka")
    frozen(old, 0)
    history(old, 0)
    history(old.beside(instance="b:10073"))
    return [*steady(LOST, 18, 40, count=2, cluster="prod"), silent(LOST, until=40, cluster="old")]


@scenario("U08", 60, brokers=SMALL)
def rolling(exporter: Exporter) -> Checks:
    """Brokers restart, so a topic cannot be written for 3 min each, and a burst loses rows once: no alert."""
    history(exporter, in_each(8 * MINUTE, 180, 0, 1), lost=after(20 * MINUTE, 2000, 0), sink="kafka")
    return [silent(until=60)]


def certificate(exporter: Exporter, expiry: Value, lifetime: Value, name: str = "web") -> None:
    """Let the exporter use a certificate."""
    exporter.set("certificate_expiry_timestamp_seconds", expiry, certificate=name)
    exporter.set("certificate_lifetime_seconds", lifetime, certificate=name)


@scenario("U10", 240, core=True, step=60, brokers=SMALL)
def certificates(exporter: Exporter) -> Checks:
    """Certificates have less than two weeks and a quarter of their life left: an alert 1 h later; renewed, it ends."""
    left = 14 * DAY + HOUR
    certificate(exporter, during(0, 3 * HOUR, left, 90 * DAY), 90 * DAY)
    certificate(exporter, 1.75 * DAY + HOUR, 7 * DAY, "jmx_client")
    certificate(exporter, 5 * DAY, 7 * DAY, "kafka_client")
    certificate(exporter, -HOUR, 30 * DAY, "web_client_ca")
    yield silent(CERTIFICATE, certificate="web|jmx_client", until=119)
    yield from steady(CERTIFICATE, 123, 194, certificate="web")
    yield from steady(CERTIFICATE, 123, 240, certificate="jmx_client")
    yield from steady(CERTIFICATE, 62, 240, certificate="web_client_ca")
    yield over(CERTIFICATE, at=197, certificate="web")
    yield silent(CERTIFICATE, certificate="kafka_client", until=240)


@scenario("U11", 150, step=60, brokers=SMALL, outages=[(4800, 4920)], lost=lambda t: t // 60 % 9 == 5)
def certificates_of_two(one: Exporter) -> Checks:
    """The certificate of one of two exporters expires, and it restarts and is scraped badly: one alert."""
    certificate(one, 5 * DAY, 90 * DAY)
    certificate(one.beside(instance="b:10073"), 60 * DAY, 90 * DAY)
    return steady(CERTIFICATE, 62, 150)


@scenario("U12", 120, step=60, brokers=SMALL)
def short_and_long(one: Exporter) -> Checks:
    """One of two exporters has a certificate of a year, the other one of a week with 5 days left: no alert."""
    certificate(one, 300 * DAY, 365 * DAY)
    certificate(one.beside(instance="b:10073"), 5 * DAY, 7 * DAY)
    return [silent(until=120)]


@scenario("U13", 90, core=True, step=60, brokers=SMALL)
def configuration(one: Exporter) -> Checks:
    """A configuration is not used for an hour: one alert for two exporters after 15 min, until 5 min after it."""
    one.set("config_last_reload_successful", during(10 * MINUTE, 70 * MINUTE, 0, 1))
    one.beside(instance="b:10073").set("web_config_in_use", during(12 * MINUTE, 70 * MINUTE, 0, 1))
    return [silent(until=24.9), *steady(UNUSED, 27, 74), over(UNUSED, at=77)]


@scenario("U14", 60, brokers=SMALL, outages=[(40 * MINUTE, 43 * MINUTE)])
def files_replaced(exporter: Exporter) -> Checks:
    """Files are replaced one after the other within 12 min, and the exporter restarts: no alert."""
    exporter.set("config_last_reload_successful", during(10 * MINUTE, 20 * MINUTE, 0, 1))
    exporter.set("web_config_in_use", during(10 * MINUTE, 22 * MINUTE, 0, 1))
    certificate(exporter, 90 * DAY, 91 * DAY)
    certificate(exporter, math.inf, math.inf, "kafka_client")
    return [silent(until=60)]


@scenario("U15", 60, brokers=SMALL, outages=[(30 * MINUTE, 31 * MINUTE)], lost=lambda t: t // 15 % 12 == 7)
def not_used_and_restarts(exporter: Exporter) -> Checks:
    """One of two exporters does not use its web configuration, loses scrapes and restarts: one alert."""
    exporter.beside(instance="b:10073")
    exporter.set("web_config_in_use", 0)
    return steady(UNUSED, 17, 60)


@reading("history is not written", 40, (29, LOST), (40, LOST), brokers=SMALL, outages=[(1800, math.inf)])
def read_history_lost(exporter: Exporter) -> None:
    other = exporter.beside(instance="b:10073", outages=exporter.outages)
    history(exporter, 0, lost=during(0, 1800, lambda t: 20 * t), written=0)
    history(other, 1, written=lambda t: t)
    other.set("state_last_save_successful", 0)


@reading("certificates expire", 75, (70, "KafkaWardenCertificateExpiring"), step=60, brokers=SMALL)
def read_certificates(exporter: Exporter) -> None:
    certificate(exporter, 5 * DAY, 90 * DAY)
    certificate(exporter.beside(instance="b:10073"), 6 * DAY, 90 * DAY)
    certificate(exporter, -60, 90 * DAY, "kafka_client")


@reading("configurations are not used", 30, (25, "KafkaWardenConfigurationNotUsed"), brokers=SMALL)
def read_configurations(exporter: Exporter) -> None:
    exporter.set("config_last_reload_successful", after(300, 0, 1))
    for each in (exporter, exporter.beside(instance="b:10073")):
        each.set("web_config_in_use", 0)


@fault(LOST, "a write fails")
def state_not_saved(exporter: Exporter, start: float) -> None:
    exporter.set("state_last_save_successful", after(start, 0, 1))


@fault(CERTIFICATE)
def expires_soon(exporter: Exporter, start: float) -> None:
    certificate(exporter, lambda t: t + (9e7 if t < start else 1e5), 9e7)


@fault(UNUSED)
def not_used(exporter: Exporter, start: float) -> None:
    exporter.set("config_last_reload_successful", after(start, 0, 1))
