"""SIGHUP: the configuration is read again, and what can change without a restart changes before the next poll."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import structlog

from kafka_warden.config import OPTIONS, Config
from kafka_warden.config.types import KafkaConfig
from kafka_warden.errors import UnusableError
from kafka_warden.lifecycle import notify

log = structlog.get_logger(__name__)

_BOOTSTRAP: Final = ("bootstrap.servers", "metadata.broker.list")

FIXED: Final = (*(f"kafka.{name}" for name in _BOOTSTRAP), "history.kafka.", "history.parquet.", "state.", "web.")
"""Options that need a restart; with a dot at the end, all of a section. Other brokers may be another cluster."""


@dataclass(slots=True)
class ReloadStatus:
    """The last reload; before the first one, the start."""

    successful: bool = True
    succeeded_at: float = 0.0
    """Unix time since which the configuration is in force."""
    needs_restart: tuple[str, ...] = ()
    """Options that were changed and keep their old value until a restart."""
    problem: str | None = None
    """Why the configuration as it is now is not in use."""


class Reloader:
    """Keeps the configuration in force.

    `load` reads it, and may block. `prepare` makes all that it needs, and returns what puts it in force, which
    `before_next` calls between two polls. So a configuration is used as a whole or not at all.
    """

    def __init__(
        self,
        config: Config,
        load: Callable[[], Config],
        prepare: Callable[[Config], Callable[[], None]],
        before_next: Callable[[Callable[[], None]], None],
    ) -> None:
        self.config = config
        self.status = ReloadStatus(succeeded_at=time.time())
        self._load = load
        self._prepare = prepare
        self._before_next = before_next
        self._running = threading.Lock()

    def start(self) -> None:
        """Reload on another thread. Requests that arrive while one runs are served one after the other."""
        threading.Thread(target=self._reload, name="reload", daemon=True).start()

    def _reload(self) -> None:
        with self._running:
            notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                wanted = self._load()
                options = changed(self.config, wanted)
                config = _with_fixed_options(wanted, self.config)
                put_in_force = self._prepare(config)
            except Exception as problem:  # noqa: BLE001  # the old configuration stays, whatever is wrong with the new one
                self._refuse(problem)
            else:
                self._before_next(lambda: self._use(config, options, put_in_force))

    def _use(self, config: Config, options: tuple[str, ...], put_in_force: Callable[[], None]) -> None:
        try:
            put_in_force()
        except Exception as problem:  # noqa: BLE001  # the same
            self._refuse(problem)
            return
        fixed = tuple(option for option in options if option.startswith(FIXED))
        self.config, self.status = config, ReloadStatus(succeeded_at=time.time(), needs_restart=fixed)
        notify("READY=1")
        log.info("new configuration in force", changed=[option for option in options if option not in fixed])
        if fixed:
            log.warning("these options keep their old value until a restart", options=fixed)

    def _refuse(self, problem: Exception) -> None:
        text = f"the new configuration is not used: {problem}"
        self.status = replace(self.status, successful=False, problem=text)
        notify("READY=1")
        bug = None if isinstance(problem, UnusableError) else problem
        log.warning("the new configuration is not used; the old one stays in force", problem=str(problem), exc_info=bug)


def changed(old: Config, new: Config) -> tuple[str, ...]:
    """Return the options whose value differs."""
    options = [option.key for option in OPTIONS if attrgetter(option.key)(old) != attrgetter(option.key)(new)]
    before, after = ({**config.kafka.properties, **config.kafka.secrets} for config in (old, new))
    kafka = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return (*options, *(f"kafka.{name}" for name in kafka))


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
