"""Reload: the configuration is read again, and what can change without a restart changes before the next poll."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Final

import structlog

from kafka_warden.config import OPTIONS, Config
from kafka_warden.config.types import KafkaConfig
from kafka_warden.errors import ConfigError, UnusableError
from kafka_warden.lifecycle import notify

log = structlog.get_logger(__name__)

_BOOTSTRAP: Final = ("bootstrap.servers", "metadata.broker.list")

FIXED: Final = (*(f"kafka.{name}" for name in _BOOTSTRAP), "history.kafka.", "history.parquet.", "state.", "web.")
"""Options that need a restart; with a dot at the end, all of a section. Other brokers may be another cluster."""

AGAIN: Final = 30.0
"""Seconds after which a configuration that could not be read is read again: a file that it names may come later."""


class Reloader:
    """Keeps the configuration in force.

    `load` reads it, and may block: one thread calls it. `put_in_force` uses it as a whole or not at all. `before_next`
    calls that between two polls.
    """

    def __init__(
        self,
        config: Config,
        load: Callable[[], Config],
        put_in_force: Callable[[Config], None],
        before_next: Callable[[Callable[[], None]], None],
    ) -> None:
        self.config = config
        self.in_force_since = time.time()
        """Unix time."""
        self.problem: str | None = None
        """Why the configuration as it was last read, or is being read, is not in use as a whole."""
        self._load = load
        self._put_in_force = put_in_force
        self._before_next = before_next
        self._lock = threading.Lock()
        self._requested = self._reading = False
        self._reads = 0
        self._again_at = math.inf
        self._again = False
        """Whether nothing but the time asked for the last read."""
        self._logged = ""
        """The problem that was logged last."""

    def start(self, *, again: bool = False) -> None:
        """Read the configuration on another thread; if that reads now, once more after it.

        `again`: because `due`, so that a problem that is in the log is not logged again.
        """
        with self._lock:
            self._requested, self._again = True, again
            if self._reading:
                return
            try:
                threading.Thread(target=self._read, name="reload", daemon=True).start()
            except RuntimeError:
                self._requested = False
                self._reads += 1
                read = self._reads
            else:
                self._reading = True
                return
        self._refuse(read, ConfigError("no thread can start to read it; reload again"))

    def due(self) -> bool:
        """Return whether the configuration could not be read, and should be read again."""
        return time.monotonic() >= self._again_at

    def _next(self) -> int | None:
        """Return the number of the next read, or `None` without a request."""
        with self._lock:
            self._reading, self._requested = self._requested, False
            if not self._reading:
                return None
            self._reads += 1
            self._again_at = math.inf
            self.problem = "the new configuration is being read, or waits for the next poll"
            return self._reads

    def _read(self) -> None:
        while (read := self._next()) is not None:
            if not self._again:  # systemd logs each reload
                notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                config = self._load()
            except Exception as problem:  # noqa: BLE001  # the old configuration stays, whatever is wrong with the new one
                self._refuse(read, problem)
                self._again_at = time.monotonic() + AGAIN
            else:
                self._before_next(partial(self._use, read, config))

    def _use(self, read: int, wanted: Config) -> None:
        try:
            _refuse_weaker(self.config, wanted)
            options = changed(self.config, wanted)
            config = _with_fixed_options(wanted, self.config)
            self._put_in_force(config)
        except Exception as problem:  # noqa: BLE001  # the same
            self._refuse(read, problem)
            return
        self.config, self.in_force_since = config, time.time()
        fixed = [option for option in options if option.startswith(FIXED)]
        log.info("new configuration in force", changed=[option for option in options if option not in fixed])
        if fixed:
            log.warning("these options keep their old value until a restart", options=fixed)
        self._finish(read, f"these options keep their old value until a restart: {', '.join(fixed)}" if fixed else None)

    def _refuse(self, read: int, problem: Exception) -> None:
        bug = None if isinstance(problem, UnusableError) else problem
        note = log.debug if self._again and str(problem) == self._logged else log.warning
        self._logged = str(problem)
        note("the new configuration is not used; the old one stays in force", problem=str(problem), exc_info=bug)
        self._finish(read, f"the new configuration is not used: {problem}")

    def _finish(self, read: int, problem: str | None) -> None:
        with self._lock:
            # A newer read has a result of its own.
            if read == self._reads:
                self.problem = problem
                notify("READY=1")


def changed(old: Config, new: Config) -> tuple[str, ...]:
    """Return the options whose value differs."""
    options = [option.key for option in OPTIONS if attrgetter(option.key)(old) != attrgetter(option.key)(new)]
    before, after = ({**config.kafka.properties, **config.kafka.secrets} for config in (old, new))
    kafka = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return (*options, *(f"kafka.{name}" for name in kafka))


def _refuse_weaker(old: Config, new: Config) -> None:
    """Raise a ConfigError if an option protects less than before: the file may be cut off."""
    after = _protection(new)
    for option, before in _protection(old).items():
        if after[option] < before:
            raise ConfigError(
                f"{option}: restart the exporter to weaken TLS or the login, or to show or count more topics"
            )


def _protection(config: Config) -> dict[str, int]:
    """Return how much each option protects; more is better."""
    settings = config.kafka.settings
    files = settings.tls.files if settings.tls is not None else None
    return {
        "jmx.tls.ca_file": config.jmx.tls.ca_file is not None,
        "jmx.tls.registry": config.jmx.tls.ca_file is not None and config.jmx.tls.registry,
        "kafka.security.protocol": 2 * (files is not None) + (settings.sasl_mechanism is not None),
        "kafka.sasl.mechanism": (settings.sasl_mechanism or "").startswith(("SCRAM", "GSSAPI")),
        "kafka.ssl.ca.location": files is not None and (files.ca or files.ca_text) is not None,
        "kafka.ssl.crl.location": files is not None and files.revoked is not None,
        "kafka.enable.ssl.certificate.verification": files is not None and files.verify,
        "kafka.ssl.endpoint.identification.algorithm": files is not None and files.verify_hostname,
        "kafka.ssl.cipher.suites": files is not None and bool(files.ciphers),
        "kafka.ssl.enabled.protocols": files.least if files is not None else 0,
        "topics.allow": all(pattern.pattern != ".*" for pattern in config.topics.allow),
        "topics.deny": bool(config.topics.deny),
        "topics.uncounted": bool(config.topics.uncounted),
    }


def _with_fixed_options(new: Config, old: Config) -> Config:
    """Return the new configuration with the old values of `FIXED`, and with the old `kafka` if nothing else differs."""
    kept = {name: value for name, value in old.kafka.properties.items() if name in _BOOTSTRAP}
    properties = {name: value for name, value in new.kafka.properties.items() if name not in _BOOTSTRAP} | kept
    kafka = old.kafka
    if (properties, new.kafka.secrets) != (kafka.properties, kafka.secrets):
        settings = replace(new.kafka.settings, bootstrap=kafka.settings.bootstrap)
        kafka = KafkaConfig(properties, new.kafka.secrets, settings)
    history = replace(new.history, kafka=old.history.kafka, parquet=old.history.parquet)
    return replace(new, kafka=kafka, history=history, state=old.state, web=old.web)
