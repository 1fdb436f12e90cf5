"""Takes the new files of a landing zone."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.errors import HistoryFileError, StoreError
from kafka_warden.history.parquet.footers import Found, Inventory, Range, existing
from kafka_warden.history.schema import BY_NAME, ddl
from kafka_warden.pipeline.addresses import literal
from kafka_warden.pipeline.claims import Claim
from kafka_warden.pipeline.ingest.batch import Read, Summary, known, last_batch, plan, write
from kafka_warden.pipeline.ingest.plan import How, gaps, planned
from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import LANDING, Store


def ingest(claim: Claim, landing: Inventory, progress: Progress) -> Summary:
    """Take all new files in one batch. The store exists, and no batch of a topic was interrupted.

    Raises:
        StoreInUseError: another process has taken over.
    """
    store = claim.store
    last, interrupted = last_batch(store)
    lost = _completed(claim, last, interrupted, progress) if interrupted else []
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
        [*(f"NOT TAKEN: {problem}" for problem in problems), *lost],
        gaps(decided, before),
    )


def _completed(claim: Claim, batch: int, rows: Sequence[Any], progress: Progress) -> list[str]:
    topics = [row["place"] for row in rows if row["how"] == How.OFFSETS]
    if topics:
        raise StoreError(
            f"{claim.store.place}: batch {batch} of {topics[0]} was interrupted; first run ingest again on that topic"
        )
    return complete(claim, batch, rows, progress)


def complete(claim: Claim, batch: int, rows: Sequence[Any], progress: Progress) -> list[str]:
    """Complete a batch of files that was interrupted; return a line for each file that has vanished."""
    places = {row["place"] for row in rows if row["how"] in (How.NEW, How.MERGE)}
    left = existing(places)
    with progress.step(f"batch {batch}, which was interrupted"):
        mine = [row for row in rows if row["place"] in left]
        write(claim, batch, mine, _reader(claim.store), progress, again=True)
    return [f"LOST: {place}: deleted before its rows were taken" for place in sorted(places - left)]


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


def _opened(
    landing: Inventory, files: Sequence[Found]
) -> tuple[list[tuple[Found, Sequence[Range]]], list[HistoryFileError]]:
    found: list[tuple[Found, Sequence[Range]]] = []
    problems = []
    for file, ranges in landing.ranges(files):
        if isinstance(ranges, HistoryFileError):
            problems.append(ranges)
        elif ranges:
            found.append((file, ranges))
    return found, problems
