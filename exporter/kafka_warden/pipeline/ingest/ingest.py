"""Takes the new files of a landing zone."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import HistoryFileError
from kafka_warden.history.parquet.footers import Found, Inventory, Range
from kafka_warden.history.schema import BY_NAME, ddl
from kafka_warden.pipeline.addresses import literal
from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.ingest.batch import AHEAD, Read, Summary, complete, known, last_batch, plan, write
from kafka_warden.pipeline.ingest.plan import How, gaps, planned
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import LANDING, Store


def ingest(claim: Claim, landing: Inventory, progress: Progress) -> Summary:
    """Take all new files in one batch. The store exists.

    Raises:
        StoreInUseError: another process has taken over.
    """
    store = claim.store
    last, interrupted = last_batch(store)
    wrong = []
    if interrupted:
        listed = {(file.place, file.size) for file in landing.files}
        wrong += complete(
            claim, last, interrupted, lambda row: (row["place"], row["size"]) in listed, _reader(store), progress
        )
    new = _unknown(store, landing)
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
        [*(f"NOT TAKEN: {problem}" for problem in problems), *wrong],
        gaps(decided, before),
    )


def _reader(store: Store) -> Read:
    def read(name: str, rows: Sequence[Any]) -> DataFrame:
        places = sorted({row["place"] for row in rows})
        return store.spark.read.schema(ddl(BY_NAME[name])).parquet(*map(literal, places))

    return read


def _unknown(store: Store, landing: Inventory) -> list[Found]:
    """Return the files that no batch has. A file that was replaced by one of another size is another file."""
    files = store.read(LANDING).where(F.col("how").isin(How.NEW, How.MERGE, How.DUPLICATE))
    rows: list[Any] = files.select("place", "size").distinct().collect()
    taken = {(place, size) for place, size in rows}
    return [file for file in landing.files if (file.place, file.size) not in taken]


def _opened(landing: Inventory, files: Sequence[Found]) -> tuple[list[tuple[Found, Sequence[Range]]], list[str]]:
    """Return the files that can be taken, with their ranges, and what is wrong with others."""
    found: list[tuple[Found, Sequence[Range]]] = []
    problems = []
    latest = time.time() + AHEAD
    for file, ranges in landing.ranges(files):
        if isinstance(ranges, HistoryFileError):
            problems.append(str(ranges))
        elif any(part.since > latest for part in ranges):
            first = datetime.fromtimestamp(max(part.since for part in ranges), UTC).isoformat(timespec="seconds")
            problems.append(
                f"{file.place}: it has rows of {first}, and this machine's clock is more than a day behind that; set"
                " the clock of the sidecar, or of this machine. It is taken when that time has come"
            )
        elif ranges:
            found.append((file, ranges))
    return found, problems
