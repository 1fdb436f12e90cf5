"""`python -m bench.rollup`: two jobs on growing histories, with DuckDB beside them, and on a standalone Spark.

A history in bulk of one cluster is generated for each size (docs/fleet.md): 10,005 partitions with three replicas, 10 s
between two polls. Each run is a process of its own, `local[2]` with 4 GB. Spark's event log has the spilled bytes.
`ingest` makes the store, `rollup` its marts. Spark also copies the files as they are. DuckDB makes the same nine marts;
all have to be alike.
"""

import argparse
import itertools
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.rollup_engines import MEMORY, Run, duck, plain, spark
from fleet.bulk import generate_bulk
from fleet.settings import DAY, Settings
from sandbox.spark import standalone

SIZES: Final = (10_000_000, 20_000_000, 50_000_000, 100_000_000)
LINEAR: Final = 2.2
"""Highest factor of the time for twice the rows."""
PARTITIONS: Final = 10_005
BROKERS: Final = 12
FACTOR: Final = 3
INTERVAL: Final = 10.0
CORES: Final = 2
SUBMITTED: Final = ("--memory", "1g", "--conf", "spark.executor.memory=1500m", "--conf", "spark.driver.host=127.0.0.1")
"""Flags of the run on a standalone Spark: small, since driver, master, workers and executors share this machine."""
MEBIBYTE: Final = 1 << 20


def main() -> int:
    """Measure each size; the exit code shows whether all targets were reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.rollup", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="ROWS", help="replica samples")
    parser.add_argument("--scratch", type=Path, help="where history and marts go (default: a temporary folder)")
    given = parser.parse_args()
    with ExitStack() as stack:
        scratch = given.scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runs = list(measure(given.sizes, scratch))
    print("\n".join(table(runs)))
    return 0 if is_linear(runs) and agree(runs) else 1


def measure(sizes: Sequence[int], scratch: Path) -> Iterator[Run]:
    """Run every size, and the first one on a standalone Spark, too."""
    for size in sizes:
        history, made = generated(scratch / str(size), size)
        yield from map(shown, spark(history, scratch, made, f"local[{CORES}]", ["--memory", MEMORY]))
        yield shown(plain(history, scratch, made))
        yield shown(duck(history, scratch, made))
        if size == sizes[0]:
            with standalone(scratch / "standalone") as cluster:
                yield from map(shown, spark(history, scratch, made, cluster.address, SUBMITTED, cluster.workers))


def generated(folder: Path, rows: int) -> tuple[Path, int]:
    """Generate whole polls with at least this number of replica samples; return the history and the number."""
    polls = -(-rows // (PARTITIONS * FACTOR))
    settings = Settings(
        partitions=PARTITIONS,
        brokers=BROKERS,
        replication_factor=FACTOR,
        interval=INTERVAL,
        days=polls * INTERVAL / DAY,
    )
    generate_bulk(settings, folder, lambda _: None, CORES)
    return folder / "history", polls * PARTITIONS * FACTOR


def shown(run: Run) -> Run:
    """Print a run when it has ended."""
    print(row(run), file=sys.stderr, flush=True)
    return run


def is_linear(runs: Sequence[Run]) -> bool:
    """Return whether twice the rows take at most `LINEAR` times as long, from each size to the next."""
    mine = [run for run in runs if run.name.startswith("Spark, local") and run.sums]
    pairs = itertools.pairwise(mine)
    return all(two.seconds <= one.seconds * LINEAR ** math.log2(two.rows / one.rows) for one, two in pairs)


def pairs_of(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Return all pairs of runs with the same rows that did not fail."""
    done = [run for run in runs if run.sums]
    return [(one, two) for one, two in itertools.combinations(done, 2) if one.rows == two.rows]


def agree(runs: Sequence[Run]) -> bool:
    """Return whether runs with the same rows have the same sums, except for rounding."""
    return all(
        math.isclose(mine, theirs, rel_tol=1e-9)
        for one, two in pairs_of(runs)
        for mart in one.sums
        for mine, theirs in zip(one.sums[mart], two.sums[mart], strict=True)
    )


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Lines of the table."""
    yield f"History of {BROKERS} brokers, {PARTITIONS:,} partitions x {FACTOR}, a poll in {INTERVAL:g} s"
    yield "| | Replica samples | Time | Memory, at most | Spilled to disk |"
    yield "|---|---|---|---|---|"
    yield from map(row, runs)
    yield f"\nTwice the rows take at most {LINEAR} times as long: {is_linear(runs)}."
    yield f"{len(pairs_of(runs))} pairs of the same rows are alike: {agree(runs)}."


def row(run: Run) -> str:
    """One line."""
    disk = "" if math.isnan(run.spilled) else f"{run.spilled / MEBIBYTE:,.0f} MiB"
    time = f"{run.seconds:.1f} s" if math.isfinite(run.seconds) else ""
    memory = "" if math.isnan(run.memory) else f"{run.memory / MEBIBYTE:,.0f} MiB"
    return f"| {run.name} | {run.rows:,} | {time} | {memory} | {disk} |"


if __name__ == "__main__":
    sys.exit(main())
