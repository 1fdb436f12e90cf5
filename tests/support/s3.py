"""A bucket on loopback: moto's S3 behind a middleware that counts requests, and can kill or stop at one of them."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import S3Backend, s3_backends
from werkzeug.serving import make_server

BUCKET: Final = "history"
ENTRY: Final = re.compile(r"/_delta_log/\d{20}\.json$")
"""The request that commits."""

Hook = Callable[[str, str], None]
"""Is called with the method and the path of a request, before S3 sees it or after it has done it."""


def nothing(_method: str, _path: str) -> None:
    """Let a request pass."""


class Bucket:
    """The WSGI application."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        """Method to requests; `LIST` is a GET of the bucket."""
        self.commits: list[str] = []
        """Paths of log entries that were put."""
        self.before: Hook = nothing
        self.after: Hook = nothing
        self.down = False
        """Requests do nothing, and get 503."""
        self.address = ""
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        with self._lock:
            self.requests["LIST" if method == "GET" and path.strip("/") == BUCKET else method] += 1
        self.before(method, path)
        if self.down:
            start("503 Service Unavailable", [])
            return []

        def started(status: str, headers: Any, *more: Any) -> Any:
            if method == "PUT" and ENTRY.search(path) and status.startswith("200"):
                self.commits.append(path)
            return start(status, headers, *more)

        answer: Iterable[bytes] = self._app(environ, started)
        self.after(method, path)
        return answer

    def environment(self) -> dict[str, str]:
        """Return the variables by which Spark, pyarrow and deltalake find it."""
        return {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.address,
        }


def backend() -> S3Backend:
    return s3_backends[DEFAULT_ACCOUNT_ID]["aws"]


@contextmanager
def serving(bucket: Bucket | None = None) -> Iterator[Bucket]:
    """Serve an empty bucket for the block."""
    bucket = bucket or Bucket()
    # Moto keeps the objects of all buckets that were served before.
    backend().reset()
    server = make_server("127.0.0.1", 0, bucket, threaded=True)
    bucket.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
