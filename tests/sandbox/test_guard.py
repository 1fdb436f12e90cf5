"""Nothing outlives its owner, whatever ends the owner. Uses `sleep` in place of a JVM."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox import wait_for
from sandbox.node import GUARD, Node

OWNER = """
import sys
from pathlib import Path
from sandbox.node import Node
root = Path(sys.argv[1])
node = Node(1, root, root, ())
Node.start.__globals__["PROGRAM"] = "sleep"
node.arguments = ("600",)
node.start()
print(node.pid, flush=True)
input()
"""


def alive(pid: int) -> bool:
    """Whether a process exists and is more than a name in the process table."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def sleeper(root: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node whose program is `sleep`."""
    root.mkdir()
    monkeypatch.setattr("sandbox.node.PROGRAM", "sleep")
    node = Node(1, root, root, ("600",))
    node.start()
    return node


@pytest.mark.parametrize("held", [False, True], ids=["running", "stopped"])
def test_the_program_dies_with_its_owner(tmp_path: Path, held: bool) -> None:
    root = tmp_path / "root"
    root.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, os.fspath(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        program = int(owner.stdout.readline())
        assert alive(program)
        if held:
            os.kill(program, signal.SIGSTOP)
        owner.kill()

    wait_for(lambda: not alive(program), 20, "the program is gone")
    wait_for(lambda: not root.exists(), 20, "its files are gone")


def test_the_program_dies_with_its_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = sleeper(tmp_path / "root", monkeypatch)
    program, guard = node.pid, node._guard
    assert program is not None
    assert guard is not None

    guard.kill()
    wait_for(lambda: not alive(program), 20, "the program is gone")
    assert guard.wait() == -signal.SIGKILL


def test_the_program_outlives_the_thread_that_started_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Node] = []
    thread = threading.Thread(target=lambda: started.append(sleeper(tmp_path / "root", monkeypatch)))
    thread.start()
    thread.join()
    (node,) = started
    assert node.pid is not None
    # a parent-death signal would arrive before a process that starts only now has ended
    subprocess.run(["sleep", "0.3"], check=True)

    assert alive(node.pid)
    node.kill()
    assert not node.running


def test_an_owner_that_is_gone_already_starts_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = [sys.executable, "-IS", os.fspath(GUARD), "1", os.fspath(tmp_path / "none"), "touch", os.fspath(mark)]
    assert subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 128 + signal.SIGKILL
    assert not mark.exists()
