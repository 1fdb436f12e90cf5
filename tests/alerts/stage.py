"""A real cluster, the sidecar, a real Prometheus with the rules at a scale of time, a real Alertmanager, a webhook."""

import http.client
import os
import signal
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from sandbox import Cluster, ClusterSettings, wait_for
from sandbox.errors import SandboxError
from sandbox.monitoring import ALERTS, Alertmanager, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.monitoring_sidecar import Sidecar
from sandbox.ports import LOOPBACK
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from tests.alerts.notified import Webhook

CLUSTER: Final = "matrix"
SLOW_MACHINE: Final = 180.0
FIRES_WITHIN: Final = 180.0
RESOLVES_WITHIN: Final = 120.0
BESIDE: Final = {"alertname", "cluster", "severity", "exporter", "explained", "data", "tier"}


@dataclass(frozen=True)
class Pace:
    """How fast a stage runs.

    Attributes:
        scale: What durations of the rules and of the notifications are multiplied by; above 0, at most 1.
        floor: Seconds that are added to each; see `kafka_warden.rules.render.rules`.
        scrape: Seconds between two scrapes, and between two evaluations.
        sections: Configuration of the sidecar by section.
    """

    scale: float
    floor: float
    scrape: float
    sections: Mapping[str, Mapping[str, Any]]


NETWORK: Final = {"network": {"bytes_per_second": 125_000_000}}
FAST: Final = Pace(
    1 / 90,
    20.0,
    2.0,
    {"poll": {"interval": "2s", "deadline": "1800ms", "log_dirs": "2s"}, "moves": {"grace": "5s"}, **NETWORK},
)
"""30 s are 20 s, which a restart of the sidecar needs on a busy machine; half an hour is 40 s, two hours are 100 s."""
REAL: Final = Pace(1.0, 0.0, 15.0, NETWORK)
"""The rules as they are, polls every 10 s."""
OFTEN: Final = replace(REAL, scrape=5.0)
"""The same with more scrapes."""


@dataclass(frozen=True, order=True)
class Fired:
    """An alert by its name and its labels, except the labels that all alerts have."""

    alert: str
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> "Fired":
        """The alert that has these labels, of this cluster.

        Raises:
            AssertionError: It is of another cluster, or has no severity.
        """
        assert labels["cluster"] == CLUSTER, labels
        assert labels["severity"] in {"critical", "warning", "info"}, labels
        return cls(
            labels["alertname"],
            tuple(sorted((key, text) for key, text in labels.items() if key not in BESIDE and text)),
        )


def fired(alert: str, **labels: object) -> Fired:
    """An alert that is to come."""
    return Fired(alert, tuple(sorted((key, str(value)) for key, value in labels.items())))


