"""One writer of a job's tables at a time (docs/pipeline-store.md, *One writer*).

A run of a job claims the next number in `marks/JOB` and renews its lease there. The lease only decides when another
process may take over. That no late commit of the first one counts is decided by Delta: all commits of a job have
numbers that only grow, and the new holder first commits its number to each table of the job.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import count
from typing import Any, Final

from pyspark.sql import DataFrame

from kafka_warden.errors import StoreInUseError
from kafka_warden.pipeline import writers
from kafka_warden.pipeline.failures import SPARK_FAILURES
from kafka_warden.pipeline.frames import of_rows
from kafka_warden.pipeline.store import Store, StoredTable

LEASE: Final = 900.0
"""Seconds after the last renewal at which another process may take over."""
LONGEST: Final = 24 * 3600.0
"""Seconds that a lease may have left. Clocks of hosts differ by less."""
RENEWALS: Final = 3
"""In one lease."""
COMMITS: Final = 1_000_000
"""Numbers of one run: more than its commits. A call on a topic makes many batches, of some ten commits each."""

UNSEEN: Final = 1_000_000
"""Runs, at most, after the last one whose number is in the log of a table: one for each minute of two years."""

UNUSED: Final = 7 * 24
"""Hours for which files stay that no version of a table has any more: readers may still have them open."""
MARKS_UNUSED: Final = 24
"""The same of marks, of which a run in a loop writes three files, and that are read within seconds."""
_OF_MARKS: Final = tuple(
    (f"delta.{name}RetentionDuration", f"interval {MARKS_UNUSED} hours") for name in ("log", "deletedFile")
)

ENDED: Final = None
ABANDONED: Final = 0.0
"""`until` of a run that is over; after a failure the next run still takes over, since Spark may not have stopped."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What the table `marks/JOB` has."""

    run: int
    """The last claim; 0 if there is none."""
    writer: str
    until: float | None
    """When its lease ends, Unix s; or `ENDED`, or `ABANDONED`."""
    batches: dict[str, int]
    """Cluster to the last batch that the job has read."""
    vacuumed: date | None = None
    """Day on which the files were last deleted that its tables do not use any more."""

    def is_held(self) -> bool:
        """Return whether another process must not take over yet.

        A lease that ends later than `LONGEST` comes from a host whose clock was ahead. It would block all others.
        """
        now = time.time()
        return self.until is not ENDED and now < self.until <= now + LONGEST and not writers.is_gone(self.writer)


def table(job: str) -> StoredTable:
    """Return the table of the marks of a job. It is one table for each job, so that a table has one writer."""
    columns = "cluster_id string, batch bigint, run bigint, writer string, until double, vacuumed date"
    return StoredTable(f"marks/{job}", columns, (), _OF_MARKS)


def read(store: Store, job: str) -> Marks:
    """Read the marks of a job."""
    rows: list[Any] = store.read(table(job)).collect()
    run = max((row["run"] for row in rows), default=0)
    batches = {row["cluster_id"]: row["batch"] for row in rows if row["cluster_id"] is not None}
    mine = [row for row in rows if row["run"] == run and row["cluster_id"] is None]
    ends = {row["until"] for row in mine}
    over = ENDED if ENDED in ends or not ends else ABANDONED if ABANDONED in ends else max(ends)
    vacuumed = max((row["vacuumed"] for row in rows if row["vacuumed"] is not None), default=None)
    return Marks(run, mine[0]["writer"] if mine else "", over, batches, vacuumed)


