"""The target `history`: damaged files of history. Run as a program, it reads the cases of standard input.

pyarrow is C++: a case may end its process, which is a finding as any other.
"""

import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Final

from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.reader import polls
from tests.history.places import write
from tests.history.replay import scene_polls
from tests.support.fuzz.runner import MOST_CPU
from tests.support.fuzz.wire import mutated

ROOT: Final = Path(__file__).parents[3]
FOOTER: Final = 3000
"""Bytes at the end of a file in which most faults are."""
MAGIC: Final = 8
"""Bytes at the end with the length of the footer: a fault there is found before anything else is read."""


class History:
    """A damaged file is read, or refused by a `HistoryFileError`. The first byte of a case is the file's number."""

    name = "history"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        write(Path(self._folder.name), scene_polls())
        self._files = sorted(Path(self._folder.name).rglob("*.parquet"))
        self._whole = [file.read_bytes() for file in self._files]
        self._reader: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End the reader and remove the files."""
        self._end()
        self._folder.cleanup()

    def make(self, chance: random.Random) -> bytes:
        """Mutate one of the files."""
        number = chance.randrange(len(self._files))
        whole = self._whole[number]
        last = len(whole) - MAGIC
        place = chance.randrange(last) if chance.random() < 0.3 else max(last - chance.randint(1, FOOTER), 0)
        return bytes([number]) + whole[:place] + mutated(whole[place:last], chance) + whole[last:]

    def check(self, data: bytes) -> None:
        """Have the reader read all files, one of which is damaged."""
        file = self._files[data[0]]
        file.write_bytes(data[1:])
        try:
            problem = self._read()
        finally:
            file.write_bytes(self._whole[data[0]])
        assert not problem, problem

    def _read(self) -> str:
        if self._reader is None:
            command = [sys.executable, "-m", "tests.support.fuzz.history"]
            self._reader = subprocess.Popen(
                command, cwd=ROOT, env=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        stdin, stdout = self._reader.stdin, self._reader.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{self._folder.name}\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            code = self._end()
            return f"the reader ended with code {code}"
        return answer.strip().replace("\\n", "\n")

    def _end(self) -> int:
        reader, self._reader = self._reader, None
        if reader is None:
            return 0
        for pipe in (reader.stdin, reader.stdout):
            if pipe is not None:
                pipe.close()
        return reader.wait()


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


if __name__ == "__main__":
    for line in sys.stdin:
        print(_problem(line.rstrip("\n")).replace("\n", "\\n"), flush=True)
