"""A witness of one fault: what must hold of the sidecar whatever the fault is."""

import http
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

from bench.procfs import children, descriptors, threads
from bench.report import median, percentile
from sandbox import wait_for
from tests.alerts.stage import Stage
from tests.cluster.page import Page
from tests.support.threads import repeating

EVERY: Final = 0.2
"""Seconds between two scrapes."""
RECOVERS_WITHIN: Final = 2
"""Polls that begin after the fault is undone."""
TIME_LIMIT: Final = 120.0
"""Seconds until something must have happened, on a busy machine."""
SLOW: Final = 60.0
"""Seconds. Quotas, topic and controller configurations are read no more often, so they take so long to recover."""
SETTLES: Final = 10.0
"""Seconds for the poll after that minute."""

Used = dict[str, tuple[int, int]]
"""Descriptors and threads of the sidecar and of its JMX child."""


class Witness:
    """Scrapes the sidecar from the beginning of its block to its end. Every scrape must be answered, and be parsed.

    Attributes:
        stage: Where the fault happens.
        cluster: The cluster of the stage.
        page: The last page.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage, self.cluster, self.page = stage, stage.cluster, Page("")
        self._latencies: list[float] = []
        self._may_be_down = Lock()
        self._stack = ExitStack()
        self._started = self._pid()

    def __enter__(self) -> Self:
        self.scrape()
        self._stack.enter_context(repeating(self.scrape, EVERY))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        took = sorted(1000 * seconds for seconds in self._latencies)
        print(f"{len(took)} scrapes: median {median(took):.0f} ms, p99 {percentile(took, 0.99):.0f} ms")

    def until(self, predicate: Callable[[Page], object], what: str) -> Page:
        """Wait for a page of a poll that begins after this call; return the first that the predicate holds for."""
        for page in self.pages():
            if predicate(page):
                return page
        raise AssertionError(f"still not: {what}; not up: {sorted(self.page.down())}; log:\n{self.log[-3000:]}")

    def until_shown(self, predicate: Callable[[Page], object], what: str) -> Page:
        """Wait for any page, of a poll or of a sidecar that has none."""
        wait_for(lambda: predicate(self.page), TIME_LIMIT, what)
        return self.page

    def pages(self, seconds: float = TIME_LIMIT) -> Iterator[Page]:
        """Yield every page of a poll that begins after this call, once each, for so many seconds."""
        last, until = time.time(), time.monotonic() + seconds
        while time.monotonic() < until:
            page = self.page
            if page.time > last:
                last = page.time
                yield page
            time.sleep(EVERY / 4)

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """Let the sidecar be down until the block ends. It is another process then, which must stay."""
        with self._may_be_down:
            yield
            self._started = self._pid()
        self.scrape()

    def restart(self, *, ready: bool = True, **sections: Mapping[str, Any]) -> None:
        with self.unwatched():
            self.stage.sidecar.restart(ready=ready, **sections)

    def assert_recovered(self) -> None:
        """Assert that every source answers within two polls, by the process that saw the fault.

        Raises:
            AssertionError: It took longer.
        """
        undone, slow = time.monotonic(), {("quotas", ""), ("configs", "")}
        slow |= {("configs", str(node)) for node in self.cluster.controller_ids}
        seen: list[set[tuple[str, str]]] = []
        for page in self.pages():
            late = time.monotonic() - undone > SLOW + SETTLES
            seen.append(page.down() if late else page.down() - slow)
            if not page.down():
                break
            assert not seen[-1] or len(seen) < RECOVERS_WITHIN, f"still not up: {seen}; log:\n{self.log[-3000:]}"
        assert seen, "no poll ended"
        assert self._pid() == self._started, "the sidecar was restarted"

    def until_at(self, baseline: Used) -> None:
        wait_for(lambda: not self._above(baseline), TIME_LIMIT, f"as before: {baseline}; {self._above(baseline)}")

    def used(self) -> Used:
        pid = self._pid()
        processes = zip(("sidecar", "jmx"), (pid, *children(pid)), strict=False)
        return {name: (descriptors(each), threads(each)) for name, each in processes}

    def connections(self, node: int) -> set[int]:
        port, own = int(self.cluster.broker_addresses[node].rsplit(":", 1)[1]), _sockets(self._pid())
        lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        rows = (line.split() for line in lines)
        return {_port(row[1]) for row in rows if _port(row[2]) == port and row[9] in own}

    def assert_no_secret(self) -> None:
        """Assert that no password of the cluster is in the log, which is at debug level, or in a page."""
        files = [self.cluster.secret_file(user) for user in ("monitor", "admin", "wrong")]
        for file in (*files, self.cluster.jmx_password_file):
            if file is not None:
                secret = file.read_text(encoding="utf-8")
                assert len(secret) > 10
                assert secret not in self.log
                assert secret not in self.page.text

    def status(self, path: str) -> int:
        return self.stage.sidecar.request("GET", path)[0]

    def scrape(self) -> Page:
        with self._may_be_down:
            began = time.monotonic()
            status, body = self.stage.sidecar.request("GET", "/metrics")
            self._latencies.append(time.monotonic() - began)
        assert status == http.HTTPStatus.OK, body
        text = body.decode()
        if text != self.page.text:
            page = Page(text)
            assert page.samples
            self.page = page
        return self.page

    @property
    def log(self) -> str:
        return self.stage.sidecar.log_file.read_text(encoding="utf-8", errors="replace")

    def _above(self, baseline: Used) -> Used:
        now = self.used()
        return {name: now[name] for name in now if any(a > b for a, b in zip(now[name], baseline[name], strict=True))}

    def _pid(self) -> int:
        assert self.stage.sidecar.pid is not None
        return self.stage.sidecar.pid


def _sockets(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(str(link.readlink()).removeprefix("socket:[").removesuffix("]"))
    return found


def _port(address: str) -> int:
    return int(address.partition(":")[2], 16)
