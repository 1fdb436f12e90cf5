"""`python -m bench.history_memory`: memory that history on a disk adds to the sidecar, at any time of an hour.

Two processes evaluate and render the same generated polls, 10 s apart by their time, one of them with history. The
greatest memory of each during each poll is compared, files that are written within it included. Pages of libraries are
counted apart: they are clean, so the kernel can drop them, and shared with other processes of the same image.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.procfs import memory_bytes
from bench.report import Row, median, show
from bench.scale import INTERVAL, evaluate, snapshots
from bench.worker import Worker
from kafka_warden.app import tune_interpreter
from kafka_warden.exposition import Exposition
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.history.recorder import Sink
from kafka_warden.model import Parameters, Snapshot

SIZES: Final = (60, 10_005)
POLLS: Final = 370
"""A little more than an hour, so that a file of each table is written at its end."""
WARM_UP: Final = 8
MOST_MEGABYTES: Final = 20.0


def main() -> int:
    """Measure every size; the exit code shows whether all are as they must be."""
    parser = argparse.ArgumentParser(prog="python -m bench.history_memory", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="PARTITIONS")
    parser.add_argument("--polls", type=int, default=POLLS)
    given = parser.parse_args()
    return show(_measure(size, given.polls) for size in given.sizes)


def _measure(partitions: int, polls: int) -> Row:
    argument = {"partitions": partitions, "polls": polls}
    with (
        Worker("bench.history_memory", {**argument, "history": True}) as more,
        Worker("bench.history_memory", {**argument, "history": False}) as less,
    ):
        peaks = [(more.step(), less.step()) for _ in range(polls)]
    added = [high - low for (high, _), (low, _) in peaks][WARM_UP:]
    (_, more_code), (_, less_code) = peaks[-1]
    note = (
        f"{median(added):+.1f} MB as a rule, and {more_code - less_code:+.1f} MB of code;"
        f" {max(low for _, (low, _) in peaks):.0f} MB without history"
    )
    return Row(f"{partitions} partitions: memory added at most", max(added), "MB", MOST_MEGABYTES, note)


@contextmanager
def prepare(argument: dict[str, Any]) -> Iterator[tuple[None, Callable[[str], tuple[float, float]]]]:
    """A worker: each step evaluates, renders and records a poll, and returns what `_peaks` yields."""
    tune_interpreter()
    sys.meta_path.insert(0, _NoPandas())
    sink = None
    with tempfile.TemporaryDirectory() as folder:
        if argument["history"]:
            from kafka_warden.history.parquet.sink import ParquetSink  # noqa: PLC0415  # brings pyarrow

            sink = ParquetSink(Path(folder))
        peaks = _peaks(snapshots(argument["partitions"], argument["polls"]), sink)
        yield None, lambda _: next(peaks)


class _NoPandas:
    """Hides pandas, which pyarrow imports where it is installed. The sidecar does not need it."""

    def find_spec(self, name: str, *_: object) -> None:  # of the import system
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _peaks(polls: Iterable[Snapshot], sink: Sink | None) -> Iterator[tuple[float, float]]:
    """Yield the greatest memory during each poll without pages of files, and pages of files, in MB."""
    parameters = Parameters(poll_interval=INTERVAL, network_bytes_per_second=125e6)
    exposition, memory = Exposition(parameters.series_budget), None
    for number, snapshot in enumerate(polls):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts again
        remembered = Remembered.KEPT if memory is not None else Remembered.NOTHING
        memory, view = evaluate(snapshot, memory, parameters)
        page = exposition.render(view.exporter, view)
        if sink is not None:
            sink.write(Poll(snapshot, view.derived, parameters, "run", number, remembered))
        peak, files = (memory_bytes(os.getpid(), name) / 1e6 for name in ("VmHWM", "RssFile"))
        yield peak - files, files
        del page, view


if __name__ == "__main__":
    sys.exit(main())
