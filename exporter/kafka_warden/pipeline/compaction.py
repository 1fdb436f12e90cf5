"""Makes one file of many: each commit adds a file to each partition that it touches."""

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import date
from typing import Final

from kafka_warden.pipeline.progress import Progress
from kafka_warden.pipeline.store import Store, StoredTable, in_list

FILES: Final = 32
"""Files of a partition above which they are compacted, unless it is of a day that has ended: loops add many."""

_DAY_FOLDER: Final = re.compile(r"/date=(\d{4}-\d\d-\d\d)$")


def compact(store: Store, table: StoredTable, where: str, progress: Progress | None = None) -> None:
    """Compact the partitions that match an SQL condition and have too many files."""
    found = crowded(store.files(table, where), store.today())
    if found is not None:
        with progress.step(f"{table.name}: compaction") if progress else nullcontext():
            store.compact(table, found)


def crowded(files: Iterable[str], today: date) -> str | None:
    """Return an SQL condition on the days with too many files, or on all rows of a table without days.

    `files`: addresses. None: no folder has too many.
    """
    days = set()
    for folder, count in Counter(file.rpartition("/")[0] for file in files).items():
        found = _DAY_FOLDER.search(folder)
        if found is None and count > FILES:
            return "cluster_id IS NOT NULL"
        if found is not None and count > (1 if found[1] < str(today) else FILES):
            days.add(found[1])
    return in_list("date", days) if days else None
