"""What a person gets: the notifications that a real Alertmanager sends, received by a webhook on loopback.

Routes, grouping and inhibition are those of `alerts/alertmanager.yml`. Only firing notifications count: the receiver
decides whether the end of an alert is sent, too. Reminders (`repeat_interval`) are hours apart, so none comes here.
Mute times are left out, because the result must not depend on the hour.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kafka_warden.rules.thresholds import DURATION, Threshold
from sandbox.monitoring import ALERTS
from sandbox.serving import Server

CONFIG = ALERTS / "alertmanager.yml"


@dataclass(frozen=True)
class Notification:
    """One notification: its receiver, and the labels of its alerts."""

    receiver: str
    labels: tuple[Mapping[str, str], ...]

    @property
    def name(self) -> str:
        return ", ".join(sorted({labels["alertname"] for labels in self.labels}))


class Webhook(Server):
    """The only receiver of an Alertmanager.

    Attributes:
        received: What it was sent, in order.
    """

    def __init__(self) -> None:
        super().__init__(self._receive)
        self.received: list[Notification] = []

    def config(self, file: Path, scale: float, floor: float) -> Path:
        """Write `alerts/alertmanager.yml` with this receiver and with shorter waits.

        Args:
            file: The file to write.
            scale: What waits are multiplied by; above 0, at most 1.
            floor: Seconds that are added to each; see `alerts.render.rules`.
        """
        document = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
        _shorten(document["route"], scale, floor)
        webhook = {"url": f"http://{self.address}/", "send_resolved": False}
        document["receivers"] = [{"name": each["name"], "webhook_configs": [webhook]} for each in document["receivers"]]
        file.write_text(yaml.safe_dump(document), encoding="utf-8")
        return file

    def _receive(self, _: object, body: bytes) -> bytes:
        sent = json.loads(body)
        labels = tuple(alert["labels"] for alert in sent["alerts"])
        self.received.append(Notification(sent["receiver"], labels))
        return b""


def _shorten(route: dict[str, Any], scale: float, floor: float) -> None:
    route.pop("mute_time_intervals", None)
    for name in {"group_wait", "group_interval"} & route.keys():
        route[name] = Threshold(name, route[name], DURATION, "").at(scale, floor)
    for inner in route.get("routes", ()):
        _shorten(inner, scale, floor)
