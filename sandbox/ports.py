"""Free ports on loopback that no other process takes while they are ours.

A port that was free when looked at may be taken before the broker binds it, or while a killed broker is down: by
another sandbox, or by any outgoing connection of the machine. So ports come from below the kernel's ephemeral range,
and each is reserved by an abstract Unix socket of its number, which the kernel frees when the process ends, however it
ends.
"""

import errno
import random
import socket
from pathlib import Path

from sandbox.errors import SandboxError

LOOPBACK = "127.0.0.1"
LOWEST = 11000
DEFAULT_EPHEMERAL_START = 32768


class Ports:
    """Reserves ports; each stays ours until `close`."""

    def __init__(self) -> None:
        self._reservations: list[socket.socket] = []

    def reserve(self) -> int:
        """A port that no sandbox uses and that can be bound now.

        Raises:
            SandboxError: None is free.
        """
        candidates = list(range(LOWEST, _ephemeral_start()))
        random.SystemRandom().shuffle(candidates)
        for port in candidates:
            reservation = _reserve(port)
            if reservation is None:
                continue
            if _can_bind(port):
                self._reservations.append(reservation)
                return port
            reservation.close()
        raise SandboxError(f"no free port on {LOOPBACK} between {LOWEST} and the ephemeral range")

    def close(self) -> None:
        """Release every port."""
        while self._reservations:
            self._reservations.pop().close()


def _reserve(port: int) -> socket.socket | None:
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        reservation.bind(f"\0kafka-warden-sandbox-port-{port}")
    except OSError as error:
        reservation.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return reservation


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _ephemeral_start() -> int:
    """The first port that the kernel gives to outgoing connections.

    If an administrator has moved that range too far down, ports below the usual start are used anyway.
    """
    try:
        start = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except OSError:
        return DEFAULT_EPHEMERAL_START
    return min(start, DEFAULT_EPHEMERAL_START) if start > LOWEST + 1000 else DEFAULT_EPHEMERAL_START
