"""The keys of moto's bucket in order, so that a listing looks at those of its prefix only, and not at all of them.

A store of 20 clusters has some 50,000 keys, and a night lists thousands of times.
"""

import threading
from bisect import bisect_left, insort
from itertools import islice, takewhile
from types import SimpleNamespace
from typing import Any, Final

from moto.s3.models import FakeBucket, S3Backend
from moto.s3.utils import _VersionedKeyStore

from tests.support.s3 import BUCKET, backend

_LIST: Final = S3Backend.list_objects


class _SortedKeys(_VersionedKeyStore):
    """The `keys` of a bucket."""

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []
        self._lock = threading.Lock()

    def setlist(self, key: str, list_: Any) -> None:
        with self._lock:
            if key not in self:
                insort(self._names, key)
            super().setlist(key, list_)

    def pop(self, key: str) -> None:  # type: ignore[override]  # as in moto
        with self._lock:
            super().pop(key)
            del self._names[bisect_left(self._names, key)]

    def beginning_with(self, prefix: str) -> dict[str, Any]:
        with self._lock:
            begin = bisect_left(self._names, prefix)
            names = takewhile(lambda name: name.startswith(prefix), islice(self._names, begin, None))
            return {name: self[name] for name in names}


def sort_keys() -> None:
    """Keep the keys of the empty bucket in order from now on."""
    backend().get_bucket(BUCKET).keys = _SortedKeys()
    S3Backend.list_objects = _list_objects  # type: ignore[method-assign]


def _list_objects(self: S3Backend, bucket: FakeBucket, prefix: str | None, *more: Any, **named: Any) -> Any:
    found = SimpleNamespace(keys=bucket.keys.beginning_with(prefix or ""))  # type: ignore[attr-defined]
    return _LIST(self, found, prefix, *more, **named)  # type: ignore[arg-type]
