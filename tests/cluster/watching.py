"""All snapshots of a sidecar from one moment on: none has an unexpected cause or problem, and no problem flaps."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import Cluster
from tests.cluster.page import Missed, Page, in_time
from tests.cluster.sidecar import Sidecar, configuration

LONG_ENOUGH = 120.0

Problem = tuple[int, str, str]
"""Broker, side and problem."""

Move = tuple[str, int, int]
"""Topic, partition and adding broker."""


def causes(page: Page) -> dict[Move, str]:
    """The one cause of every move that is stuck."""
    found: dict[Move, str] = {}
    for labels, value in page.rows("reassignment_stuck"):
        move = labels["topic"], int(labels["partition"]), int(labels["broker"])
        assert value == 1
        assert move not in found, f"{move} is stuck for {found[move]} and for {labels['cause']}"
        found[move] = labels["cause"]
    return found


def problems(page: Page) -> set[Problem]:
    found = page.all("replication_throttle_problem_seconds")
    return {(int(broker), side, problem) for broker, problem, side in found}


@dataclass
class Watch:
    """Pages of a sidecar, each looked at; what may be on them is set as the test goes on.

    Attributes:
        sidecar: whose pages.
        causes: topic to the causes for which its moves may be stuck; no other move may be.
        problems: throttle problems that may be raised. One that ends must not come back before this is set again.
        page: the latest one.
    """

    sidecar: Sidecar
    causes: dict[str, set[str]] = field(default_factory=dict)
    problems: set[Problem] = field(default_factory=set)
    page: Page = field(default_factory=lambda: Page(""))
    _phase: set[Problem] | None = None
    _allowed: set[Problem] = field(default_factory=set)
    _raised: set[Problem] = field(default_factory=set)
    _ended: set[Problem] = field(default_factory=set)

    def until(self, predicate: Callable[[Page], object], what: str, timeout: float = LONG_ENOUGH) -> list[Missed]:
        """Look at every page of polls that begin from now on, until one is as wanted; return what each poll missed."""
        missed: list[Missed] = []
        try:
            for page in self.sidecar.pages(timeout):
                self.page = page
                missed.append(page.down())
                self.look(page)
                if predicate(page):
                    print(f"{what}: after {len(missed)} polls")
                    return missed
        except AssertionError as error:
            raise AssertionError(f"waiting for: {what}; {causes(self.page)}, {problems(self.page)}; {error}") from error
        raise AssertionError("the pages came to an end")

    def until_stuck(self, visible: Callable[[Page], object], wanted: Mapping[Move, str], what: str) -> int:
        """The same until moves are stuck; return in how many polls in time, that one included, it was visible."""
        missed: list[Missed] = []

        def stuck(page: Page) -> bool:
            if missed or visible(page):
                missed.append(page.down())
            found = causes(page)
            return all(found.get(move) == cause for move, cause in wanted.items())

        self.until(stuck, what)
        print(f"{what}: in poll {in_time(missed)} of those that could see it")
        return in_time(missed)

    def for_polls(self, count: int, what: str) -> None:
        left = iter(range(count - 1, -1, -1))
        self.until(lambda _: next(left) == 0, what)

    def look(self, page: Page) -> None:
        """Fail on unexpected causes and problems, and on a problem that comes back."""
        unexpected = {move: cause for move, cause in causes(page).items() if cause not in self.causes.get(move[0], ())}
        assert unexpected == {}, "stuck for a cause that is none"
        raised = problems(page)
        assert raised <= self.problems, "a problem that is none"
        if self._phase is not self.problems or self._allowed != self.problems:
            self._phase, self._allowed, self._ended = self.problems, set(self.problems), set()
        self._ended |= self._raised - raised
        self._raised = raised
        assert not raised & self._ended, "a problem that ended and came back"


@contextmanager
def watching(cluster: Cluster, folder: Path, **sections: Any) -> Iterator[Watch]:
    """A sidecar whose pages are looked at, from the first one in which every source answers."""
    with Sidecar(configuration(cluster, **sections), folder) as sidecar:
        watch = Watch(sidecar)
        watch.until(lambda page: not page.down(), "every source answers")
        yield watch
