"""When free memory is returned to the system."""

import gc
import weakref
from types import SimpleNamespace

import pytest

from kafka_warden import lifecycle


def test_free_memory_is_returned_after_each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[int] = []
    monkeypatch.setattr(lifecycle, "_libc", SimpleNamespace(malloc_trim=returned.append))
    free = lifecycle.FreeMemory(0.0)
    free.release(0.0)
    free.release(10.0)
    assert returned == [0, 0]


def test_another_libc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_libc", SimpleNamespace())
    lifecycle.use_one_arena()
    lifecycle.FreeMemory(0.0).release(0.0)


class Circle:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_refers_to_itself_is_freed_once_a_minute() -> None:
    free = lifecycle.FreeMemory(100.0)
    gc.disable()
    try:
        circle = weakref.ref(Circle())
        free.release(159.0)
        assert circle() is not None
        free.release(160.0)
        assert circle() is None
    finally:
        gc.enable()
