"""Runs one Kafka process and ends with its owner: a script of the standard library, started as `python -IS guard.py`.

usage: guard.py OWNER_PID ROOT PROGRAM ARGUMENT...

The program dies with SIGKILL when its owner is gone, whatever ended the owner, and also when this guard is gone
(PR_SET_PDEATHSIG). SIGKILL ends a process that SIGSTOP holds, too. The owner is watched by a pidfd, because a
parent-death signal would fire as soon as the *thread* that started the node ends. The first line on standard output is
the program's process id; the exit code is the program's, or 128 + the signal. ROOT is removed once the owner is gone.
"""

import ctypes
import os
import select
import shutil
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run, watch, reap."""
    owner, root, program = int(arguments[0]), arguments[1], arguments[2:]
    owner_fd = _open_owner(owner)
    if owner_fd is None:
        return 128 + signal.SIGKILL
    child = _spawn(program)
    os.write(1, b"%d\n" % child)
    os.close(1)
    child_fd = os.pidfd_open(child)
    poll = select.poll()
    poll.register(owner_fd, select.POLLIN)
    poll.register(child_fd, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll()}
    orphaned = owner_fd in ready
    if orphaned:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if orphaned:
        shutil.rmtree(root, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _open_owner(owner: int) -> int | None:
    try:
        descriptor = os.pidfd_open(owner)
    except ProcessLookupError:
        return None
    # Another process may have this id by now: only our real parent is the owner.
    return descriptor if os.getppid() == owner else None


def _spawn(program: list[str]) -> int:
    guard = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == guard:
            os.dup2(2, 1)
            os.execvp(program[0], program)  # noqa: S606  the arguments are the sandbox's own, and no shell is wanted
    finally:
        os._exit(127)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
