"""`python -m bench.history_memory`: memory that history on a disk adds to the sidecar, at any time of an hour.

Two processes evaluate and render the same generated polls, 10 s apart by their time, one of them with history. The
greatest memory of each during each poll is compared, files that are written within it included.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from bench.scale import INTERVAL, snapshots
from kafka_warden.app import tune_interpreter
from kafka_warden.catalogue import Build, Sidecar, View
from kafka_warden.derive import derive
from kafka_warden.exposition import Exposition
from kafka_warden.history.poll import Poll, Remembered
from kafka_warden.model import Parameters

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
    parser.add_argument("--child", choices=["with", "without"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        for peak in _peaks(given.sizes[0], given.polls, history=given.child == "with"):
            print(json.dumps(peak), flush=True)
        return 0
    reached = True
    for size in given.sizes:
        without, with_history = (_child(size, given.polls, which) for which in ("without", "with"))
        added = [more - less for more, less in zip(with_history, without, strict=True)][WARM_UP:]
        reached = reached and max(added) <= MOST_MEGABYTES
        print(
            f"{size} partitions: {max(added):+.1f} MB at most, {added[len(added) // 2]:+.1f} MB in the middle,"
            f" {max(without):.0f} MB without history: {'reached' if max(added) <= MOST_MEGABYTES else 'missed'}",
            flush=True,
        )
    return 0 if reached else 1


def _child(size: int, polls: int, which: str) -> list[float]:
    command = [sys.executable, "-m", "bench.history_memory", "--sizes", str(size), "--polls", str(polls)]
    done = subprocess.run([*command, "--child", which], stdout=subprocess.PIPE, text=True, check=True)
    return [float(line) for line in done.stdout.splitlines()]


def _peaks(partitions: int, polls: int, *, history: bool) -> Iterator[float]:
    """Evaluate, render and record polls; yield the greatest memory during each, in megabytes."""
    tune_interpreter()
    parameters = Parameters(poll_interval=INTERVAL, network_bytes_per_second=125e6)
    exposition, memory, sink = Exposition(parameters.series_budget), None, None
    with tempfile.TemporaryDirectory() as folder:
        if history:
            from kafka_warden.history.parquet.sink import ParquetSettings, ParquetSink  # noqa: PLC0415  # brings pyarrow

            sink = ParquetSink(ParquetSettings(Path(folder)))
        for number, snapshot in enumerate(snapshots(partitions, polls)):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts again
            remembered = Remembered.KEPT if memory is not None else Remembered.NOTHING
            memory, derived = derive(snapshot, memory, parameters)
            sidecar = Sidecar(snapshot.status, Build("0", "0", "3"), snapshot.time)
            page = exposition.render(sidecar, View(derived, sidecar, np.ones(len(snapshot.topics), bool)))
            if sink is not None:
                sink.write(Poll(snapshot, derived, parameters, "run", number, remembered))
            yield _peak()
            del page, derived


def _peak() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    sys.exit(main())
