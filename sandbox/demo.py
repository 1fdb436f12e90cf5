"""The demo: a healthy move and a stuck one on a real cluster, from the broker to the alert and back.

`python -m sandbox.demo` ends by itself: exit code 0 when the stuck move paged and both ended, 1 when something of that
did not happen in time or the run could not be kept, 128 + the signal's number after Ctrl-C or SIGTERM.
With DEMO_KEEP=1 it stays until then, and ends with 0. However it ends, what Prometheus saw stays in a folder that
`python -m sandbox.demo_look` serves again (sandbox/demo_folder.py).
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from sandbox import demo_scene as scene
from sandbox.cluster import Cluster
from sandbox.demo_folder import FolderError, default_folder, require_replaceable
from sandbox.demo_grafana import MARK_SCRAPES
from sandbox.demo_keep import Recorder
from sandbox.demo_screens import seen
from sandbox.demo_signals import InterruptedDemo, interrupt_behind, listen
from sandbox.demo_table import Board, Row, Screen
from sandbox.errors import SandboxError
from sandbox.jars import cache_directory, jars
from sandbox.monitoring import ALERTS, Alert, Alertmanager, Prometheus
from sandbox.monitoring_rules import shorten_files
from sandbox.monitoring_sidecar import Sidecar
from sandbox.monitoring_tools import tools
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from sandbox.settings import ClusterSettings

SCRAPE_SECONDS = 2.0
REST_SCRAPES = 2 * MARK_SCRAPES
"""Before anything moves, so that the dashboards show when the moves start."""
RULE_SCALE = 1 / 30
"""How much shorter the rules' durations are here."""
RULE_FLOOR_SECONDS = 10.0
POLLING = {"interval": "2s", "deadline": "1500ms", "log_dirs": "2s"}
REFRESH_SECONDS = 1.0
END_WITHIN_SECONDS = 20.0
"""The stuck move must end within this time after its throttle is raised."""
KEEP_VARIABLE = "DEMO_KEEP"
CLUSTER = "demo"
"""Value of the target label `cluster`."""
ALERT = "KafkaReassignmentStuck"
CAUSE = "more than the throttle lets through"
COMPANIONS = {
    "KafkaReassignmentWillMissItsTime",
    "KafkaThrottleTooLow",
    "KafkaThrottleInconsistent",
    "KafkaThrottleLeftBehind",
}
"""Other alerts that these throttles cause correctly.

Two that the stuck move explains, one for the move that has ended, and one for two moves with limits of their own that
share a broker.
"""

T = TypeVar("T")


class DemoError(SandboxError):
    """A step of the demo did not happen; the message names it in one line."""


