"""`python -m bench.nights`: what a night costs when a store on S3 is 90 days old, compared with one of 31 days.

Each cluster is polled once an hour for 90 days (`bench.nights_history`). All jobs run after days 1, 2 and 3, after day
30 and day 31, after day 87, and after days 88, 89 and 90. Before each run the files of its days are put into the
landing zone, and after it those older than seven days are deleted. The server counts requests, listed keys and bytes,
and Spark's event log has the tasks.

Each run has the time of the night after its last day (`bench.clock`), also for Delta and for the server, so that files
and log entries are deleted when they would be.
"""

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.fs as pafs
from deltalake import DeltaTable

from bench import clock
from bench.nights_bucket import CountingBucket
from bench.nights_history import Fleet, date_of, generated
from bench.nights_keys import sort_keys
from bench.nights_saved import FILE, Saved, by_field, restore, save
from bench.rollup_engines import events_of
from kafka_warden import cli
from kafka_warden.pipeline.jars import COMPILED, S3, build, fetch, listed
from kafka_warden.pipeline.store import KEEP
from sandbox.jars import cache_directory
from tests.pipeline.commands import PLAIN
from tests.pipeline.on_s3 import LANDING, STORE, download, environment, make, system
from tests.support.s3 import BUCKET, serving

Calls = Sequence[tuple[int, int]]
CALLS: Final[Calls] = ((1, 1), (2, 2), (3, 3), (4, 30), (31, 31), (32, 87), (88, 88), (89, 89), (90, 90))
"""First and last day of each run."""
BASE: Final = 31
COMPARED: Final = (88, 89, 90)
MOST: Final = 1.3
"""Highest ratio of a night's cost to that of `BASE`."""
LANDING_DAYS: Final = 7
CLUSTERS: Final = 20
MEBIBYTE: Final = 1 << 20
JOBS: Final = "ingest,rollup,moves,backtest,forecast"
TOO_SHORT: Final = "too_short"
COUNTED: Final = ("requests", "listed", "read")
LIMITED: Final = ("S3 requests", "MiB read", "tasks")
"""Costs of which `MOST` is the highest ratio. Objects come a thousand in a listing."""


@dataclass(frozen=True, slots=True)
class Night:
    """What one run cost."""

    day: int
    requests: Counter[str]
    """By folder, as `listed` and `read`."""
    listed: Counter[str]
    read: Counter[str]
    tasks: int
    seconds: float

    def costs(self) -> dict[str, float]:
        """Return the sums that are compared."""
        return {
            "S3 requests": self.requests.total(),
            "objects listed": self.listed.total(),
            "MiB read": self.read.total() / MEBIBYTE,
            "tasks": self.tasks,
        }


def main() -> int:
    """Run all calls and print the table; the exit code shows whether the nights cost what they should."""
    parser = argparse.ArgumentParser(prog="python -m bench.nights", description=__doc__)
    parser.add_argument("--clusters", type=int, default=CLUSTERS, help=f"default: {CLUSTERS}")
    what = "for all that it writes; a run that was stopped continues after its last call (default: a temporary folder)"
    parser.add_argument("--scratch", type=Path, help=what)
    parser.add_argument("--calls", type=calls, default=CALLS, metavar="DAYS", help="such as 1-30,31,32-87,88,89,90")
    given = parser.parse_args()
    clock.start(cache_directory())
    with ExitStack() as stack:
        scratch = given.scratch or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bucket = CountingBucket()
        # A line for each request.
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        stack.enter_context(serving(bucket))
        make(bucket)
        sort_keys()
        os.environ.update(environment(bucket), SPARK_SUBMIT_OPTS="-XX:+UseSerialGC")
        nights = measure(bucket, generated(scratch, given.clusters), scratch, given.calls)
        answers = outcomes(bucket, scratch)
    print("\n".join(table(nights, given.clusters, answers)))
    (scratch / FILE).unlink(missing_ok=True)
    found = ratios(nights)
    return 0 if max(found[name] for name in LIMITED) <= MOST and answers and TOO_SHORT not in answers else 1


def calls(text: str) -> Calls:
    """Read the first and last days of runs."""
    ends = [(first, last or first) for first, _, last in (part.partition("-") for part in text.split(","))]
    return [(int(first), int(last)) for first, last in ends]


