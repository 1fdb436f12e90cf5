"""Prometheus over the data of a run of the demo, and addresses of queries in it."""

import math
import os
import shutil
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import yaml

from sandbox.demo_folder import DATA, RULES, FolderError, Run, new_demo
from sandbox.errors import SandboxError
from sandbox.monitoring import ALERTS
from sandbox.monitoring_tools import Tools
from sandbox.ports import LOOPBACK
from sandbox.program import Program

FOR_EVER = "100y"
QUERIES = (
    ("Remaining bytes, by replica", "kafka_warden_reassignment_bytes_remaining"),
    ("ETA in seconds, without infinity", "kafka_warden_reassignment_eta_seconds"),
    ("Copy rate, in bytes per second", "kafka_warden_reassignment_bytes_per_second"),
    ("Stuck replicas, by cause", "kafka_warden_reassignment_stuck"),
    ("Throttles, in bytes per second", "kafka_warden_replication_throttle_bytes_per_second < Inf"),
    ("Alerts that fired", 'ALERTS{alertstate="firing"}'),
)
"""Title and PromQL of the most useful queries."""
MINUTE = 60
PAGE = "kafka_warden_build_info"
"""A metric that every sidecar always has."""


class Archive(Program):
    """Prometheus on a copy of a run's data: it scrapes nothing, evaluates no rule, and deletes nothing.

    The copy keeps the folder as the run left it, whatever Prometheus does to its data when it starts. The runbooks are
    served at `/user/alerts/runbooks/`.

    Args:
        directory: For everything that it writes; created if missing.
        folder: Folder of the run.
        port: On loopback; 0 takes a free one.
        programs: Paths of the programs.

    Raises:
        SandboxError: The port is taken.
    """

    def __init__(self, directory: Path, folder: Path, port: int, programs: Tools) -> None:
        super().__init__("prometheus", directory)
        self._folder = folder
        self._programs = programs
        if port:
            require_free(port)
            self.port = port

    def command(self) -> Sequence[str]:
        """Copies the data and writes its configuration first."""
        self._programs.link_assets(self.directory)
        shutil.copytree(self._folder / DATA, self.directory / "data")
        runbooks = self.directory / "user" / ALERTS.name / "runbooks"
        runbooks.parent.mkdir(parents=True)
        runbooks.symlink_to(ALERTS / "runbooks")
        config = self.directory / "prometheus.yml"
        config.write_text(yaml.safe_dump(self._config()), encoding="utf-8")
        return (
            os.fspath(self._programs.prometheus),
            f"--config.file={config}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--storage.tsdb.retention.time={FOR_EVER}",
            f"--web.listen-address={self.address}",
            f"--web.user-assets={self.directory / 'user'}",
            "--log.level=warn",
        )

    def require_run(self, run: Run) -> None:
        """Check that Prometheus has the data of the run.

        Raises:
            FolderError: It has no data of that time.
        """
        # Rounded up: the last scrape of the run counts, and a run of less than a second is not empty.
        expression = f"last_over_time({PAGE}[{math.ceil(run.seconds) + 1}s])"
        asked = urlencode({"query": expression, "time": math.ceil(run.ended)})
        if not self.ask("GET", f"/api/v1/query?{asked}")["data"]["result"]:
            raise FolderError(f"{self._folder / DATA} has nothing of the time of its run: {new_demo(self._folder)}")

    def links(self, run: Run) -> list[tuple[str, str]]:
        """Title and address of each query, drawn over the time of the run."""
        # Whole minutes: the forms of older versions of Prometheus do not take seconds.
        end = math.ceil(run.ended / MINUTE) * MINUTE
        drawn = {
            "g0.tab": 0,
            "g0.range_input": f"{math.ceil(end - run.began)}s",
            "g0.end_input": f"{datetime.fromtimestamp(end, UTC):%Y-%m-%d %H:%M}",
        }
        return [(title, f"{self.url}/graph?{urlencode({'g0.expr': expr} | drawn)}") for title, expr in QUERIES]

    def _config(self) -> dict[str, object]:
        # Prometheus evaluates at multiples of the interval since 1970: the first is in 2070. Since the sidecar is not
        # scraped any more, the rules would otherwise fire that it is down, and write that to the data.
        rules = [os.fspath(file.resolve()) for file in sorted((self._folder / RULES).glob("*.rules.yml"))]
        return {"global": {"evaluation_interval": FOR_EVER}, "rule_files": rules}


def require_free(port: int) -> None:
    """Refuse a port that is in use.

    Raises:
        SandboxError: The message says how to choose another one.
    """
    with socket.socket() as probe:
        # Without it closed connections would block the port for a minute.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise SandboxError(
                f"port {port} of {LOOPBACK} is taken ({error.strerror}): stop the program on it, or use a free port "
                "with `make demo-look ARGS='--port 0 --grafana-port 0'`"
            ) from error
