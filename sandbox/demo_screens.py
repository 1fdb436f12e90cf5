"""What a person sees when the alert of the demo has come, kept by the demo and photographed by `make pictures`."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from sandbox.browser import Page
from sandbox.demo_folder import ALERTED, FolderError, new_demo
from sandbox.errors import SandboxError
from sandbox.monitoring import Alert
from sandbox.monitoring_sidecar import Sidecar
from sandbox.monitoring_tools import ASSETS, Tools

STATUS: Final = "status.html"
ALERT: Final = "alert.json"
STATUS_SIZE: Final = (1280, 1130)
"""CSS pixels: problems, the cluster in numbers and the moves."""
ALERT_SIZE: Final = (720, 690)
SCALE: Final = 2
"""Device pixels per CSS pixel."""
_ASSET: Final = re.compile(r'(?:href|src)="(assets/[^"]+)"')
_EMAIL: Final = '{{ template "email.default.html" . }}'
"""The message that Alertmanager sends by default."""


def seen(sidecar: Sidecar, alert: Alert) -> dict[str, bytes]:
    """Return path to content of the status page with its assets, and of the alert as Alertmanager has it.

    Raises:
        SandboxError: The sidecar does not answer.
    """
    page = sidecar.fetch("GET", "/")
    files = {STATUS: page, ALERT: json.dumps(asdict(alert), indent=2, default=list).encode()}
    for asset in sorted(set(_ASSET.findall(page.decode()))):
        files[asset] = sidecar.fetch("GET", f"/{asset}")
    return files


def photograph(folder: Path, pictures: Path, page: Page, scratch: Path, programs: Tools) -> None:
    """Write `status.png` and `alert.png` from the folder of a run.

    Args:
        folder: Of the run.
        pictures: Where.
        page: Of a browser; its scripts are off afterwards.
        scratch: For files in between.
        programs: Of Prometheus and Alertmanager; amtool renders the message of the alert.

    Raises:
        FolderError: The run has none of this.
        SandboxError: The message could not be rendered.
    """
    kept = folder / ALERTED
    if not (kept / ALERT).is_file():
        raise FolderError(f"{kept} is missing: {new_demo(folder)}")
    message = scratch / "alert.html"
    alert = json.loads((kept / ALERT).read_text(encoding="utf-8"))
    message.write_text(_message(alert, scratch / "alert.json", programs), encoding="utf-8")
    # The page as it was: its script would say that the exporter of the demo does not answer any more.
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.media("screen", "light")
    for name, file, (width, height) in (("status", kept / STATUS, STATUS_SIZE), ("alert", message, ALERT_SIZE)):
        page.size(width, height, SCALE)
        page.open(file)
        page.picture(pictures / f"{name}.png", {"x": 0, "y": 0, "width": width, "height": height})


def _message(alert: Mapping[str, Any], data: Path, programs: Tools) -> str:
    """The alert in Alertmanager's own template of an e-mail."""
    labels = alert["labels"]
    firing = {"status": "firing", "labels": labels, "annotations": alert["annotations"], "generatorURL": "#"}
    notification = {
        "receiver": "on-call",
        "status": "firing",
        "alerts": [firing],
        "groupLabels": {name: labels[name] for name in ("alertname", "cluster")},
        "commonLabels": labels,
        "commonAnnotations": alert["annotations"],
        "externalURL": "",
    }
    data.write_text(json.dumps(notification), encoding="utf-8")
    templates = (programs.root or Path("/")) / next(iter(ASSETS)).lstrip("/") / "*.tmpl"
    command: list[str | Path] = [programs.amtool, "template", "render", "--template.type=html"]
    command += [f"--template.glob={templates}", f"--template.data={data}", f"--template.text={_EMAIL}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise SandboxError(f"amtool did not render the alert: {done.stderr}")
    return str(done.stdout)