def measure(bucket: CountingBucket, fleet: Fleet, scratch: Path, runs: Calls) -> list[Night]:
    """Run the calls that have not ended; return the nights that are compared."""
    saved = restore(scratch) or Saved(fleet.clusters, (), ())
    done = tuple((first, last) for first, last in saved.done)
    if saved.clusters != fleet.clusters or done != tuple(runs[: len(done)]):
        raise SystemExit(f"{scratch / FILE}: of a run with {saved.clusters} clusters and the calls {done}; delete it")
    if done:
        print(f"continues after day {done[-1][1]} of {scratch / FILE}", file=sys.stderr, flush=True)
    nights = [Night(**{**night, **{name: Counter(night[name]) for name in COUNTED}}) for night in saved.nights]
    for first, last in runs[len(done) :]:
        clock.set_to(date_of(last + 1))
        for day in range(first, last + 1):
            for path, content in fleet.day(day):
                with system(bucket).open_output_stream(f"{BUCKET}/landing/{path}") as file:
                    file.write(content)
        night = run(bucket, scratch, JOBS, first, last)
        print(line(night), file=sys.stderr, flush=True)
        for day in range(max(first - LANDING_DAYS, 1), last + 1 - LANDING_DAYS + 1):
            delete_day(bucket, day)
        if last - first + 1 > KEEP["raw"]:
            # It took days that are older than the retention: the next night would delete all of them.
            run(bucket, scratch, "ingest", last, last)
        if last in {BASE, *COMPARED}:
            nights.append(night)
        done = (*done, (first, last))
        save(scratch, Saved(fleet.clusters, done, [by_field(night) for night in nights]))
    return nights


def delete_day(bucket: CountingBucket, day: int) -> None:
    """Delete the files of one day from the landing zone, if it has them."""
    files = system(bucket)
    for table in files.get_file_info(pafs.FileSelector(f"{BUCKET}/landing")):
        place = f"{table.path}/date={date_of(day)}"
        if files.get_file_info(place).type == pafs.FileType.Directory:
            files.delete_dir(place)


def run(bucket: CountingBucket, scratch: Path, jobs: str, first: int, last: int) -> Night:
    """Run jobs in the night after the last day."""
    events = scratch / "events"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir()
    command = ["pipeline", jobs, "--store", STORE, "--input", LANDING, "--jars", str(s3_jars()), *PLAIN]
    command += ["--master", "local[2]", "--memory", "3g", "--keep-raw", str(max(KEEP["raw"], last - first + 1))]
    settings = {
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(scratch / "spark"),
    }
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    bucket.clear()
    began = time.monotonic()
    # Each call has a Spark context of its own, which reads all logs again, and the JVM stays warm.
    if code := cli.main(command):
        raise SystemExit(code)
    seconds = time.monotonic() - began
    tasks = sum(1 for _ in events_of(events))
    return Night(last, Counter(bucket.requested), Counter(bucket.listed), Counter(bucket.read), tasks, seconds)


def s3_jars() -> Path:
    """Return the folder of the jars of S3, fetched on first use."""
    folder = cache_directory() / "spark-jars-s3"
    fetch([jar for jar in listed() if jar.of in {"delta", S3}], folder)
    if not (folder / COMPILED).exists():
        build(folder)
    return folder


def outcomes(bucket: CountingBucket, scratch: Path) -> Counter[str]:
    """Count the forecasts by outcome."""
    shutil.rmtree(scratch / "forecasts", ignore_errors=True)
    folder = download(bucket, "store/forecasts", scratch / "forecasts")
    found = Counter(map(str, DeltaTable(folder).to_pyarrow_table(columns=["outcome"])["outcome"].to_pylist()))
    shutil.rmtree(folder)
    return found


def ratios(nights: Sequence[Night]) -> dict[str, float]:
    """Return the highest ratio of each cost to that of `BASE`."""
    base = next(night for night in nights if night.day == BASE).costs()
    return {
        name: max(night.costs()[name] for night in nights if night.day != BASE) / value for name, value in base.items()
    }


def table(nights: Sequence[Night], clusters: int, answers: Mapping[str, int]) -> Iterator[str]:
    """Lines of the result."""
    highest = ratios(nights)
    yield f"A store of {clusters} clusters on S3, a poll an hour; the jobs {JOBS}\n"
    yield f"| Night | {' | '.join(highest)} |"
    yield f"|---|{'---|' * len(highest)}"
    yield from map(line, nights)
    yield f"| highest / night {BASE} | {' | '.join(f'{ratio:.2f}' for ratio in highest.values())} |"
    yield f"\nAt most {MOST} times night {BASE}: {max(highest.values()) <= MOST}."
    yield f"Forecasts by outcome: {', '.join(f'{name} {count}' for name, count in sorted(answers.items()))}."
    yield "\nFolders with the most additional requests and bytes:\n"
    yield from grown(nights)


def line(night: Night) -> str:
    """Return a row of the table."""
    return f"| {night.day} | {' | '.join(f'{cost:,.0f}' for cost in night.costs().values())} |"


def grown(nights: Sequence[Night]) -> Iterator[str]:
    """Lines with the folders that cost more in the last night than in `BASE`."""
    base, end = next(night for night in nights if night.day == BASE), nights[-1]
    for what in COUNTED:
        before, after = getattr(base, what), getattr(end, what)
        more = Counter({name: count - before[name] for name, count in after.items()})
        for name, count in more.most_common(6):
            if count > 0:
                yield f"{what}: {name} {before[name]:,} to {after[name]:,}"


if __name__ == "__main__":
    sys.exit(main())
