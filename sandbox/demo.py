"""The demo: a healthy move and a stuck one on a real cluster, from the broker to the alert and back.

`python -m sandbox.demo` plays it, and on a terminal it then stays until Ctrl-C. Exit code 0 when the stuck move was
found, paged and ended, 1 when something of that did not happen in time or the run could not be kept, 128 + the
signal's number if a signal came before. However it ends, the data of Prometheus stay in a folder that
`python -m sandbox.demo_look` serves again (sandbox/demo_folder.py). Without Prometheus it plays without an alert.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar

from rich.console import Console

from sandbox import demo_scene as scene
from sandbox.cluster import Cluster
from sandbox.demo_folder import FolderError, default_folder, require_replaceable
from sandbox.demo_grafana import MARK_SCRAPES
from sandbox.demo_screens import seen
from sandbox.demo_signals import InterruptedDemo, interrupt_behind, listen
from sandbox.demo_table import Board, Row, Screen
from sandbox.demo_watch import ALERT, CLUSTER, Watch
from sandbox.errors import SandboxError
from sandbox.jars import cache_directory, jars
from sandbox.monitoring import Alert
from sandbox.monitoring_sidecar import Sidecar
from sandbox.monitoring_tools import Tools, tools
from sandbox.properties import DEFAULT_QUOTA_WINDOW
from sandbox.settings import ClusterSettings

REST_SCRAPES: Final = 2 * MARK_SCRAPES
"""Before anything moves, so that the dashboards show when the moves start."""
SETTINGS: Final = {
    "cluster": {"name": CLUSTER},
    "poll": {"interval": "2s", "deadline": "1500ms", "log_dirs": "2s"},
    "moves": {"deadline": "4m"},
}
REFRESH_SECONDS: Final = 1.0
LASTS_MINUTES: Final = 5
LOOK_SECONDS: Final = 45.0
FREE_BYTES: Final = 8_000_000_000
CAUSE: Final = "more than the throttle lets through"
T = TypeVar("T")


class DemoError(SandboxError):
    """A step of the demo did not happen; the message names it in one line."""


class Demo:
    """The programs of one run, and what it waits for.

    Args:
        screen: Where it prints.
        directory: For everything that the programs write.
        stack: What ends them.
        stays: Whether they go on when everything has happened.
    """

    def __init__(self, screen: Screen, directory: Path, stack: ExitStack, *, stays: bool) -> None:
        self._screen = screen
        self._stays = stays
        self._board = Board([move for transfer in scene.TRANSFERS for move in transfer.moves])
        settings = ClusterSettings(tiered=False, broker_properties=DEFAULT_QUOTA_WINDOW)
        after = "Then everything stays up until Ctrl-C" if stays else "Then everything ends"
        self._say(f"This takes about {LASTS_MINUTES} minutes and up to 7 GB of disk in {directory.parent}. {after}.")
        self._say(f"Looking for Kafka, Prometheus and Alertmanager; a first run fetches them into {cache_directory()}")
        jars(settings.version)
        programs = self._programs_or_none()
        self._say("Starting a Kafka cluster: three brokers and a controller, each a process of its own")
        self.cluster = stack.enter_context(Cluster(settings))
        stored = sum(sum(transfer.sizes) for transfer in scene.TRANSFERS)
        self._say(f"Writing {stored / 1e9:.1f} GB into {' and '.join(each.topic for each in scene.TRANSFERS)}")
        scene.fill_others(self.cluster)
        scene.prepare(self.cluster, scene.TRANSFERS, stack)
        self._say("Starting the exporter" + (", Prometheus and Alertmanager" if programs else ""))
        self.exporter = stack.enter_context(Sidecar(directory / "exporter", self.cluster, SETTINGS))
        self.watch = Watch(directory, self.exporter, programs, stack, self._say) if programs else None

    def run(self) -> None:
        """Run all steps.

        Raises:
            DemoError: Something did not happen in time.
        """
        self._say_addresses()
        if self.watch is not None:
            self._scraped(self.watch, 1)
            self.watch.recorder.begin()
            self._scraped(self.watch, REST_SCRAPES)
        self._start_moves()
        self._wait(self._is_stuck, 120, "the exporter reports the stuck move")
        self._say(f"STUCK on the status page: {scene.STUCK.topic}", *self._problems())
        if self.watch is not None:
            self._expect_alert(self.watch)
        if self._stays:
            self._say(f"Look at {self.exporter.url}/ now: the throttle is raised in {LOOK_SECONDS:g} s")
            until = time.monotonic() + LOOK_SECONDS
            self._wait(lambda: time.monotonic() >= until, 2 * LOOK_SECONDS, "time passes")
        self._raise_throttle()
        self._wait_for_the_end()
        if self.watch is not None:
            self._wait(self.watch.saw_the_end, 60, "Prometheus scrapes no move any more")
        self.cluster.admin.clear_throttle([transfer.topic for transfer in scene.TRANSFERS])
        resolved = "" if self.watch is None else " and the alert has resolved"
        self._say(f"Both moves have ended{resolved}; the throttles are removed. That is all.")

    def stay(self) -> None:
        """Keep everything running until a signal comes; the exit code is then 0."""
        self._say_addresses()
        self._say(
            "Everything stays up until Ctrl-C. Move a topic yourself: kafka-reassign-partitions knows the cluster."
        )
        try:
            while True:
                self._require_programs()
                time.sleep(REFRESH_SECONDS)
        except InterruptedDemo as interrupt:
            interrupt.code = 0
            raise

    def _programs_or_none(self) -> Tools | None:
        try:
            return tools()
        except SandboxError as error:
            if interrupt_behind(error) is not None:
                raise
            self._say("Prometheus and Alertmanager are missing: no alert, and nothing for make demo-look", str(error))
            return None

    def _scraped(self, watch: Watch, count: int) -> None:
        self._wait(lambda: watch.has_scraped(count), 60, f"Prometheus scrapes the exporter {count} times")

    def _start_moves(self) -> None:
        for transfer in scene.TRANSFERS:
            scene.start(self.cluster, transfer)
            self._say(
                f"Moving {transfer.topic}, {sum(transfer.sizes) / 1e6:.0f} MB, "
                f"from broker {transfer.source} to {transfer.target}: "
                f"throttle {_mb(transfer.limit)}/s, inbound {_mb(transfer.inbound)}/s"
            )
        self._wait(lambda: all(row.progress is not None for row in self._rows()), 60, "both moves are in the API")

    def _is_stuck(self) -> bool:
        return any(row.cause for row in self._rows() if row.move in scene.STUCK.moves)

    def _problems(self) -> list[str]:
        return [f"{each['severity']}: {each['sentence']}" for each in self._api("problems") or ()]

    def _expect_alert(self, watch: Watch) -> None:
        alert = self._wait(watch.stuck_alert, 120, f"{ALERT} reaches Alertmanager")
        if alert is None:
            return
        watch.recorder.alert(self._wait(lambda: self._seen(alert), 60, "the status page answers"))
        self._say_alert(alert)
        if CAUSE not in alert.annotations["description"]:
            raise DemoError(f"the alert does not name the cause {CAUSE}")

    def _raise_throttle(self) -> None:
        """Set what the exporter recommends, as the alert and the status page say."""
        limit = self._wait(self._recommended, 60, "the exporter recommends a throttle")
        self._say(
            f"Raising the throttle of {scene.STUCK.topic} from {_mb(scene.STUCK.limit)}/s to {_mb(limit)}/s, "
            f"the recommended throttle: all moves then end within {SETTINGS['moves']['deadline']}"
        )
        scene.set_limit(self.cluster, scene.STUCK, limit)

    def _recommended(self) -> int:
        return round((self._api("cluster") or {}).get("recommended_throttle") or 0)

    def _wait_for_the_end(self) -> None:
        """Wait for three events in any order, and report each."""
        left = {f"{transfer.topic} has moved": transfer.moves for transfer in scene.TRANSFERS}
        resolved = self.watch is None

        def over() -> bool:
            nonlocal resolved
            ended = {row.move for row in self._rows() if row.ended}
            for what in [what for what, moves in left.items() if ended.issuperset(moves)]:
                del left[what]
                self._say(what)
            if not resolved and self.watch is not None and self.watch.stuck_alert() is None:
                resolved = True
                self._say("RESOLVED in Alertmanager: " + ALERT)
            return resolved and not left

        self._wait(over, 420, "both moves end" + ("" if self.watch is None else " and the alert resolves"))

    def _seen(self, alert: Alert) -> dict[str, bytes]:
        """Return what a person sees now; nothing if a busy machine keeps the exporter from an answer."""
        try:
            return seen(self.exporter, alert)
        except SandboxError:
            return {}

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
        watched = () if self.watch is None else (self.watch.alertmanager, self.watch.prometheus)
        for program in (self.exporter, *watched):
            if not program.running:
                raise DemoError(f"{program.name} ended by itself:\n{program.log_tail()}")

    def _rows(self) -> list[Row]:
        moves = self._api("moves")
        return self._board.current if moves is None else self._board.update(moves)

    def _api(self, name: str) -> Any:
        """Return the data of a path of the API; None if the exporter has none now."""
        try:
            answer: Mapping[str, Any] = self.exporter.ask("GET", f"/api/v1/{name}")
        except SandboxError:
            return None
        return answer["data"]

    def _say(self, text: str, *details: str) -> None:
        self._screen.say(text, *details)

    def _say_addresses(self) -> None:
        watched = [] if self.watch is None else [("Prometheus", self.watch.prometheus.url)]
        if self.watch is not None:
            watched.append(("Alertmanager", f"{self.watch.alertmanager.url}/api/v2/alerts"))
        addresses = [
            ("Status page", f"{self.exporter.url}/"),
            ("Metrics", f"{self.exporter.url}/metrics"),
            *watched,
            ("Kafka", self.cluster.bootstrap),
        ]
        scaled = "Durations in the alert rules are a thirtieth of the real ones, 10 s at least."
        lines = [f"{name:<13} {address}" for name, address in addresses]
        self._say("Everything is up:", *lines, *([] if self.watch is None else [scaled]))

    def _say_alert(self, alert: Alert) -> None:
        labels = " ".join(f"{name}={value}" for name, value in sorted(alert.labels.items()) if name != "alertname")
        texts = [f"{name}: {alert.annotations[name]}" for name in ("summary", "description", "runbook_url")]
        self._say(f"ALERT in Alertmanager: {alert.name}", labels, *texts)


def _mb(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def main() -> int:
    """Run the demo and return its exit code."""
    directory = Path(tempfile.gettempdir())
    free = shutil.disk_usage(directory).free
    try:
        require_replaceable(default_folder())
        if free < FREE_BYTES:
            raise DemoError(
                f"{directory} has {free / 1e9:.1f} GB left, the demo needs {FREE_BYTES / 1e9:.0f}: set TMPDIR"
            )
    except SandboxError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    listen()
    directory = Path(tempfile.mkdtemp(prefix="kafka-warden-demo-"))
    stays = sys.stdout.isatty()
    code = 0
    try:
        with Screen(Console()) as screen, ExitStack() as stack:
            demo = Demo(screen, directory, stack, stays=stays)
            demo.run()
            if stays:
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
