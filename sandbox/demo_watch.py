"""Prometheus and Alertmanager of the demo: what they know of the stuck move, and the record of the run."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from kafka_warden.rules.render import LinkPrefixes
from sandbox import demo_scene as scene
from sandbox.demo_folder import default_folder
from sandbox.demo_grafana import MARK_SCRAPES
from sandbox.demo_keep import Recorder
from sandbox.demo_look import GRAFANA_PORT
from sandbox.errors import SandboxError
from sandbox.monitoring import ALERTS, Alert, Alertmanager, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.monitoring_sidecar import Sidecar
from sandbox.monitoring_tools import Tools
from sandbox.ports import LOOPBACK

SCRAPE_SECONDS: Final = 2.0
RULE_SCALE: Final = 1 / 30
"""How much shorter the rules' durations are here."""
RULE_FLOOR_SECONDS: Final = 10.0
CLUSTER: Final = "shop-eu"
"""Value of the target label `cluster`."""
ALERT: Final = "KafkaReassignmentStuck"
COMPANIONS: Final = {
    "KafkaReassignmentWillMissItsTime",
    "KafkaThrottleTooLow",
    "KafkaThrottleInconsistent",
    "KafkaThrottleLeftBehind",
}
"""Other alerts that these throttles cause correctly.

Two that the stuck move explains, one for the move that has ended, and one for two moves with limits of their own that
share a broker.
"""
_MOVING: Final = "kafka_warden_reassigning_partitions"


class FalseAlertError(SandboxError):
    """Another alert than the expected ones fired."""


class Watch:
    """Both programs, with the rules of this repository at a smaller scale of time.

    Args:
        directory: For everything that they write.
        exporter: What Prometheus scrapes; it serves the runbooks that alerts link to.
        programs: Paths of the programs.
        stack: What ends them.
        log: Receives the place where the run is kept.
    """

    def __init__(
        self, directory: Path, exporter: Sidecar, programs: Tools, stack: ExitStack, log: Callable[[str], None]
    ) -> None:
        self.alertmanager = stack.enter_context(Alertmanager(directory / "alertmanager", programs=programs))
        stored = directory / "prometheus"
        links = LinkPrefixes(f"{exporter.url}/", f"http://{LOOPBACK}:{GRAFANA_PORT}")
        files = sorted(ALERTS.glob("*.rules.yml"))
        rules = shorten_files(files, stored / "rules", RULE_SCALE, RULE_FLOOR_SECONDS, links)
        self.recorder = stack.enter_context(Recorder(default_folder(), stored, CLUSTER, SCRAPE_SECONDS, log))
        self.prometheus = stack.enter_context(
            Prometheus(
                stored,
                [exporter.address],
                rules,
                self.alertmanager.address,
                SCRAPE_SECONDS,
                {"cluster": CLUSTER},
                programs,
            )
        )

    def has_scraped(self, count: int) -> bool:
        """Whether Prometheus has scraped the exporter so often."""
        return bool(self.prometheus.query(f"count_over_time({_MOVING}[1m]) >= {count}"))

    def saw_the_end(self) -> bool:
        """Whether nothing moves any more: dashboards mark the first whole step without a move."""
        steps = 2 * MARK_SCRAPES * SCRAPE_SECONDS
        return bool(self.prometheus.query(f"max_over_time({_MOVING}[{steps:g}s]) == 0"))

    def stuck_alert(self) -> Alert | None:
        """Return the expected alert, if it fires.

        Raises:
            FalseAlertError: Another alert fired.
        """
        alerts = [alert for alert in self.alertmanager.alerts() if alert.name not in COMPANIONS]
        for alert in alerts:
            if (alert.name, alert.labels.get("broker")) != (ALERT, str(scene.STUCK.target)):
                raise FalseAlertError(
                    f"a false alert reached Alertmanager: {dict(alert.labels)} {dict(alert.annotations)}"
                )
        return alerts[0] if alerts else None
