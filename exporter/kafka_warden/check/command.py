"""`kafka-warden check`: runs the checks, prints the results, and returns the exit code."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from kafka_warden.check import output
from kafka_warden.check.commands import Commands
from kafka_warden.check.diagnosis import Connector
from kafka_warden.check.jmx import check_jmx, compares
from kafka_warden.check.kafka import Reached, check_connection
from kafka_warden.check.local import certificates, check_local
from kafka_warden.check.results import BY_CODE, Report, Result, Status, counts
from kafka_warden.check.rights import Rights
from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.librdkafka import librdkafka, refusal
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.clock import monotonic
from kafka_warden.config import Config
from kafka_warden.config.types import RMI
from kafka_warden.errors import ConfigError
from kafka_warden.installed import check_history
from kafka_warden.log import configure
from kafka_warden.standard_streams import write

FAILED: Final = 1
"""Exit code of errors."""
WARNED: Final = 3
"""Exit code of warnings, with `--fail-on warning`."""
NOT_CHECKED: Final = 4
"""Exit code if something was skipped, or nothing was checked, and there is no error."""
PAUSE: Final = 5.0
"""Seconds between two runs with `--wait`."""


@dataclass(frozen=True, slots=True)
class Request:
    """The flags. `codes`: the checks to report. `wait`: seconds until which errors may go away."""

    codes: frozenset[str]
    fail_on_warning: bool = False
    wait: float = 0.0
    as_json: bool = False


def run(load: Callable[[], Config], request: Request) -> int:
    """Print the results of one run: with `wait` those of the first without errors, or of the last."""
    until = monotonic() + request.wait
    while True:
        report = check(load, request.codes)
        results = report.chosen(request.codes)
        code = exit_code(results, fail_on_warning=request.fail_on_warning)
        # A refused login does not get better, and some servers lock accounts.
        if code in (0, WARNED) or report.failed("KW-LOGIN") or monotonic() + PAUSE > until:
            break
        time.sleep(PAUSE)
    write(output.document(results, code) if request.as_json else output.text(results))
    return code


def exit_code(results: list[Result], *, fail_on_warning: bool) -> int:
    """Return the exit code. Skipped is not passed."""
    found = counts(results)
    if found[Status.ERROR]:
        return FAILED
    if found[Status.SKIPPED] or not results:
        return NOT_CHECKED
    return WARNED if found[Status.WARNING] and fail_on_warning else 0


def check(load: Callable[[], Config], codes: frozenset[str]) -> Report:
    """Run the checks once. Those that are not chosen run as far as chosen ones need them."""
    report = Report()
    try:
        config = load()
        check_history(config)
    except ConfigError as problem:
        report.error("KW-CONFIG", "", str(problem), "correct it (docs/configuration.md)")
        report.skip_rest(BY_CODE)
        return report
    configure(config.log.level if "log.level" in config.explicit else "error", config.log.format)
    ignored = ", ".join(config.not_in_effect())
    report.ok("KW-CONFIG", "", f"can be used; without effect: {ignored}" if ignored else "can be used")
    chosen = {BY_CODE[code].category for code in codes}
    if chosen & {"configuration", "files", "web"}:
        check_local(config, report)
    if chosen & {"kafka", "rights", "jmx"}:
        try:
            _check_cluster(config, report, chosen)
        except Exception as failure:  # noqa: BLE001  # a reply of an unexpected shape must not hide the other results
            report.error("KW-CLUSTER", "", f"unexpected: {failure!r}", "this is a bug, please report it")
    report.skip_rest(applicable(config))
    return report


def applicable(config: Config) -> frozenset[str]:
    """Return the codes of the checks that a configuration asks for. Others have no line."""
    settings = config.kafka.settings
    unless = {
        "KW-CERTIFICATE": bool(certificates(config)),
        "KW-HISTORY-FOLDER": config.history.parquet.path is not None,
        "KW-HISTORY-TOPIC": config.history.kafka.topic is not None,
        "KW-WEB-FILE": config.web.config_file is not None,
        "KW-TLS": settings.tls is not None,
        "KW-TOKEN": isinstance(settings.credentials, Tokens | Kerberos),
        "KW-LOGIN": settings.sasl_mechanism is not None,
        "KW-LOGIN-LIBRDKAFKA": _compares_login(config),
        "KW-JMX-JVM": config.jmx.enabled and config.jmx.source == RMI,
        "KW-JMX": config.jmx.enabled,
        "KW-JMX-JMXQUERY": config.jmx.enabled and compares(config),
    }
    return frozenset(code for code in BY_CODE if unless.get(code, True))


def _compares_login(config: Config) -> bool:
    if refusal(config.kafka.settings) is not None:
        return False
    wanted = config.kafka.settings.sasl_mechanism is not None or config.history.kafka.topic is not None
    return wanted and find_spec("confluent_kafka") is not None


def _check_cluster(config: Config, report: Report, chosen: set[str]) -> None:
    network = Network()
    connector = Connector(network, config.kafka.settings, config.poll.deadline)

    async def ask() -> Reached | None:
        reached = await check_connection(config, connector, report)
        if reached is not None:
            try:
                if chosen & {"kafka", "rights"}:
                    await Rights(config, reached, connector, report, Commands(config.kafka.settings)).check()
            finally:
                reached.close()
        return reached

    try:
        reached = network.run(ask)
    finally:
        network.close()
    if reached is not None and _compares_login(config):
        _check_librdkafka(config, report)
    if config.jmx.enabled and "jmx" in chosen:
        layout, unreachable = (None, set[str]()) if reached is None else (reached.layout, reached.unreachable)
        check_jmx(config, layout, unreachable, report)


def _check_librdkafka(config: Config, report: Report) -> None:
    from kafka_warden.check.librdkafka_login import connects  # noqa: PLC0415  # an optional library

    code = "KW-LOGIN-LIBRDKAFKA"
    kafka = config.kafka
    problem = connects(librdkafka(kafka.properties, kafka.secrets, kafka.settings), config.poll.deadline)
    if problem is None:
        report.ok(code, "", "connects, too")
        return
    needed = config.history.kafka.topic is not None
    note = report.error if needed else report.warning
    note(code, "", problem, "history.kafka.topic needs it" if needed else "only history in a topic needs librdkafka")
