"""Programs that run in their own process, so that the numbers contain nothing else.

Each is a module with `prepare(argument)`, a context manager that yields `step(name)`, all JSON. A line on standard
input asks for one step, a line on standard output is its result, and the process ends with its standard input. So the
parent decides what runs when: steps of several workers alternate, and a change in the load of the machine meets all.
"""

import importlib
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

END_SECONDS = 20.0
ROOT = Path(__file__).parents[1]


class Worker:
    """A running `python -m bench.worker MODULE`; it ends with the `with` block."""

    def __init__(self, module: str, argument: dict[str, Any]) -> None:
        command = [sys.executable, "-m", "bench.worker", module]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self._module = module
        self._answer = self._exchange(argument)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        if self._process.stdin is None or self._process.stdout is None:
            return
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    @property
    def ready(self) -> Any:
        """Its answer to the preparation."""
        return self._answer

    def step(self, name: str = "") -> Any:
        """Let it do one step and return the result.

        Raises:
            RuntimeError: It ended; its traceback is on standard error.
        """
        return self._exchange(name)

    def _exchange(self, message: Any) -> Any:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._module} ended with exit code {self._process.wait()}")
        return json.loads(line)


def _serve(module: str) -> None:
    with importlib.import_module(module).prepare(json.loads(sys.stdin.readline())) as (ready, step):
        _answer(ready)
        for line in sys.stdin:
            _answer(step(json.loads(line)))


def _answer(result: Any) -> None:
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
