"""Addresses of landing zones on object stores and HDFS: what Spark reads is what pyarrow listed. Without a network."""

from typing import Any

import pyarrow.fs as pafs
import pytest

from kafka_warden.history.parquet.reader import inventory
from kafka_warden.pipeline.store import address

FILE = "/one/polls/date=2026-11-20/hour=06/kafka-warden-1.parquet"

ADDRESSES = {
    "s3a://bucket/landing/": ("s3a://bucket/landing", "bucket/landing"),
    "s3a://bucket": ("s3a://bucket", "bucket"),
    "gs://bucket/landing": ("gs://bucket/landing", "bucket/landing"),
    "abfs://container@account.dfs.core.windows.net/landing/a": (
        "abfs://container@account.dfs.core.windows.net/landing/a",
        "container/landing/a",
    ),
    "abfss://container@account.dfs.core.windows.net/landing": (
        "abfss://container@account.dfs.core.windows.net/landing",
        "container/landing",
    ),
    "hdfs://namenode:8020/landing": ("hdfs://namenode:8020/landing", "/landing"),
}
"""Address of a folder to its address for Spark, and to its path on pyarrow's file system."""


class Listing:
    """A file system with one file in the folder that is asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def get_file_info(self, selector: Any) -> list[Any]:
        assert selector.base_dir == self.folder
        return [pafs.FileInfo(f"{self.folder}{FILE}", type=pafs.FileType.File, size=7)]


@pytest.mark.parametrize("given", ADDRESSES)
def test_files_have_the_address_of_their_folder(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the path on the file system is no part of the address, as on ABFS."""
    folder, path = ADDRESSES[given]
    if not given.startswith("hdfs"):
        # That of HDFS needs Hadoop's library. Without a region, that of S3 asks for the one of the bucket.
        uri = f"{given.replace('s3a:', 's3:')}?region=us-east-1" if given.startswith("s3a:") else given
        assert pafs.FileSystem.from_uri(uri)[1].rstrip("/") == path
    monkeypatch.setattr("kafka_warden.history.parquet.reader._from_uri", lambda _: (Listing(path), path))
    (file,) = inventory(given).files
    assert (file.place, file.path, file.table, file.size) == (f"{folder}{FILE}", f"{path}{FILE}", "polls", 7)
    assert address(given) == folder
