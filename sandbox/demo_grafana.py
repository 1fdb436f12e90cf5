"""Grafana for a run of the demo: its files, the settings to start one with, and what to open in it."""

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from sandbox.demo_folder import Run
from sandbox.ports import LOOPBACK
from sandbox.program import Program

ROOT = Path(__file__).resolve().parent.parent
DASHBOARDS = ROOT / "grafana" / "dashboards"
PROVISIONING = ROOT / "grafana" / "provisioning"
SOURCE = "kafka-warden-demo"
"""Name and uid of the data source."""
PACKAGED = Path("/usr/share/grafana")
"""Where Grafana's packages put it."""
HOME_MARK = Path("conf", "defaults.ini")
PROGRAM = Path("bin", "grafana")
AFTER_ALERT_SECONDS = 10.0
MARK_SCRAPES = 2
"""Step of the annotations, in scrapes; the boards' step of a minute would miss most of a short run."""


def write(directory: Path, located: Path, prometheus: str, run: Run) -> None:
    """Write the dashboards, opened at the time of the run, and the provisioning that loads them.

    Args:
        directory: Where; created if missing.
        located: Where Grafana will find this directory.
        prometheus: Address at which the run is served, without a slash at the end.
        run: Its time.
    """
    for name in ("dashboards", "provisioning/dashboards", "provisioning/datasources"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    for file in DASHBOARDS.glob("*.json"):
        page = _at_the_time(json.loads(file.read_text(encoding="utf-8")), prometheus, run)
        (directory / "dashboards" / file.name).write_text(json.dumps(page, indent=2) + "\n", encoding="utf-8")
    for kind, content in (
        ("datasources", _sources(prometheus, run)),
        ("dashboards", _providers(located / "dashboards")),
    ):
        text = yaml.safe_dump(content, sort_keys=False)
        (directory / "provisioning" / kind / "kafka-warden.yaml").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Place:
    """Where a Grafana for the run is, or would be.

    Attributes:
        files: The directory that :func:`write` made.
        scratch: For what Grafana writes.
        port: Its port on loopback.
    """

    files: Path
    scratch: Path
    port: int

    @property
    def url(self) -> str:
        """Its address for a browser."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """Environment variables (GF_SECTION_KEY of Grafana's conf/defaults.ini) wherever it runs.

        On loopback, readable without a login, without requests to the internet.
        """
        return {
            "GF_PATHS_PROVISIONING": os.fspath(self.files / "provisioning"),
            "GF_SERVER_HTTP_ADDR": LOOPBACK,
            "GF_SERVER_HTTP_PORT": str(self.port),
            "GF_SERVER_DOMAIN": LOOPBACK,
            "GF_AUTH_ANONYMOUS_ENABLED": "true",
            "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
            "GF_ANALYTICS_REPORTING_ENABLED": "false",
            "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
            "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES": "false",
            "GF_PLUGINS_PREINSTALL_DISABLED": "true",
        }

    @property
    def local_settings(self) -> dict[str, str]:
        """The same with the paths that Grafana writes to; a container image has its own."""
        paths = {"DATA": self.scratch, "LOGS": self.scratch / "log", "PLUGINS": self.scratch / "plugins"}
        return self.settings | {f"GF_PATHS_{name}": os.fspath(path) for name, path in paths.items()}

    def local_command(self, home: Path) -> Sequence[str]:
        """The command line that starts the Grafana of that home directory."""
        given = [f"{name}={value}" for name, value in self.local_settings.items()]
        return ("env", *given, os.fspath(home / PROGRAM), "server", f"--homepath={home}")

    def container_command(self) -> Sequence[str]:
        """The command line that starts a container, in the network of the machine, to reach Prometheus."""
        given = [word for name, value in self.settings.items() for word in ("--env", f"{name}={value}")]
        mount = f"{self.files}:{self.files}:ro"
        return ("docker", "run", "--rm", "--network=host", "--volume", mount, *given, image())

    def links(self, run: Run) -> list[tuple[str, str]]:
        """Title and address of each dashboard at the time of the run; the moves also as they were at the alert."""
        pages = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(self.files.glob("dashboards/*.json"))]
        found = [(page["title"].partition(" / ")[2], self._link(page["uid"], run, run.ended)) for page in pages]
        if run.alerted is not None:
            until = min(run.alerted + AFTER_ALERT_SECONDS, run.ended)
            found.append(("Moves, until the alert", self._link("kafka-warden-moves", run, until)))
        return sorted(found, key=lambda link: not link[0].startswith("Moves"))

    def _link(self, uid: str, run: Run, until: float) -> str:
        shown = {"from": _milliseconds(run.began), "to": _milliseconds(until)}
        chosen = {"var-datasource": SOURCE, "var-cluster": run.cluster}
        return f"{self.url}/d/{uid}?{urlencode(shown | chosen)}"


class Grafana(Program):
    """A Grafana of the user's own, with the files of the run.

    Args:
        place: Its files and its port.
        home: Its home directory.
    """

    ready_path = "/api/health"

    def __init__(self, place: Place, home: Path) -> None:
        super().__init__("grafana", place.scratch)
        self.port = place.port
        self._command = place.local_command(home)

    def command(self) -> Sequence[str]:
        """Its command line, for a shell."""
        return self._command


def home() -> Path | None:
    """The home directory of the Grafana on the PATH or of its package, None without one that has `grafana server`."""
    found = shutil.which("grafana")
    homes = [*([Path(found).resolve().parent.parent] if found else []), PACKAGED]
    return next((each for each in homes if (each / HOME_MARK).is_file() and (each / PROGRAM).is_file()), None)


def image() -> str:
    """The image of Grafana that compose.yaml names."""
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return str(compose["services"]["grafana"]["image"])


def in_lines(command: Sequence[str]) -> str:
    """A command line for a shell, one setting per line."""
    lines: list[list[str]] = [[]]
    before = ""
    for word in command:
        setting, after_setting = word.startswith("GF_"), before.startswith("GF_")
        if word in {"--env", "--volume"} or (before != "--env" and (setting or after_setting)):
            lines.append([])
        lines[-1].append(shlex.quote(word))
        before = word
    return " \\\n    ".join(" ".join(line) for line in lines)


def _at_the_time(page: dict[str, Any], prometheus: str, run: Run) -> dict[str, Any]:
    page["time"] = {"from": _iso(run.began), "to": _iso(run.ended)}
    page["refresh"] = ""
    for mark in page["annotations"]["list"]:
        mark["step"] = f"{MARK_SCRAPES * run.scrape_seconds:g}s"
    variables = {variable["name"]: variable for variable in page["templating"]["list"]}
    variables["datasource"]["current"] = {"text": SOURCE, "value": SOURCE, "selected": True}
    # Prometheus serves the runbooks, too: --web.user-assets.
    variables["base"]["query"] = f"{prometheus}/user/"
    return page


def _sources(prometheus: str, run: Run) -> Mapping[str, Any]:
    """The data source of grafana/provisioning at this address, without the Alertmanager, which is stopped."""
    content: dict[str, Any] = yaml.safe_load((PROVISIONING / "datasources" / "kafka-warden.yaml").read_bytes())
    source = next(source for source in content["datasources"] if source["type"] == "prometheus")
    settings = {"httpMethod": source["jsonData"]["httpMethod"], "timeInterval": f"{run.scrape_seconds:g}s"}
    source |= {"name": SOURCE, "uid": SOURCE, "url": prometheus, "jsonData": settings}
    return content | {"datasources": [source]}


def _providers(dashboards: Path) -> Mapping[str, Any]:
    content: dict[str, Any] = yaml.safe_load((PROVISIONING / "dashboards" / "kafka-warden.yaml").read_bytes())
    for provider in content["providers"]:
        # Grafana reads a single $ as the start of an environment variable.
        provider["options"]["path"] = os.fspath(dashboards).replace("$", "$$")
    return content


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))
