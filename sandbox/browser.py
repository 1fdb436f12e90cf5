"""A real browser without a window: opens a page with the network cut, returns what it requested, logged and drew.

Debian's `chromium-headless-shell`, spoken to in the DevTools protocol through two pipes: no port, driver or library.
"""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MOST_BYTES = 1 << 20


class Page:
    """One page in one browser."""

    def __init__(self, to_browser: int, from_browser: int, *, offline: bool) -> None:
        """Open an empty page; the two ends of the browser's pipes are given."""
        self._to, self._from = to_browser, from_browser
        self._sent = 0
        self._rest = b""
        self._session: str | None = None
        self.events: list[Mapping[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        network = {"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", **network)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        _write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._sent:
                if "error" in reply:
                    raise SandboxError(f"{method}: {reply['error']}")
                result: dict[str, Any] = reply["result"]
                return result

    def open(self, file: Path) -> None:
        """Open a file and wait until it is loaded; what happens from now on is in `events`."""
        self.visit(file.as_uri())

    def visit(self, address: str) -> None:
        """Open an address and wait until it is loaded; what happens from now on is in `events`."""
        self.events.clear()
        loader = self.call("Page.navigate", url=address)["loaderId"]
        # The page before may be loaded just now, too.
        loaded = {"name": "load", "loaderId": loader}
        while not any(loaded.items() <= event["params"].items() for event in self.events):
            self._next()

    def size(self, width: int, height: int = 900, scale: int = 1) -> None:
        """Give the page so many CSS pixels, each of `scale` times `scale` pixels of a picture."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def media(self, medium: str, scheme: str) -> None:
        """Show it on `screen` or for `print`, by a `light` or a `dark` system."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def ask(self, expression: str) -> Any:
        """Evaluate JavaScript in the page and return its value."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise SandboxError(f"JavaScript failed: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def picture(self, file: Path, clip: Mapping[str, float] | None = None) -> Path:
        """Write a PNG of the whole page, or of a part of it in CSS pixels from its top left."""
        part = {"clip": {**clip, "scale": 1}} if clip else {}
        reply = self.call("Page.captureScreenshot", captureBeyondViewport=True, **part)
        file.write_bytes(base64.b64decode(reply["data"]))
        return file

    def paper(self) -> bytes:
        """Print it to a PDF."""
        reply = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        return base64.b64decode(reply["data"])

    def asked(self) -> list[str]:
        """Addresses that the page asked for since it was opened, the file itself included."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def said(self) -> list[Any]:
        """Everything that the browser wrote to its console since the page was opened: errors, warnings, violations."""
        loud = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [event["params"] for event in self.events if event["method"] in loud]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, MOST_BYTES)
            if not more:
                raise SandboxError("the browser ended")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


def program() -> str:
    """Find the browser.

    Raises:
        SandboxError: There is none.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise SandboxError("no browser here: apt-get install --no-install-recommends chromium-headless-shell")
    return found


@contextmanager
def opened(profile: Path, *, offline: bool = True) -> Iterator[Page]:
    """Start a browser with a profile of its own in a new folder, and end it. Offline it does not reach loopback."""
    to_browser, from_browser = os.pipe(), os.pipe()
    # The browser takes the pipes as its files 3 and 4, whatever their numbers are here.
    shell = f'exec "$0" "$@" 3<&{to_browser[0]} 4>&{from_browser[1]}'
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        ["bash", "-c", shell, program(), *arguments, "about:blank"],
        pass_fds=(to_browser[0], from_browser[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser[0])
    os.close(from_browser[1])
    try:
        yield Page(to_browser[1], from_browser[0], offline=offline)
    finally:
        process.terminate()
        process.wait()
        os.close(to_browser[1])
        os.close(from_browser[0])


def _write(descriptor: int, message: bytes) -> None:
    while message:
        message = message[os.write(descriptor, message) :]
