"""`python -m sandbox.demo_look`: serves the data of the last run of the demo until Ctrl-C.

Exit code 0 after Ctrl-C or SIGTERM, 1 when there is nothing to serve or it cannot be served, 2 for wrong arguments.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from sandbox import demo_folder, demo_grafana
from sandbox.demo_archive import Archive, require_free
from sandbox.demo_folder import GRAFANA, FolderError, Run, new_demo
from sandbox.demo_grafana import PACKAGED, Grafana, Place, in_lines
from sandbox.demo_keep import PROMETHEUS_PORT
from sandbox.demo_signals import InterruptedDemo, interrupt_behind, listen
from sandbox.errors import SandboxError
from sandbox.monitoring_tools import tools
from sandbox.ports import Ports

GRAFANA_PORT = 10300
HIGHEST_PORT = 65535
CHECK_SECONDS = 1.0


def make_parser() -> argparse.ArgumentParser:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.demo_look",
        description="Serves the data of the last run of the demo, on loopback, until Ctrl-C.",
    )
    parser.add_argument(
        "--port", type=_port, default=PROMETHEUS_PORT, metavar="N", help="Prometheus' port, %(default)s; 0: a free one"
    )
    parser.add_argument(
        "--grafana-port", type=_port, default=GRAFANA_PORT, metavar="N", help="Grafana's, %(default)s; 0: a free one"
    )
    parser.add_argument("--no-grafana", action="store_true", help="do not start Grafana, only show how to")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


class Look:
    """Prometheus over the run, and Grafana if it is installed.

    Args:
        options: Those of :func:`make_parser`.
        folder: That of the run.
        scratch: For everything that the programs write.
        stack: What ends them.

    Raises:
        SandboxError: There is no run, or it cannot be served.
    """

    def __init__(self, options: argparse.Namespace, folder: Path, scratch: Path, stack: ExitStack) -> None:
        self.run: Run = demo_folder.read(folder)
        self._folder = folder
        self._stack = stack
        port = options.grafana_port or _free_port(stack)
        self.place = Place(grafana_files(folder, scratch, options.port), scratch / "grafana-data", port)
        self.archive = Archive(scratch / "prometheus", folder, options.port, tools())
        self._serve()
        self._programs: list[Archive | Grafana] = [self.archive]
        self._home = None if options.no_grafana else demo_grafana.home()

    def show(self) -> None:
        """Start Grafana, and print what can be looked at."""
        began = datetime.fromtimestamp(self.run.began, UTC)
        print(f"The run of {began:%Y-%m-%d %H:%M:%S} UTC, {self.run.seconds:.0f} s, {self.run.outcome}: {self._folder}")
        print(f"\nPrometheus  {self.archive.url}")
        _print_links(self.archive.links(self.run))
        print(f"\nGrafana     {self.place.url}", flush=True)
        if self._home is None or not self._start_grafana(self._home):
            print("It is not running: start one with what is below, then open")
        _print_links(self.place.links(self.run))
        if len(self._programs) == 1:
            print(f"\nA Grafana of its package:\n  {in_lines(self.place.local_command(self._home or PACKAGED))}")
            print(f"A container:\n  {in_lines(self.place.container_command())}")
            print(
                f"A Grafana that runs already: data source {self.archive.url}, dashboards {self.place.files}/dashboards"
            )
        print("\nCtrl-C ends it.", flush=True)

    def stay(self) -> None:
        """Serve until a signal comes.

        Raises:
            SandboxError: A program ended by itself.
        """
        while True:
            for program in self._programs:
                if not program.running:
                    raise SandboxError(f"{program.name} ended by itself:\n{program.log_tail()}")
            time.sleep(CHECK_SECONDS)

    def _serve(self) -> None:
        try:
            self._stack.enter_context(self.archive)
        except (OSError, SandboxError) as error:
            if interrupt_behind(error) is not None:
                raise
            raise FolderError(f"{error}\nIf {self._folder} is broken: {new_demo(self._folder)}") from error
        self.archive.require_run(self.run)
        try:
            # Again, because the folder may have been moved.
            demo_grafana.write(self.place.files, self.place.files, self.archive.url, self.run)
        except OSError as error:
            elsewhere = "`make demo-look ARGS='--port 0'` makes Grafana's files elsewhere"
            raise FolderError(f"{error}: let it be written to, or {elsewhere}") from error

    def _start_grafana(self, home: Path) -> bool:
        """Whether it has started; without it Prometheus still serves the run."""
        try:
            require_free(self.place.port)
            self._programs.append(self._stack.enter_context(Grafana(self.place, home)))
        except SandboxError as error:
            if interrupt_behind(error) is not None:
                raise
            print(f"{home} did not start: {error}")
            return False
        return True


def grafana_files(folder: Path, scratch: Path, port: int) -> Path:
    """Where Grafana's files are: in the folder for the usual port, which they name; of this once for another."""
    return (folder if port == PROMETHEUS_PORT else scratch) / GRAFANA


def _free_port(stack: ExitStack) -> int:
    ports = Ports()
    stack.callback(ports.close)
    return ports.reserve()


def _print_links(links: Sequence[tuple[str, str]]) -> None:
    for title, address in links:
        print(f"  {title:<36} {address}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the last run and return the exit code."""
    options = make_parser().parse_args(arguments)
    listen()
    scratch = Path(tempfile.mkdtemp(prefix="kafka-warden-look-"))
    try:
        with ExitStack() as stack:
            look = Look(options, demo_folder.default_folder(), scratch, stack)
            look.show()
            look.stay()
    except (SandboxError, InterruptedDemo) as error:
        if interrupt_behind(error) is None:
            print(f"demo-look: {error}", file=sys.stderr)
            return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
