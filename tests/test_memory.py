"""When free memory is returned to the system."""

import gc
import weakref
from types import SimpleNamespace

import pytest

from kafka_warden import memory

MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    ("resident", "calls"),
    [
        ([100, 60], 1),
        ([100, 60, 64], 1),
        ([100, 60, 65, 60, 65, 60], 3),
        ([100, 60, 40, 45, 41], 2),
    ],
)
def test_memory_is_returned_when_the_process_has_grown(
    monkeypatch: pytest.MonkeyPatch, resident: list[int], calls: int
) -> None:
    """By more than 4 MiB since it was smallest. `resident`: MiB, as read before each release, and after a return."""
    returned: list[int] = []
    values = iter(resident)
    monkeypatch.setattr(memory, "_libc", SimpleNamespace(malloc_trim=returned.append))
    monkeypatch.setattr(memory, "_resident", lambda: MEGABYTE * next(values))
    free = memory.FreeMemory()
    for _ in range(len(resident) - calls):
        free.release(0.0)
    assert returned == [0] * calls
    assert list(values) == []


def test_another_libc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has neither function."""
    monkeypatch.setattr(memory, "_libc", SimpleNamespace())
    memory.use_one_arena()
    memory.FreeMemory().release(0.0)


def test_the_resident_memory_is_that_of_this_process() -> None:
    """It grows with what is allocated."""
    before = memory._resident()
    block = bytearray(b"x") * (64 * MEGABYTE)
    assert memory._resident() - before > 32 * MEGABYTE
    assert len(block) == 64 * MEGABYTE


class Circle:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_what_refers_to_itself_is_freed_once_a_minute() -> None:
    """Without the garbage collector's own threshold."""
    free = memory.FreeMemory()
    gc.disable()
    try:
        free.release(100.0)
        circle = weakref.ref(Circle())
        free.release(159.0)
        assert circle() is not None
        free.release(160.0)
        assert circle() is None
    finally:
        gc.enable()
