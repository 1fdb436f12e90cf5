"""A bucket that counts what each folder of it costs."""

import re
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from tests.support.s3 import BUCKET, Bucket

_KEY: Final = b"<Key>"
_FOLDER: Final = re.compile(r"(?:store|landing)/(?:raw/)?\w+(?:/_delta_log)?")
"""A table of the store, its log, or a table of the landing zone."""


class CountingBucket(Bucket):
    """Moto's S3 with counters. `costs` has what was counted since they were cleared, by folder."""

    def __init__(self) -> None:
        super().__init__()
        self.requested: Counter[str] = Counter()
        self.listed: Counter[str] = Counter()
        """Keys in answers."""
        self.read: Counter[str] = Counter()
        """Bytes of objects."""
        self._counting = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        """Answer a request, and count it."""
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        lists = method == "GET" and path.strip("/") == BUCKET
        answer = super().__call__(environ, start)
        body = b"".join(answer)
        close = getattr(answer, "close", None)
        if close is not None:
            close()
        found = _FOLDER.search(f"{path} {environ.get('QUERY_STRING', '').replace('%2F', '/')}")
        folder = found[0] if found else "other"
        with self._counting:
            self.requested[folder] += 1
            if lists:
                self.listed[folder] += body.count(_KEY)
            elif method == "GET":
                self.read[folder] += len(body)
        return [body]

    def clear(self) -> None:
        """Begin again to count."""
        for counter in (self.requested, self.listed, self.read):
            counter.clear()
