"""Keys in order are listed as moto lists them."""

from itertools import product

import pyarrow.fs as pafs
import pytest
from moto.s3.models import S3Backend

from bench.nights_keys import sort_keys
from tests.pipeline.on_s3 import make, system
from tests.support.s3 import BUCKET, Bucket, serving

PATHS = ("a/1", "a/1/2", "a/2", "ab/1", "a/\ufffd/1", "b c/%2F")


def listed(bucket: Bucket) -> list[list[str]]:
    """What each folder has after keys were put, put again and deleted."""
    files = system(bucket)
    for path in (*PATHS, *PATHS[:2]):
        with files.open_output_stream(f"{BUCKET}/{path}") as file:
            file.write(b"x")
    files.delete_file(f"{BUCKET}/a/2")
    found = []
    for folder, recursive in product(("", "/a", "/ab", "/b c", "/none"), (True, False)):
        selector = pafs.FileSelector(f"{BUCKET}{folder}", allow_not_found=True, recursive=recursive)
        found.append(sorted(file.path for file in files.get_file_info(selector)))
    return found


def test_listings_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of folders with one key, several and none, at any depth or one."""
    with serving() as bucket:
        make(bucket)
        expected = listed(bucket)
    assert max(map(len, expected)) >= len(PATHS)
    monkeypatch.setattr(S3Backend, "list_objects", S3Backend.list_objects)
    with serving() as bucket:
        make(bucket)
        sort_keys()
        assert listed(bucket) == expected
