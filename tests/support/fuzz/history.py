"""The target `history`: damaged files of history, which another process reads.

pyarrow is C++: a case may end its process, which is a finding as any other.
"""

import random
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.worker import Worker
from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.reader import polls
from tests.history.places import write
from tests.history.replay import scene_polls
from tests.support.fuzz.runner import MOST_CPU
from tests.support.fuzz.wire import mutated

FOOTER: Final = 3000
"""Bytes at the end of a file in which most faults are."""
MAGIC: Final = 8
"""Bytes at the end with the length of the footer: a fault there is found before anything else is read."""


class History:
    """A damaged file is read, or refused by a `HistoryFileError`. The first byte of a case is the file's number."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        write(Path(self._folder.name), scene_polls())
        self._files = sorted(Path(self._folder.name).rglob("*.parquet"))
        self._whole = [file.read_bytes() for file in self._files]
        self._reader: Worker | None = None

    def close(self) -> None:
        self._end()
        self._folder.cleanup()

    def make(self, chance: random.Random) -> bytes:
        number = chance.randrange(len(self._files))
        whole = self._whole[number]
        last = len(whole) - MAGIC
        place = chance.randrange(last) if chance.random() < 0.3 else max(last - chance.randint(1, FOOTER), 0)
        return bytes([number]) + whole[:place] + mutated(whole[place:last], chance) + whole[last:]

    def check(self, data: bytes) -> None:
        file = self._files[data[0]]
        file.write_bytes(data[1:])
        try:
            problem = self._read()
        finally:
            file.write_bytes(self._whole[data[0]])
        assert not problem, problem

    def _read(self) -> str:
        self._reader = self._reader or Worker(__name__, {"folder": self._folder.name})
        try:
            return str(self._reader.step())
        except (RuntimeError, BrokenPipeError) as failure:
            self._end()
            return f"the reader ended: {failure}"

    def _end(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[None, Callable[[str], str]]]:
    """The reader, a worker: each step reads a folder, and returns what is wrong."""
    yield None, lambda _: _problem(argument["folder"])


def _problem(folder: str) -> str:
    began = time.process_time()
    try:
        list(polls(Path(folder)))
    except HistoryFileError as failure:
        return "" if folder in str(failure) else f"no name of a file: {failure}"
    except Exception:  # noqa: BLE001  # any is a finding
        return traceback.format_exc()
    spent = time.process_time() - began
    return f"it took {spent:.2f} s of CPU" if spent > MOST_CPU else ""
