"""A real Prometheus and a real Alertmanager on loopback, for the demo and for tests."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import yaml

from sandbox.errors import SandboxError
from sandbox.monitoring_tools import Tools, tools
from sandbox.ports import LOOPBACK
from sandbox.program import Program

ALERTS = Path(__file__).resolve().parent.parent / "alerts"
JOB = "kafka-warden"


@dataclass(frozen=True)
class Sample:
    """One row of a query's answer."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class Line:
    """One row of the answer to a query over time: its values at the steps at which it has one."""

    labels: Mapping[str, str]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Alert:
    """An alert as Prometheus or Alertmanager shows it.

    Attributes:
        labels: `alertname` among them.
        annotations: As rendered.
        state: `pending` or `firing` in Prometheus; `active`, `suppressed` or `unprocessed` in Alertmanager.
        inhibited_by: Fingerprints of the alerts that keep this one from being sent; Alertmanager only.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    state: str
    inhibited_by: Sequence[str] = field(default=())

    @property
    def name(self) -> str:
        """The alert's name."""
        return self.labels["alertname"]


class Alertmanager(Program):
    """Alertmanager with the configuration of `alerts/`, or another.

    Args:
        directory: Everything that it writes; made when it does not exist.
        config: Its configuration file.
        programs: Where the programs are; found or fetched when not given.
    """

    def __init__(
        self, directory: Path, config: Path = ALERTS / "alertmanager.yml", programs: Tools | None = None
    ) -> None:
        self._programs = programs or tools()
        self._config = config
        super().__init__("alertmanager", directory)

    def command(self) -> Sequence[str]:
        """Without clustering, which would listen on all addresses."""
        self._programs.link_assets(self.directory)
        return (
            os.fspath(self._programs.alertmanager),
            f"--config.file={self._config.resolve()}",
            f"--storage.path={self.directory / 'data'}",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",
            "--log.level=warn",
        )

    def alerts(self) -> list[Alert]:
        """Every alert that has not resolved."""
        return [
            Alert(row["labels"], row["annotations"], row["status"]["state"], tuple(row["status"]["inhibitedBy"]))
            for row in self.ask("GET", "/api/v2/alerts")
        ]

    def post(self, alerts: Sequence[Mapping[str, str]]) -> None:
        """Let alerts with these labels fire, as Prometheus would."""
        self.ask("POST", "/api/v2/alerts", [{"labels": dict(labels)} for labels in alerts])


class Prometheus(Program):
    """Prometheus that scrapes sidecars, evaluates rules and notifies an Alertmanager.

    Args:
        directory: Everything that it writes; made when it does not exist.
        targets: Addresses of sidecars, `host:port`.
        rule_files: Rules to load.
        alertmanager: Its address, where there is one.
        scrape_interval: Seconds between two scrapes, and between two evaluations.
        target_labels: Labels that every series of the targets gets.
        programs: Where the programs are; found or fetched when not given.
    """

    def __init__(
        self,
        directory: Path,
        targets: Sequence[str],
        rule_files: Sequence[Path] = (),
        alertmanager: str | None = None,
        scrape_interval: float = 2.0,
        target_labels: Mapping[str, str] | None = None,
        programs: Tools | None = None,
    ) -> None:
        self._programs = programs or tools()
        interval = f"{round(scrape_interval * 1000)}ms"
        scraped = {"targets": list(targets), "labels": dict(target_labels or {})}
        self._scraped: dict[str, object] = {"job_name": JOB, "static_configs": [scraped]}
        self._config = {
            "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
            "rule_files": [os.fspath(path.resolve()) for path in rule_files],
            "scrape_configs": [self._scraped],
        }
        if alertmanager is not None:
            target = {"static_configs": [{"targets": [alertmanager]}]}
            self._config["alerting"] = {"alertmanagers": [target]}
        super().__init__("prometheus", directory)

    def command(self) -> Sequence[str]:
        """Writes its configuration first."""
        self._programs.link_assets(self.directory)
        config = self.directory / "prometheus.yml"
        config.write_text(yaml.safe_dump(self._config, sort_keys=False), encoding="utf-8")
        return (
            os.fspath(self._programs.prometheus),
            f"--config.file={config}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={LOOPBACK}:{self.port}",
            # Numbers in annotations reach Alertmanager when an alert is sent again: by default after a minute.
            "--rules.alert.resend-delay=10s",
            "--log.level=warn",
        )

    def scrape(self, **options: object) -> None:
        """Scrape with other options of a `scrape_config` from now on."""
        if self.pid is None:
            raise SandboxError("Prometheus does not run")
        self._scraped.update(options)
        self.command()
        os.kill(self.pid, signal.SIGHUP)

    def query(self, expression: str) -> list[Sample]:
        """The answer to an instant query, now."""
        rows = self.ask("GET", f"/api/v1/query?query={quote(expression)}")["data"]["result"]
        return [Sample(row["metric"], float(row["value"][1])) for row in rows]

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[Line]:
        """The answer to a query over time.

        Args:
            expression: PromQL.
            start: Unix time of the first step, in seconds.
            end: Unix time that no step is after, in seconds.
            step: Seconds between two steps.
        """
        span = f"start={start:.3f}&end={end:.3f}&step={step:.3f}"
        rows = self.ask("GET", f"/api/v1/query_range?query={quote(expression)}&{span}")["data"]["result"]
        return [Line(row["metric"], tuple(float(value) for _, value in row["values"])) for row in rows]

    def alerts(self) -> list[Alert]:
        """Every alert that is pending or firing."""
        return [
            Alert(row["labels"], row["annotations"], row["state"])
            for row in self.ask("GET", "/api/v1/alerts")["data"]["alerts"]
        ]
