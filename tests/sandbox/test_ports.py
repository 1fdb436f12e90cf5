"""Ports that no other process gets."""

import socket
import subprocess
import sys

import pytest

from sandbox import SandboxError, ports
from sandbox.ports import Ports


@pytest.fixture
def one_port(monkeypatch: pytest.MonkeyPatch) -> int:
    """Leave room for a single port."""
    with socket.socket() as probe:
        probe.bind((ports.LOOPBACK, 0))
        port = int(probe.getsockname()[1])
    monkeypatch.setattr(ports, "LOWEST", port)
    monkeypatch.setattr(ports, "_ephemeral_start", lambda: port + 1)
    return port


def test_a_reserved_port_is_given_once(one_port: int) -> None:
    mine, other = Ports(), Ports()

    assert one_port == mine.reserve()
    with pytest.raises(SandboxError, match="no free port"):
        other.reserve()
    mine.close()
    assert one_port == other.reserve()
    other.close()


def test_a_dead_process_holds_no_port(one_port: int) -> None:
    script = f"from sandbox import ports; ports.LOWEST={one_port}; ports._ephemeral_start=lambda: {one_port + 1}; "
    script += "p = ports.Ports(); print(p.reserve(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert f"{one_port}\n" == holder.stdout.readline()
        with pytest.raises(SandboxError):
            Ports().reserve()
        holder.kill()
    mine = Ports()
    assert one_port == mine.reserve()
    mine.close()


def test_ports_lie_below_the_outgoing_ones() -> None:
    mine = Ports()
    assert ports.LOWEST <= mine.reserve() < ports._ephemeral_start()
    mine.close()
