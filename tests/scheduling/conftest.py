"""A sidecar of a small cluster with one follower that is out of sync."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.scheduling.ordered import Ordered, Start, configuration
from tests.support.scripted import ScriptedCluster


@pytest.fixture
def start(brokers: ScriptedCluster, tmp_path: Path) -> Iterator[Start]:
    brokers.topic("a", [[1, 2], [2, 3]], isr=[[1], [2, 3]], rate=10.0)
    started: list[Ordered] = []

    def make(sections: Mapping[str, Any] | None = None, **how: Any) -> Ordered:
        started.append(Ordered(configuration(brokers, **(sections or {})), tmp_path, **how))
        return started[-1].__enter__()

    yield make
    brokers.do("clear")
    for sidecar in started:
        sidecar.kill()
        print(f"--- the sidecar's log ---\n{sidecar.log[-4000:]}")
        sidecar.__exit__(None, None, None)
