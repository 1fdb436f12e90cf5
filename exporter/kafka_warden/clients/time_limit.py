"""A limit for a whole exchange over a connection: the time limit of a socket is that of one call, and begins again."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class TimeLimit:
    """Shuts a socket down when the `seconds` since the `with` began are over, and sets `late`."""

    def __init__(self, seconds: float) -> None:
        self.late = False
        self._sock: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def use(self, sock: socket.socket) -> None:
        """Set the socket, which may be another one after a TLS handshake."""
        self._sock = sock
        if self.late:
            self._end()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._sock = None

    def _end(self) -> None:
        self.late = True
        if (sock := self._sock) is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
