"""`kafka-warden check`: reads the flags, runs the checks, prints the results, and returns the exit code."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_warden.check.connection import Diagnosis, check_librdkafka, connect, log_in, report_servers, uses_librdkafka
from kafka_warden.check.jmx import check_jmx, compares
from kafka_warden.check.local import certificates, check_local
from kafka_warden.check.poll import Explanation, poll
from kafka_warden.check.results import CHECKS, Report, Result, Status, counts, document, text
from kafka_warden.clients.kafka.kerberos import Kerberos
from kafka_warden.clients.kafka.link import Step
from kafka_warden.clients.kafka.tokens import Tokens
from kafka_warden.clock import monotonic
from kafka_warden.config import Config, values
from kafka_warden.config.options import read_values
from kafka_warden.config.types import RMI
from kafka_warden.errors import ConfigError
from kafka_warden.installed import check_history
from kafka_warden.log import configure, write
from kafka_warden.model import NO_BROKER, Source
from kafka_warden.parts import poller_settings
from kafka_warden.poller import Poller
from kafka_warden.settings.strict import did_you_mean

FAILED: Final = 1
"""Exit code of errors."""
WARNED: Final = 3
"""Exit code of warnings, with `--fail-on warning`."""
NOT_CHECKED: Final = 4
"""Exit code if something was skipped, or nothing was checked, and there is no error."""
PAUSE: Final = 5.0
"""Seconds between two runs with `--wait`."""

GROUPS: Final = {code.rsplit("-", cut)[0] for code in CHECKS for cut in range(code.count("-"))}
"""All codes, and what some of them begin with."""


def _codes(text: str) -> frozenset[str]:
    """Read codes with commas between them; one that others begin with means those, too: KW-ACL is all rights."""
    found: set[str] = set()
    for part in filter(None, (part.strip().upper() for part in text.split(","))):
        named = {code for code in CHECKS if code == part or code.startswith(f"{part}-")}
        if not named:
            raise ValueError(f"{part!r} is no check{did_you_mean(part, GROUPS)}; docs/reference/check.md lists them")
        found |= named
    if not found:
        raise ValueError("expected the codes of checks, such as KW-ACL,KW-JMX")
    return frozenset(found)


def run(load: Callable[[], Config], flags: Mapping[str, Any]) -> int:
    """Print the results of one run: with `--wait` those of the first without errors, or of the last.

    Args:
        load: reads the configuration.
        flags: by name; `None` is a flag that was not set.

    Raises:
        ConfigError: a bad value of a flag, or no check is left.
    """
    read = read_values(flags, {"wait": values.duration, "only": _codes, "skip": _codes})
    codes = (read["only"] or frozenset(CHECKS)) - (read["skip"] or frozenset())
    if not codes:
        raise ConfigError("--skip: no check is left")
    until = monotonic() + (read["wait"] or 0.0)
    while True:
        report = check(load, codes)
        results = report.chosen(codes)
        code = exit_code(results, fail_on_warning=flags["fail_on"] == "warning")
        # A refused login does not get better, and some servers lock accounts.
        if code in (0, WARNED) or report.failed("KW-LOGIN") or monotonic() + PAUSE > until:
            break
        time.sleep(PAUSE)
    write(document(results, code) if flags["json"] else text(results))
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
        report.error("KW-CONFIG", "", str(problem), "correct it (docs/reference/configuration.md)")
        report.skip_rest(CHECKS)
        return report
    configure(config.log.level if "log.level" in config.explicit else "error", config.log.format)
    ignored = ", ".join(config.not_in_effect())
    report.ok("KW-CONFIG", "", f"can be used; without effect: {ignored}" if ignored else "can be used")
    chosen = {CHECKS[code][0] for code in codes}
    if chosen & {"configuration", "files", "web"}:
        check_local(config, report)
    if chosen & {"kafka", "rights", "jmx"}:
        try:
            _check_cluster(config, report, chosen)
        except Exception as failure:  # noqa: BLE001  # a bug must not hide the other results
            report.error("KW-CLUSTER", "", f"unexpected: {failure!r}", "this is a bug, please report it")
    report.skip_rest(code for code in CHECKS if _applies(code, config))
    return report


def _applies(code: str, config: Config) -> bool:
    """Return whether a configuration asks for a check. Others have no line."""
    settings = config.kafka.settings
    conditions = {
        "KW-CERTIFICATE": bool(certificates(config)),
        "KW-HISTORY-FOLDER": config.history.parquet.path is not None,
        "KW-HISTORY-TOPIC": config.history.kafka.topic is not None,
        "KW-WEB-FILE": config.web.config_file is not None,
        "KW-TLS": settings.tls is not None,
        "KW-TOKEN": isinstance(settings.credentials, Tokens | Kerberos),
        "KW-LOGIN": settings.sasl_mechanism is not None,
        "KW-LOGIN-LIBRDKAFKA": uses_librdkafka(config),
        "KW-JMX-JVM": config.jmx.enabled and config.jmx.source == RMI,
        "KW-JMX": config.jmx.enabled,
        "KW-JMX-JMXQUERY": config.jmx.enabled and compares(config),
    }
    return conditions.get(code, True)


def _check_cluster(config: Config, report: Report, chosen: set[str]) -> None:
    """Connect step by step, log in once, poll once, and explain the outcomes. JMX has more time than a poll."""
    poller = Poller(poller_settings(config), config.kafka.settings, None)
    network, silent = poller.links.network, frozenset[str]()
    diagnosis = Diagnosis(network, config.kafka.settings, config.poll.deadline)
    try:
        servers = network.run(lambda: connect(diagnosis))
        server = network.run(lambda: log_in(servers, diagnosis, report))
        snapshot, outcomes = (None, {}) if server is None else poll(config, poller)
        report_servers(servers, report, snapshot, tls=config.kafka.settings.tls is not None)
        if snapshot is not None:
            explanation = Explanation(config, poller, diagnosis, report, servers, snapshot, outcomes)
            silent = network.run(explanation.check)
        elif server is not None and (fault := outcomes[Source.METADATA, NO_BROKER].fault) is not None:
            found = network.run(lambda: diagnosis.explain(diagnosis.link(*server), fault, Step.REQUEST))
            report.error(found.code, str(server), found.text, found.fix)
    finally:
        poller.close()
    if snapshot is not None and uses_librdkafka(config):
        check_librdkafka(config, report)
    if config.jmx.enabled and "jmx" in chosen:
        check_jmx(config, snapshot, silent, report)
