"""What is remembered of a row goes with it to another place."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from tests import scene
from tests.building import Partition
from tests.derive.following import families, remembering


def columns(state: Any, name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array of a state, with its place."""
    if isinstance(state, np.ndarray):
        yield name, state
    parts: Mapping[Any, Any] = {}
    if is_dataclass(state):
        parts = {field.name: getattr(state, field.name) for field in fields(state)}
    elif isinstance(state, tuple):
        parts = dict(enumerate(state))
    elif isinstance(state, Mapping):
        parts = state
    for key, part in parts.items():
        yield from columns(part, f"{name}.{key}")


def test_a_topic_that_comes_first_and_goes_again_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It moves the rows of all others twice: memory and metrics are those of a cluster that never had it."""
    topics, new = scene.topics, {"__consumer_offsets": [Partition(replicas=(3, 2), end=7)] * 3}

    def judged() -> tuple[dict[str, np.ndarray], Any]:
        polls = (scene.poll(float(clock)) for clock in scene.POLLS)
        memory, derived = remembering(*polls, parameters=scene.PARAMETERS)[-1]
        return dict(columns(memory)), families(derived, scene.PARAMETERS)

    still, expected = judged()
    monkeypatch.setattr(scene, "topics", lambda clock: {**(new if 30 <= clock < 80 else {}), **topics(clock)})
    np.testing.assert_equal(judged(), (still, expected))
    assert len(still) > 20
