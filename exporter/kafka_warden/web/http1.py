"""HTTP/1.1 as hypercorn serves it, without three ways to harm the server that need no password."""

import h11
from hypercorn import protocol
from hypercorn.events import Closed, Event, Updated
from hypercorn.protocol.h11 import H11Protocol


class Http1Protocol(H11Protocol):
    """One connection, which stays on HTTP/1.1 and ends with its client."""

    async def handle(self, event: Event) -> None:
        """Handle an event, and stop reading after the last one."""
        await super().handle(event)
        if isinstance(event, Closed):
            # Else the task waits for ever for the turn of a request that the client sent before it hung up.
            self.connection.next_event = lambda: h11.NEED_DATA  # type: ignore[method-assign]
            await self.can_read.set()
            # Else the socket stays open for the idle timeout, and a thousand clients that hang up take all descriptors.
            await self.send(Updated(idle=False))

    async def _check_protocol(self, event: object) -> None:
        # hypercorn switches to HTTP/2 for `Upgrade: h2c` and for HTTP/2's preface, without an option against it. A bad
        # `HTTP2-Settings` then logs a traceback. RFC 9110 allows to ignore the upgrade; the preface has version 2.0.
        pass


def stay_on_http_1() -> None:
    """Let hypercorn use `Http1Protocol` in this process. May be called twice."""
    protocol.H11Protocol = Http1Protocol  # type: ignore[attr-defined]  # an import of the package