class Watcher(Sidecar):
    """The sidecar, which may be killed and come back with another configuration."""

    login: Mapping[str, str] | None = None
    """User name and password of a sidecar that asks for them over TLS."""

    def is_ready(self) -> bool:
        """Whether it is ready, over TLS where it has a login."""
        if self.login is None:
            return super().is_ready()
        with suppress(OSError, http.client.HTTPException):
            return self.secured("GET", self.ready_path, self.login)[0] == http.HTTPStatus.OK
        return False

    def secured(self, method: str, path: str, login: Mapping[str, str]) -> tuple[int, bytes]:
        """Send one request with a login over TLS, whatever the certificate; return status and body."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(LOOPBACK, self.port, timeout=10, context=context)
        token = b64encode("{username}:{password}".format(**login).encode()).decode()
        try:
            connection.request(method, path, headers={"Authorization": f"Basic {token}"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def kill(self) -> None:
        """SIGKILL."""
        self.end(signal.SIGKILL)

    def restart(self, *, ready: bool = True, **sections: Mapping[str, Any]) -> None:
        """SIGTERM where it runs, and start again with these options by section; None takes one back.

        With `ready`, wait for its first good poll, else only until it answers.
        """
        if self.running:
            self.end(signal.SIGTERM)
        self.configure(**sections)
        self.start()
        wait_for(self.is_ready if ready else self.answers, SLOW_MACHINE, "the sidecar is ready again")

    def configure(self, **sections: Mapping[str, Any]) -> None:
        """Write these options into the configuration file; a running sidecar does not read it."""
        for name, options in sections.items():
            merged = {**self._config.get(name, {}), **options}
            self._config[name] = {key: option for key, option in merged.items() if option is not None}
        self.command()

    def reload(self) -> None:
        """SIGHUP."""
        assert self.pid is not None
        os.kill(self.pid, signal.SIGHUP)

    def answers(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return bool(self.request("GET", self.ready_path)[0])
        return False

    def end(self, number: signal.Signals) -> int:
        """Send a signal that ends it; return its exit code, 128 and the signal where that ended it."""
        if self._guard is None or self.pid is None:
            raise SandboxError("the sidecar does not run")
        os.kill(self.pid, number)
        return self._guard.wait(SLOW_MACHINE)


class Stage:
    """Where faults happen: everything except the cluster runs while its block does.

    Args:
        directory: For everything that is written.
        cluster: The cluster, which runs.
        pace: How fast.

    Attributes:
        sidecar: What watches it.
        prometheus: With all rules of `alerts/`.
        alertmanager: With the configuration of `alerts/` except its receivers.
        webhook: The one receiver of all notifications.
        caused_at: Unix time of the last fault.
    """

    def __init__(self, directory: Path, cluster: Cluster, pace: Pace = FAST) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self.cluster = cluster
        self.pace = pace
        self.caused_at = 0.0

    def __enter__(self) -> Self:
        directory, pace, start = self._directory, self.pace, self._stack.enter_context
        try:
            # The sidecar reads client quotas once a minute only.
            for client, rate in QUOTAS.items():
                self.cluster.admin.set_client_quota(client_id=client, values={"controller_mutation_rate": rate})
            self.sidecar = start(Watcher(directory / "sidecar", self.cluster, pace.sections))
            self.webhook = start(Webhook())
            config = self.webhook.config(directory / "alertmanager.yml", pace.scale, pace.floor)
            self.alertmanager = start(Alertmanager(directory / "alertmanager", config))
            rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), directory / "rules", pace.scale, pace.floor)
            self.prometheus = start(
                Prometheus(
                    directory / "prometheus",
                    [self.sidecar.address],
                    rules,
                    self.alertmanager.address,
                    scrape_interval=pace.scrape,
                    target_labels={"cluster": CLUSTER},
                )
            )
            wait_for(
                lambda: self.value("min(kafka_warden_up)") == 1,
                SLOW_MACHINE,
                "every source answers, and Prometheus knows",
            )
            # Before its first scrape Prometheus knows no sidecar of any cluster.
            wait_for(
                lambda: all("cluster" in alert.labels for alert in self.prometheus.alerts()),
                SLOW_MACHINE,
                "alerts are those of the cluster",
            )
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def caused(self) -> None:
        """Note that a fault begins now."""
        self.caused_at = time.time()

    def until_fired(self, expected: AbstractSet[Fired], within: float) -> float:
        """Wait until all of these fire in Prometheus; return the seconds since the fault.

        Raises:
            AssertionError: It took longer than `within` seconds.
        """
        while not expected <= self.firing():
            seconds = time.time() - self.caused_at
            pending = [(alert.name, alert.state, dict(alert.labels)) for alert in self.prometheus.alerts()]
            assert seconds < within, f"after {seconds:.0f} s not all fire: {sorted(expected)}; in Prometheus: {pending}"
            time.sleep(0.5)
        return time.time() - self.caused_at

    def firing(self) -> set[Fired]:
        return {Fired.of(alert.labels) for alert in self.prometheus.alerts() if alert.state == "firing"}

    def until_quiet(self) -> None:
        """Wait until no alert fires or is about to.

        Raises:
            AssertionError: It did not come to that.
        """
        deadline = time.monotonic() + RESOLVES_WITHIN
        while left := self._left():
            assert time.monotonic() < deadline, f"did not resolve: {left}"
            time.sleep(0.5)

    def until_held(self, expected: AbstractSet[Fired], within: float = FIRES_WITHIN) -> dict[Fired, bool]:
        """Wait until Alertmanager holds all of these; return every alert that it holds, and whether it is muted.

        Raises:
            AssertionError: It did not come to that within so many seconds.
        """
        deadline = time.monotonic() + within
        while missing := expected - (held := self.held()).keys():
            if time.monotonic() > deadline:
                pending = [(alert.name, dict(alert.labels)) for alert in self.prometheus.alerts()]
                raise AssertionError(f"did not fire: {sorted(missing)}; in Prometheus: {pending}")
            time.sleep(0.5)
        return held

    def until_notified(self, expected: AbstractSet[Fired]) -> None:
        """Wait until a notification had each of these.

        Raises:
            WaitTimeoutError: One was not sent.
        """
        wait_for(lambda: expected <= self.notified(), RESOLVES_WITHIN, f"all are sent: {expected}", interval=0.5)

    def notified(self) -> set[Fired]:
        return {alert for each in self.webhook.received for alert in map(Fired.of, each.labels)}

    def notifications_of(self, alerts: AbstractSet[Fired]) -> int:
        """How many notifications had one of these alerts."""
        return sum(not alerts.isdisjoint(map(Fired.of, each.labels)) for each in self.webhook.received)

    def until_gone(self, alert: Fired) -> None:
        """Wait until Alertmanager does not hold an alert any more."""
        wait_for(lambda: alert not in self.held(), RESOLVES_WITHIN, f"{alert} has resolved", interval=0.5)

    def held(self) -> dict[Fired, bool]:
        alerts = self.alertmanager.alerts()
        for alert in alerts:
            assert "<error" not in alert.annotations["description"], alert
        return {Fired.of(alert.labels): bool(alert.inhibited_by) for alert in alerts}

    def fired_for(self, seconds: float) -> set[Fired]:
        """Every alert that fired within the last so many seconds, however shortly."""
        rows = self.prometheus.query(f'count_over_time(ALERTS{{alertstate="firing"}}[{round(seconds * 1000)}ms])')
        return {
            Fired.of({key: text for key, text in row.labels.items() if key not in {"alertstate", "__name__"}})
            for row in rows
        }

    def restart_sidecar(self, **sections: Any) -> None:
        """Restart it, with other options where some are given, and wait until Prometheus has its snapshot."""
        self.sidecar.restart(**sections)
        ready = time.time()
        wait_for(
            lambda: self.value(f"kafka_warden_snapshot_timestamp_seconds > {ready:.3f}"), SLOW_MACHINE, "a new snapshot"
        )

    def reload_sidecar(self, **sections: Any) -> None:
        """Reload it with these options, and wait until Prometheus has seen that they are in force."""
        before = time.time()
        self.sidecar.configure(**sections)
        self.sidecar.reload()
        wait_for(
            lambda: self.value(f"kafka_warden_config_last_reload_success_timestamp_seconds > {before:.3f}"),
            SLOW_MACHINE,
            "the new configuration is in force",
        )

    def value(self, expression: str) -> float | None:
        """The answer to a query that has one row, None where it has none."""
        rows = self.prometheus.query(expression)
        return rows[0].value if rows else None

    def _left(self) -> list[Fired]:
        held = list(self.held())
        return held + [Fired.of({"severity": "info", **alert.labels}) for alert in self.prometheus.alerts()]


def usual_cluster(settings: ClusterSettings) -> Cluster:
    """A cluster with Kafka's own quota window, which faults and their throttles are chosen for."""
    return Cluster(replace(settings, broker_properties={**DEFAULT_QUOTA_WINDOW, **settings.broker_properties}))


QUOTAS: Final = {"batch": 1.0, "steady": 2.0}
"""Mutations a second by client id."""
