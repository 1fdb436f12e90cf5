"""A sidecar on scripted brokers that a test can break from inside (`process/sitecustomize.py`)."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sandbox import wait_for
from tests.cluster.page import Page
from tests.cluster.sidecar import ROOT, SLOW_MACHINE, Sidecar
from tests.support.scripted import ScriptedCluster

INTERVAL: Final = "500ms"
PROGRAM: Final = Path(__file__).parent / "process"


def configuration(brokers: ScriptedCluster, **sections: Any) -> dict[str, Any]:
    made = {
        "kafka": {"bootstrap.servers": brokers.bootstrap},
        "poll": {"interval": INTERVAL},
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": "state"},
    }
    return {**made, **{name: {**made.get(name, {}), **section} for name, section in sections.items()}}


class Ordered(Sidecar):
    """A sidecar that takes orders. `notified` has what it sent to systemd."""

    def __init__(
        self, config: Mapping[str, Any], folder: Path, *, environment: Mapping[str, str] | None = None, **how: bool
    ) -> None:
        paths = os.pathsep.join(map(str, (ROOT / "exporter", PROGRAM)))
        orders = {"ORDERS": str(folder), "PYTHONPATH": paths}
        super().__init__(config, folder, environment={**orders, **(environment or {})}, **how)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def order(self, text: str) -> None:
        (self.folder / "it.done").unlink(missing_ok=True)
        (self.folder / "new").write_text(text)
        (self.folder / "new").rename(self.folder / "it.order")

    def done(self, text: str) -> dict[str, list[str]]:
        self.order(text)
        wait_for((self.folder / "it.done").exists, SLOW_MACHINE, f"the order {text!r} was obeyed")
        found: dict[str, list[str]] = json.loads((self.folder / "it.json").read_text())
        return found

    def forget_state(self) -> None:
        self.wait(out_of_sync)
        self.state.unlink()

    def health(self) -> tuple[int, str]:
        """Status and text of `/-/healthy`; 0 when nothing answers."""
        try:
            return self.get("/-/healthy")
        except OSError as problem:
            return 0, repr(problem)

    def write(self, config: Mapping[str, Any] | str) -> None:
        text = config if isinstance(config, str) else json.dumps(config)
        (self.folder / "kafka-warden.yml").write_text(text)

    def reload(self, config: Mapping[str, Any] | str) -> None:
        self.write(config)
        self.process.send_signal(signal.SIGHUP)


Start = Callable[..., Ordered]
"""Starts a sidecar with other options by section; the rest are the arguments of `Ordered`."""


def out_of_sync(page: Page) -> float:
    """Return since how many seconds the follower is out of sync."""
    return page.get("replica_out_of_sync_seconds", topic="a", partition=0, broker=2) or 0.0


def is_saved(sidecar: Ordered) -> bool:
    """Return whether the state file has the partition whose follower is out of sync, and others on a busy machine."""
    if not sidecar.state.is_file():
        return False
    return 0 in {partition["partition"] for partition in json.loads(sidecar.state.read_text())["partitions"]}