@dataclass(slots=True)
class Claim:
    """The right of one run to write the tables of its job."""

    store: Store
    job: str
    run: int
    batches: dict[str, int] = field(default_factory=dict)
    """As in `Marks`, also `vacuumed`; what is here at the end of the run is stored."""
    vacuumed: date | None = None
    failure: Exception | None = None
    """Of `upkeep`."""
    _commits: Iterator[int] = field(default_factory=count)

    def append(self, to: StoredTable, rows: DataFrame) -> None:
        """Add rows in one commit.

        Raises:
            StoreInUseError: another process has taken over.
        """
        self._commit(lambda number: self.store.append(to, rows, self.job, number))

    def replace(self, to: StoredTable, rows: DataFrame, where: str) -> None:
        """Replace the rows that match an SQL condition, in one commit; as `append`."""
        self._commit(lambda number: self.store.replace(to, rows, where, self.job, number))

    def check(self) -> Marks:
        """Return the marks.

        Raises:
            StoreInUseError: another process has taken over. Delta ignores commits whose number is too low.
        """
        marks = read(self.store, self.job)
        if (marks.run, marks.writer) != (self.run, self.store.writer):
            raise StoreInUseError(
                f"{self.store.place}: {marks.writer} runs {self.job}; this run commits nothing more, run one at a time"
            )
        return marks

    def renew(self, until: float | None) -> None:
        """Append when the lease ends, as `Marks.until`."""
        # Not "lease": older programs numbered those by the clock, and Delta ignores lower numbers.
        self.store.append(table(self.job), self._held(until), f"{self.job} renewals", self._number())

    def claim(self, fenced: Callable[[Store], Iterable[StoredTable]], *, takes_over: bool) -> None:
        """Commit the claim, and if it takes over then to all tables of the job.

        `fenced`: yields the tables one by one. Each has the number of this run before the next one is asked for.
        """
        self.append(table(self.job), self._held(time.time() + LEASE))
        found = self.check()
        self.batches, self.vacuumed = found.batches, found.vacuumed
        if takes_over:
            for each in fenced(self.store):
                self.append(each, of_rows(self.store.spark, [], each.ddl))

    @contextmanager
    def upkeep(self) -> Iterator[None]:
        """Keep a failure of Spark in the block until the run has ended: what it has computed stays."""
        try:
            yield
        except SPARK_FAILURES as failure:
            self.failure = failure

    def vacuum(self, tables: Iterable[StoredTable]) -> None:
        """Delete the files that the tables of the job do not use any more, and those of its marks, once a day."""
        # A new store has no such files.
        if self.is_new_day():
            for each in tables:
                self.store.vacuum(each, UNUSED)
            # `vacuum` needs all entries since the last one, and this log has those of a day. The table is small.
            self.store.list_and_vacuum(table(self.job), MARKS_UNUSED)
        self.vacuumed = self.store.today()

    def is_new_day(self) -> bool:
        """Return whether `vacuum` was called on an earlier day, and not yet today.

        A day later than tomorrow comes from a host whose clock was ahead.
        """
        today = self.store.today()
        return self.vacuumed is not None and not today <= self.vacuumed <= today + timedelta(days=1)

    def finish(self) -> None:
        """Store the marks, and end the run."""
        self.check()
        mine = (self.run, self.store.writer)
        rows = [(cluster, batch, *mine, None, None) for cluster, batch in self.batches.items()]
        marks = self._rows([*rows, (None, None, *mine, ENDED, self.vacuumed)])
        self._commit(lambda number: self.store.overwrite(table(self.job), marks, self.job, number))

    def _held(self, until: float | None) -> DataFrame:
        return self._rows([(None, None, self.run, self.store.writer, until, None)])

    def _rows(self, rows: list[Any]) -> DataFrame:
        return of_rows(self.store.spark, rows, table(self.job).ddl)

    def _number(self) -> int:
        return self.run * COMMITS + next(self._commits)

    def _commit(self, write: Callable[[int], None]) -> None:
        try:
            write(self._number())
        except SPARK_FAILURES:
            # Delta, or a conditional PUT, has refused it: perhaps since another process has committed.
            self.check()
            raise


@contextmanager
def holding(store: Store, job: str, fenced: Callable[[Store], Iterable[StoredTable]]) -> Iterator[Claim]:
    """Claim the next run of a job for the block. `fenced`: as of `Claim.claim`.

    Raises:
        StoreInUseError: another process holds the job, or has taken over.
    """
    before = _last(store, job, fenced)
    if before.is_held():
        until = time.strftime("%H:%M:%S UTC", time.gmtime(before.until))
        raise StoreInUseError(
            f"{store.place}: {before.writer} runs {job}; run one at a time. If it was killed on another machine,"
            f" or before this one started, its lease ends at {until}"
        )
    claim = Claim(store, job, before.run + 1)
    claim.claim(fenced, takes_over=before.until is not ENDED)
    try:
        with _renewed(claim):
            yield claim
        claim.finish()
    except StoreInUseError:
        raise
    except BaseException:
        # The failure itself is what is reported.
        with suppress(Exception):
            claim.renew(ABANDONED)
        raise
    if claim.failure is not None:
        raise claim.failure


def _last(store: Store, job: str, fenced: Callable[[Store], Iterable[StoredTable]]) -> Marks:
    """Read the marks of a job. If they were deleted, the logs of its tables have the number of an earlier run."""
    if (found := read(store, job)).run:
        return found
    # Each is a listing or two.
    with ThreadPoolExecutor() as threads:
        last = max(threads.map(lambda each: store.last_number(each, job), (table(job), *fenced(store)))) // COMMITS
    # Another run may have begun meanwhile.
    found = read(store, job)
    return found if found.run or not last else replace(found, run=last + UNSEEN, until=ABANDONED)


@contextmanager
def _renewed(claim: Claim) -> Iterator[None]:
    done = threading.Event()

    def renew() -> None:
        while not done.wait(LEASE / RENEWALS):
            # The next renewal is in time, and the job's own commits report what is wrong.
            with suppress(*SPARK_FAILURES, StoreInUseError):
                claim.check()
                claim.renew(time.time() + LEASE)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
