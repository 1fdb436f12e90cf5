"""A benchmark that was stopped goes on with the objects that it had."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.fs as pafs
import pytest

from bench import nights
from bench.nights import Night, measure
from bench.nights_bucket import CountingBucket
from bench.nights_saved import FILE
from tests.pipeline.on_s3 import make, system
from tests.support.s3 import BUCKET, serving

CALLS = ((30, 30), (31, 31), (88, 88))
FLEET: Any = SimpleNamespace(clusters=2, day=lambda day: [(f"polls/date=x/{day}.parquet", b"landed")])


def objects(bucket: CountingBucket) -> list[Any]:
    """Address, size and time of each."""
    found = system(bucket).get_file_info(pafs.FileSelector(BUCKET, recursive=True))
    return sorted((file.path, file.size, file.mtime) for file in found if file.is_file)


def test_run_goes_on_after_its_last_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the times of the objects, the costs that are compared, and no call twice."""
    ran: list[int] = []

    def run(bucket: CountingBucket, _scratch: Path, _jobs: str, _first: int, last: int) -> Night:
        if last == CALLS[-1][1] and last not in ran:
            ran.append(last)
            raise KeyboardInterrupt
        ran.append(last)
        with system(bucket).open_output_stream(f"{BUCKET}/store/polls/cluster_id=a b/{last}.parquet") as file:
            file.write(b"x" * 6_000_000)
        return Night(last, Counter(store=last), Counter(), Counter(polls=1), 1, 0.5)

    monkeypatch.setattr(nights, "run", run)
    monkeypatch.setattr("bench.clock.set_to", lambda _: None)
    first = CountingBucket()
    with serving(first):
        make(first)
        with pytest.raises(KeyboardInterrupt):
            measure(first, FLEET, tmp_path, CALLS)
        before = [each for each in objects(first) if "/88." not in each[0]]
        system(first).delete_dir_contents(BUCKET)
        found = measure(first, FLEET, tmp_path, CALLS)
        assert ran == [30, 31, 88, 88]
        assert [(night.day, night.costs()["S3 requests"]) for night in found] == [(31, 31), (88, 88)]
        assert set(before) <= set(objects(first))
        assert len(before) == 4
    with pytest.raises(SystemExit, match=rf"{FILE}: of a run with 2 clusters and the calls .*; delete it"):
        measure(first, FLEET, tmp_path, CALLS[1:])
