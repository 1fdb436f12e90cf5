"""A test's side of the scripted brokers: starts their process, describes the cluster, programs faults."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

ROOT: Final = Path(__file__).parents[3]
WITHIN: Final = 30.0
"""Seconds for the process to end."""


class ScriptedCluster:
    """A cluster of scripted brokers in a process of its own. Use it as a context manager; from any thread.

    Args:
        brokers: their ids. Each gets a free port on 127.0.0.1.
    """

    def __init__(self, brokers: Iterable[int] = (1, 2, 3)) -> None:
        self._ids = tuple(brokers)
        self._lock = threading.Lock()
        self.ports: dict[int, int] = {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.scripted"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.reset()
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, which ends with its input. Exceptions of the brokers fail the test."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self.check()
            self._process.stdin.close()
            self._process.wait(WITHIN)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()

    def check(self) -> None:
        problems = self.do("problems")
        assert not problems, "\n".join(problems)

    def reset(self) -> None:
        self.do("reset")
        self.ports.clear()
        self.brokers(*({"id": broker} for broker in self._ids))

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, for `bootstrap.servers`."""
        return ",".join(f"127.0.0.1:{self.ports[broker]}" for broker in self._ids)

    def do(self, command: str, **given: Any) -> Any:
        """Run one of the commands of `__main__.py` and return its answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            stdin.write(f"{json.dumps({'do': command, **given})}\n")
            stdin.flush()
            answer = json.loads(stdout.readline())
        if "problem" in answer:
            raise RuntimeError(answer["problem"])
        return answer["answer"]

    def each(self, command: str, *brokers: int, **given: Any) -> None:
        """Run a command for each of some brokers, or of the first ones."""
        for broker in brokers or self._ids:
            self.do(command, broker=broker, **given)

    def brokers(self, *brokers: Mapping[str, Any]) -> None:
        """Add brokers or change them; the fields are those of `description.Broker`."""
        self.ports |= {int(broker): port for broker, port in self.do("brokers", brokers=brokers).items()}

    def controller(self, node: int = 100) -> int:
        port: int = self.do("controllers", controllers=[{"id": node}])[str(node)]
        return port

    def topic(self, name: str, replicas: list[list[int]], **given: Any) -> None:
        self.do("topics", topics=[{"name": name, "replicas": replicas, **given}])

    def rule(self, broker: int | None = None, request: str | None = None, **rule: Any) -> None:
        """Program a fault, as in `rules.Rule`; bytes of `body` and `raw` as bytes."""
        hexed = {name: value.hex() if isinstance(value, bytes) else value for name, value in rule.items()}
        self.do("rule", broker=broker, request=request, **hexed)

    def seen(self, *requests: str) -> list[dict[str, Any]]:
        """Return what arrived since `do("forget")`, in order; only some kinds of requests where they are given.

        One side of a kind is for example `DescribeConfigs topics`.
        """
        wanted = set(requests)
        names = ((each, {each["request"], f"{each['request']} {each['side']}"}) for each in self.do("seen"))
        return [each for each, found in names if not wanted or wanted & found]
