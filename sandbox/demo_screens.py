"""What a person sees when the alert of the demo has come, kept by the demo and photographed by `make pictures`."""

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Final

from sandbox.browser import opened
from sandbox.demo_folder import ALERTED, FolderError, new_demo
from sandbox.monitoring import Alert
from sandbox.monitoring_sidecar import Sidecar

STATUS: Final = "status.html"
ALERT: Final = "alert.json"
WIDTH: Final = 1280
STATUS_HEIGHT: Final = 970
"""CSS pixels: problems, the cluster in numbers and the moves."""
ALERT_HEIGHT: Final = 250
_ASSET: Final = re.compile(r'(?:href|src)="(assets/[^"]+)"')
_NOTIFICATION: Final = """<!doctype html><meta charset="utf-8"><style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; background: #fff; margin: 0; padding: 20px 24px }}
h1 {{ font-size: 19px; margin: 0 0 10px }}
h1 b {{ background: #8a4600; color: #fff; padding: 2px 8px; border-radius: 4px; font-size: 14px }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0 }} dt {{ color: #57606a }}
dd {{ margin: 0; white-space: pre-line; overflow-wrap: anywhere }}</style>
<h1><b>{severity}</b> {name}</h1><dl>{rows}</dl>"""


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


def photograph(folder: Path, pictures: Path) -> None:
    """Write `status.png` and `alert.png` from the folder of a run.

    Raises:
        FolderError: The run has none of this.
        SandboxError: There is no browser.
    """
    kept = folder / ALERTED
    if not (kept / ALERT).is_file():
        raise FolderError(f"{kept} is missing: {new_demo(folder)}")
    scratch = Path(tempfile.mkdtemp(prefix="kafka-warden-screens-"))
    try:
        notification = scratch / "alert.html"
        notification.write_text(_notification(json.loads((kept / ALERT).read_text(encoding="utf-8"))), encoding="utf-8")
        with opened(scratch / "profile") as browser:
            # The page as it was: its script would say that the sidecar of the demo does not answer any more.
            browser.call("Emulation.setScriptExecutionDisabled", value=True)
            browser.media("screen", "light")
            for name, file, height in (("status", kept / STATUS, STATUS_HEIGHT), ("alert", notification, ALERT_HEIGHT)):
                browser.size(WIDTH, height)
                browser.open(file)
                browser.picture(pictures / f"{name}.png", {"x": 0, "y": 0, "width": WIDTH, "height": height})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _notification(alert: Mapping[str, Mapping[str, str]]) -> str:
    labels, annotations = alert["labels"], alert["annotations"]
    plain = {name: value for name, value in labels.items() if name not in {"alertname", "severity"}}
    rows = {name: annotations[name] for name in ("summary", "description", "runbook_url", "dashboard_url")}
    rows["labels"] = "  ".join(f"{name}={value}" for name, value in sorted(plain.items()))
    return _NOTIFICATION.format(
        severity=escape(labels["severity"]),
        name=escape(labels["alertname"]),
        rows="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows.items()),
    )
