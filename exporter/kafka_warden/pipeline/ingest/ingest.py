"""Takes the new files of a landing zone."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.reader import Found, Inventory
from kafka_warden.history.schema import BY_NAME, ddl
from kafka_warden.pipeline.addresses import literal
from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.ingest.batch import (
    AHEAD,
    Read,
    Summary,
    complete,
    known,
    last_batch,
    plan,
    withdrawn,
    write,
)
from kafka_warden.pipeline.ingest.plan import How, gaps, planned
from kafka_warden.pipeline.ingest.ranges import Range, read_ranges
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import LANDING, Store
from kafka_warden.pipeline.timeline import HOUR

CLOCK: Final = (
    "more than a day ahead of this machine's clock; set the clock of the sidecar, or of this machine. They are taken"
    " when they are less than a day ahead"
)


def ingest(claim: Claim, landing: Inventory, progress: Progress, oldest: float = 0.0) -> Summary:
    """Take all new files of `oldest` (Unix s) and later in one batch. The store exists.

    Raises:
        StoreInUseError: another process has taken over.
    """
    store = claim.store
    last, interrupted = last_batch(store)
    wrong = _complete(claim, last, interrupted, landing, progress) if interrupted else []
    new = _unknown(store, landing, oldest)
    with progress.step(f"{len(new)} new files: footers"):
        found, problems = _opened(landing, new)
    before = known(store, ((file.table, part) for file, ranges in found for part in ranges))
    decided = planned(found, before)
    if decided:
        last += 1
        write(claim, last, plan(claim, last, decided), _reader(store), progress)
    taken = [each for each in decided if each.how is not How.DUPLICATE]
    return Summary(
        last,
        sum(part.rows for each in taken for part in each.ranges),
        f"{len(taken)} new files; {len(decided) - len(taken)} files were known",
        wrong,
        gaps(decided, before),
        [f"NOT TAKEN: {problem}" for problem in problems],
    )


def _complete(claim: Claim, batch: int, rows: Sequence[Any], landing: Inventory, progress: Progress) -> list[str]:
    """Complete a batch that was interrupted; return what to report."""
    listed = {(file.place, file.size) for file in landing.files}
    away = complete(
        claim, batch, rows, lambda row: (row["place"], row["size"]) in listed, _reader(claim.store), progress
    )
    # A file that has another size now is taken as a new one.
    return withdrawn(batch, set(away) - {file.place for file in landing.files})


def _reader(store: Store) -> Read:
    def read(name: str, rows: Sequence[Any]) -> DataFrame:
        places = sorted({row["place"] for row in rows})
        return store.spark.read.schema(ddl(BY_NAME[name])).parquet(*map(literal, places))

    return read


def _unknown(store: Store, landing: Inventory, oldest: float) -> list[Found]:
    """Return the files that no batch has. A file that was replaced by one of another size is another file."""
    files = store.read(LANDING).where(F.col("how").isin(How.NEW, How.MERGE, How.DUPLICATE))
    rows: list[Any] = files.select("place", "size").distinct().collect()
    taken = {(place, size) for place, size in rows}
    recent = (file for file in landing.files if file.hour * HOUR >= oldest)
    return [file for file in recent if (file.place, file.size) not in taken]


def _opened(landing: Inventory, files: Sequence[Found]) -> tuple[list[tuple[Found, Sequence[Range]]], list[str]]:
    """Return the files that can be taken, with their ranges, and what is wrong with others."""
    found: list[tuple[Found, Sequence[Range]]] = []
    problems = []
    latest = time.time() + AHEAD
    ahead: Counter[str] = Counter()
    for file, parts in read_ranges(landing, files):
        if isinstance(parts, HistoryFileError):
            problems.append(str(parts))
        elif early := {part.cluster_id for part in parts if part.since > latest}:
            ahead.update(early)
        elif parts:
            found.append((file, parts))
    return found, [*problems, *(f"files of cluster {cluster}: {count} are {CLOCK}" for cluster, count in ahead.items())]
