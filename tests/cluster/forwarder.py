"""A port that hands connections on to another one, for as long as it is wanted."""

import socket
import threading
from typing import Self

BUFFER = 1 << 16


class Forwarder:
    """While its block lasts, connections to `address` arrive at `target`; before and after, they are refused.

    Attributes:
        open: Cleared while nothing is handed on, as behind a firewall that drops: connections stay, and hang.
    """

    def __init__(self, target: str) -> None:
        self.open = threading.Event()
        self.open.set()
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))  # bound and not listening: no other process gets it, and it refuses
        self._sockets: list[socket.socket] = []

    @property
    def address(self) -> str:
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def __enter__(self) -> Self:
        self._listener.listen()
        threading.Thread(target=self._accept, name="forwarder", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._sockets):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return
            self._sockets += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(BUFFER):
                self.open.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return
