"""Draws dashboards with the components that Grafana publishes for its own pages: @grafana/ui and @grafana/data.

No Grafana runs. `grafana/drawing` has the code; npm fetches the components into the cache, esbuild bundles them, and
the browser without a window draws. What is ours and not Grafana's is in `grafana/drawing/README.md`.
"""

import functools
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from sandbox.browser import Page
from sandbox.errors import SandboxError
from sandbox.jars import cached
from sandbox.ports import LOOPBACK

FOLDER: Final = Path(__file__).parents[1] / "grafana" / "drawing"
LOCK: Final = FOLDER / "package-lock.json"
PACKAGE_FILES: Final = ("package.json", "package-lock.json", ".npmrc")
CODE: Final = ("*.jsx", "*.js")
NPM_SECONDS: Final = 600
DRAW_SECONDS: Final = 60.0
SCALE: Final = 2
"""Device pixels per CSS pixel of a picture."""
_PAINTED: Final = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
_CUT: Final = """
[...document.querySelectorAll('[data-panel]')].flatMap((panel) => [
  ...[...panel.querySelectorAll('[role=grid]')]
    .filter((grid) => grid.scrollWidth > grid.clientWidth + 1)
    .map((grid) => `columns need ${grid.scrollWidth} px of ${grid.clientWidth}`),
  ...[...panel.querySelectorAll('[role=grid] [role=gridcell], [role=grid] [role=columnheader], h2')]
    .flatMap((cell) => [cell, ...cell.querySelectorAll('*')])
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && each.innerText
      && getComputedStyle(each).overflowX !== 'visible')
    .map((each) => `"${each.innerText}" is cut off`),
  ...[...panel.querySelectorAll('[role=columnheader]')]
    .filter((head) => [...head.querySelectorAll('*')]
      .some((each) => each.getBoundingClientRect().left < head.getBoundingClientRect().left - 1))
    .map((head) => `the title "${head.innerText}" is cut off`),
].map((what) => `${panel.dataset.panel}: ${what}`))
"""


@dataclass(frozen=True)
class Drawn:
    """What the page of a dashboard reports.

    Attributes:
        height: CSS pixels.
        axes: Title of each panel to the texts of its vertical axis.
        cut: Columns and texts that do not fit, each with its panel.
    """

    height: int
    axes: Mapping[str, list[str]] = field(default_factory=dict)
    cut: tuple[str, ...] = ()


@dataclass(frozen=True)
class Easel:
    """A browser's page, and a web server for what it draws.

    Attributes:
        page: Online, since it reaches loopback.
        site: Folder of the web server, with the bundle.
        url: Address of the web server.
    """

    page: Page
    site: Path
    url: str

    def draw(self, dashboard: Mapping[str, Any], data: Mapping[str, Any], width: int, theme: str = "dark") -> Drawn:
        """Draw a dashboard and wait until all of its panels are there.

        Args:
            dashboard: Its JSON.
            data: `range` (Unix times), `step` (seconds), `panels` (id, refId and `result` of Prometheus' API),
                `annotations` (time in milliseconds, colour) and `variables`.
            width: CSS pixels.
            theme: `dark` or `light`.

        Raises:
            SandboxError: A panel failed, or the browser reported an error.
        """
        for name, content in (("dashboard", dashboard), ("data", data)):
            (self.site / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        self.page.size(width, 900, SCALE)
        asked = {"dashboard": "dashboard.json", "data": "data.json", "theme": theme, "width": width}
        self.page.visit(f"{self.url}/index.html?{urlencode(asked)}")
        deadline = time.monotonic() + DRAW_SECONDS
        report: dict[str, Any] = {}
        while report.get("drawn", 0) < report.get("wanted", 1):
            report = self.page.ask("window.report") or {}
            if report.get("errors") or time.monotonic() > deadline:
                raise SandboxError(f"{dashboard['title']} is not drawn: {report} {self.page.said()}")
            time.sleep(0.1)
        height = int(report["height"])
        self.page.size(width, height, SCALE)
        # Tables and legends measure themselves, and are laid out again after the first drawing.
        time.sleep(1.0)
        self.page.ask(_PAINTED)
        report = self.page.ask("window.report")
        faults = [
            each for each in self.page.said() if each.get("type") in {"error", "assert"} or "exceptionDetails" in each
        ]
        if report["errors"] or faults:
            raise SandboxError(f"{dashboard['title']}: {report['errors']} {faults}")
        return Drawn(height, report["axes"], tuple(self.page.ask(_CUT)))


@contextmanager
def easel(page: Page, scratch: Path) -> Iterator[Easel]:
    """Bundle the code and serve it to the page.

    Raises:
        SandboxError: node or npm is missing, or they failed.
    """
    site = bundle(scratch / "drawing")
    handler = functools.partial(_Quiet, directory=os.fspath(site))
    with http.server.ThreadingHTTPServer((LOOPBACK, 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Easel(page, site, f"http://{LOOPBACK}:{server.server_port}")
        finally:
            server.shutdown()


def bundle(folder: Path) -> Path:
    """Bundle the code into a new folder, with fonts and icons where Grafana's components look for them."""
    packages = _packages()
    code, site = folder / "code", folder / "site"
    code.mkdir(parents=True)
    for file in (file for pattern in CODE for file in FOLDER.glob(pattern)):
        shutil.copy(file, code)
    (code / "node_modules").symlink_to(packages)
    _run(
        packages / ".bin" / "esbuild",
        "app.jsx",
        f"--outdir={site}",
        *("--bundle", "--format=esm", "--splitting", "--minify", "--jsx=automatic", "--log-level=error"),
        '--define:process.env.NODE_ENV="production"',
        "--define:global=globalThis",
        *("--loader:.woff2=file", "--loader:.ttf=file", "--loader:.svg=dataurl"),
        cwd=code,
    )
    shutil.copy(FOLDER / "index.html", site)
    shutil.copytree(packages / "@grafana" / "ui" / "dist" / "public" / "img", site / "public" / "build" / "img")
    fonts = site / "public" / "fonts" / "inter"
    fonts.mkdir(parents=True)
    inter = packages / "@fontsource-variable" / "inter" / "files" / "inter-latin-wght-normal.woff2"
    for weight in ("Regular", "Medium"):
        shutil.copy(inter, fonts / f"Inter-{weight}.woff2")
    return site


def _packages() -> Path:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise SandboxError(f"{program} is missing, which draws the dashboards: install Node.js 20 or newer and npm")
    version = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    return cached(f"drawing-{version}", _install) / "node_modules"


def _install(made: Path) -> None:
    made.mkdir()
    for name in PACKAGE_FILES:
        shutil.copy(FOLDER / name, made)
    _run("npm", "ci", "--no-audit", "--no-fund", cwd=made)


def _run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=NPM_SECONDS, check=False)
    if done.returncode:
        raise SandboxError(f"{command[0]} failed:\n{(done.stderr or done.stdout)[-2000:]}")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base class
        """Log nothing."""