class Demo:
    """The programs of one run, and what it waits for."""

    def __init__(self, screen: Screen, directory: Path, stack: ExitStack) -> None:
        self._screen = screen
        self._board = Board([move for transfer in scene.TRANSFERS for move in transfer.moves])
        settings = ClusterSettings(tiered=False, broker_properties=DEFAULT_QUOTA_WINDOW)
        self._say(f"Looking for Kafka, Prometheus and Alertmanager; a first run fetches them into {cache_directory()}")
        jars(settings.version)
        programs = tools()
        self._say("Starting a Kafka cluster: three brokers and a controller, each a process of its own")
        self.cluster = stack.enter_context(Cluster(settings))
        scene.prepare(self.cluster, scene.TRANSFERS, stack)
        self._say("Starting the sidecar, Prometheus and Alertmanager")
        self.sidecar = stack.enter_context(Sidecar(directory / "sidecar", self.cluster, {"poll": POLLING}))
        self.alertmanager = stack.enter_context(Alertmanager(directory / "alertmanager", programs=programs))
        stored = directory / "prometheus"
        rules = shorten_files(sorted(ALERTS.glob("*.rules.yml")), stored / "rules", RULE_SCALE, RULE_FLOOR_SECONDS)
        self.recorder = stack.enter_context(Recorder(default_folder(), stored, CLUSTER, SCRAPE_SECONDS, self._say))
        self.prometheus = stack.enter_context(
            Prometheus(
                stored,
                [self.sidecar.address],
                rules,
                self.alertmanager.address,
                SCRAPE_SECONDS,
                {"cluster": CLUSTER},
                programs,
            )
        )
        self._programs = (self.sidecar, self.alertmanager, self.prometheus)

    def run(self) -> None:
        """Run all steps.

        Raises:
            DemoError: Something did not happen in time.
        """
        self._say_addresses()
        self._wait_for_scrapes(1)
        self.recorder.begin()
        self._wait_for_scrapes(REST_SCRAPES)
        self._start_moves()
        alert = self._wait(self._stuck_alert, 120, f"{ALERT} reaches Alertmanager")
        if alert is not None:
            self.recorder.alert(self._wait(lambda: self._seen(alert), 60, "the status page answers"))
            self._say_alert(alert)
            if CAUSE not in alert.annotations["description"]:
                raise DemoError(f"the alert does not name the cause {CAUSE}")
        self._raise_throttle()
        self._wait_for_the_end()
        # Dashboards mark the end of moves at the first whole step without a move.
        self._wait(self._end_is_scraped, 60, "Prometheus scrapes no move any more")
        self.cluster.admin.clear_throttle([transfer.topic for transfer in scene.TRANSFERS])
        self._say("Both moves have ended and the alert has resolved; the throttles are removed. That is all.")

    def stay(self) -> None:
        """Keep everything running until a signal comes; the exit code is then 0."""
        self._say(f"{KEEP_VARIABLE}=1: everything stays up until Ctrl-C")
        self._say_addresses()
        try:
            while True:
                self._require_programs()
                time.sleep(REFRESH_SECONDS)
        except InterruptedDemo as interrupt:
            interrupt.code = 0
            raise

    def _wait_for_scrapes(self, count: int) -> None:
        scraped = f"count_over_time(kafka_warden_reassigning_partitions[1m]) >= {count}"
        self._wait(lambda: self.prometheus.query(scraped), 60, f"Prometheus scrapes the sidecar {count} times")

    def _end_is_scraped(self) -> bool:
        steps = 2 * MARK_SCRAPES * SCRAPE_SECONDS
        return bool(self.prometheus.query(f"max_over_time(kafka_warden_reassigning_partitions[{steps:g}s]) == 0"))

    def _start_moves(self) -> None:
        for transfer in scene.TRANSFERS:
            scene.start(self.cluster, transfer)
            self._say(
                f"Moving {transfer.topic} from broker {transfer.source} to {transfer.target}: "
                f"throttle {_mb(transfer.limit)}/s, inbound {_mb(transfer.inbound)}/s"
            )
        self._wait(lambda: all(row.progress is not None for row in self._rows()), 60, "both moves are in /metrics")

    def _raise_throttle(self) -> None:
        stuck = next(row for row in self._rows() if row.move in scene.STUCK.moves)
        remaining = stuck.remaining if stuck.remaining is not None else float(scene.STUCK.stored)
        limit = scene.limit_for(scene.STUCK.inbound, remaining, END_WITHIN_SECONDS)
        self._say(
            f"Raising the throttle of {scene.STUCK.topic} from {_mb(scene.STUCK.limit)}/s to {_mb(limit)}/s, "
            f"as the runbook says: (inbound {_mb(scene.STUCK.inbound)}/s "
            f"+ {_mb(remaining)} to go / {END_WITHIN_SECONDS:g} s) / {scene.WAITS:g}"
        )
        scene.set_limit(self.cluster, scene.STUCK, limit)

    def _wait_for_the_end(self) -> None:
        """Wait for three events in any order, and report each."""
        left = {f"{transfer.topic} has moved": transfer.moves for transfer in scene.TRANSFERS}
        resolved = False

        def over() -> bool:
            nonlocal resolved
            ended = {row.move for row in self._rows() if row.ended}
            for what in [what for what, moves in left.items() if ended.issuperset(moves)]:
                del left[what]
                self._say(what)
            if not resolved and self._stuck_alert() is None:
                resolved = True
                self._say("RESOLVED in Alertmanager: " + ALERT)
            return resolved and not left

        self._wait(over, 180, "both moves end and the alert resolves")

    def _seen(self, alert: Alert) -> dict[str, bytes]:
        """Return what a person sees now; nothing if a busy machine keeps the sidecar from an answer."""
        try:
            return seen(self.sidecar, alert)
        except SandboxError:
            return {}

    def _stuck_alert(self) -> Alert | None:
        """Return the expected alert, if it fires.

        Raises:
            DemoError: Another alert fired.
        """
        alerts = [alert for alert in self.alertmanager.alerts() if alert.name not in COMPANIONS]
        for alert in alerts:
            if (alert.name, alert.labels.get("broker")) != (ALERT, str(scene.STUCK.target)):
                raise DemoError(f"a false alert reached Alertmanager: {dict(alert.labels)} {dict(alert.annotations)}")
        return alerts[0] if alerts else None

    def _wait(self, condition: Callable[[], T], seconds: float, what: str) -> T:
        deadline = time.monotonic() + seconds
        while not (answer := condition()):
            self._require_programs()
            if time.monotonic() >= deadline:
                raise DemoError(f"this did not happen within {seconds:g} s: {what}")
            self._screen.show(self._rows())
            time.sleep(REFRESH_SECONDS)
        self._screen.show(self._rows())
        return answer

    def _require_programs(self) -> None:
        for program in self._programs:
            if not program.running:
                raise DemoError(f"{program.name} ended by itself:\n{program.log_tail()}")

    def _rows(self) -> list[Row]:
        return self._board.update(self.prometheus)

    def _say(self, text: str, *details: str) -> None:
        self._screen.say(text, *details)

    def _say_addresses(self) -> None:
        self._say(
            "Everything is up:",
            f"Status page   {self.sidecar.url}/",
            f"Kafka         {self.cluster.bootstrap}",
            f"kafka-warden  {self.sidecar.url}/metrics",
            f"Prometheus    {self.prometheus.url}",
            f"Alertmanager  {self.alertmanager.url}/api/v2/alerts",
            f"The rules are those of {ALERTS.name}/ with every duration shortened to a thirtieth, ten seconds at least",
        )

    def _say_alert(self, alert: Alert) -> None:
        labels = " ".join(f"{name}={value}" for name, value in sorted(alert.labels.items()) if name != "alertname")
        texts = [f"{name}: {alert.annotations[name]}" for name in ("description", "runbook_url")]
        self._say(f"ALERT in Alertmanager: {alert.name}", labels, *texts)


def _mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def main() -> int:
    """Run the demo and return its exit code."""
    try:
        require_replaceable(default_folder())
    except FolderError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    listen()
    directory = Path(tempfile.mkdtemp(prefix="kafka-warden-demo-"))
    code = 0
    try:
        with Screen(Console()) as screen, ExitStack() as stack:
            demo = Demo(screen, directory, stack)
            demo.run()
            if os.environ.get(KEEP_VARIABLE, "0") not in {"", "0"}:
                demo.stay()
    except (SandboxError, InterruptedDemo) as error:
        interrupt = interrupt_behind(error)
        if interrupt is None:
            print(f"demo: {error}\ndemo: the logs are in {directory}", file=sys.stderr)
            return 1
        if isinstance(error, FolderError):
            print(f"demo: {error}", file=sys.stderr)
        print("demo: interrupted, everything is stopped", file=sys.stderr)
        code = interrupt.code
    shutil.rmtree(directory, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
