"""Spark's own cluster manager, a master and workers, and a Spark Connect server: processes on loopback."""

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError
from sandbox.ports import LOOPBACK
from sandbox.program import Program
from sandbox.waiting import wait_for

REGISTERED_SECONDS: Final = 60.0
WORKERS: Final = 2


@dataclass(frozen=True, slots=True)
class Room:
    """Cores and memory of a worker, for executors."""

    cores: int = 1
    memory: str = "1500m"


@dataclass(frozen=True, slots=True)
class Standalone:
    """A running cluster."""

    address: str
    """`spark://HOST:PORT`, for `--master`."""
    workers: Sequence[int]
    """Process ids; executors are their children."""


@contextmanager
def standalone(
    directory: Path, environment: Mapping[str, str] | None = None, room: Room = Room()
) -> Iterator[Standalone]:
    """Run a master and two workers, until the block ends.

    Args:
        directory: For everything that they write; created if missing.
        environment: Variables besides those of this process, such as the `PYTHONPATH` of executors.
        room: Cores and memory of each worker.

    Raises:
        SandboxError: One of them did not start, or no worker found the master; the message has the log.
    """
    with ExitStack() as stack:
        master = stack.enter_context(Master(directory, environment or {}))
        started = [
            stack.enter_context(Worker(directory / f"worker-{number}", environment or {}, master, room))
            for number in range(WORKERS)
        ]
        wait_for(lambda: master.alive() == WORKERS, REGISTERED_SECONDS, f"{WORKERS} workers have registered")
        yield Standalone(master.spark_address, [worker.pid for worker in started if worker.pid is not None])


class Daemon(Program):
    """A process of Spark's cluster; ready when its page answers."""

    ready_path = "/"

    def __init__(self, name: str, directory: Path, environment: Mapping[str, str]) -> None:
        super().__init__(name, directory)
        own = {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_WORKER_DIR": os.fspath(directory), "PYSPARK_PYTHON": sys.executable}
        self._environment = {**own, **environment}

    def launch(self, name: str, *arguments: str) -> Sequence[str]:
        """The command line of a class of `org.apache.spark.deploy`."""
        given = (f"{key}={value}" for key, value in self._environment.items())
        program = os.fspath(Path(sys.executable).with_name("spark-class"))
        at = ("--host", LOOPBACK, "--webui-port", str(self.port))
        return ("env", *given, program, f"org.apache.spark.deploy.{name}", *at, *arguments)


class Master(Daemon):
    """The master."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        super().__init__("spark-master", directory, environment)
        self._listener = self._ports.reserve()

    @property
    def spark_address(self) -> str:
        """Its address for drivers and workers."""
        return f"spark://{LOOPBACK}:{self._listener}"

    def command(self) -> Sequence[str]:
        """Listens on its own port; its page has another one."""
        return self.launch("master.Master", "--port", str(self._listener))

    def alive(self) -> int:
        """Count the workers that it knows to be alive."""
        return sum(worker["state"] == "ALIVE" for worker in self.ask("GET", "/json/")["workers"])


class Worker(Daemon):
    """A worker."""

    def __init__(self, directory: Path, environment: Mapping[str, str], master: Master, room: Room) -> None:
        super().__init__(f"spark-{directory.name}", directory, environment)
        self._master = master
        self._room = room

    def command(self) -> Sequence[str]:
        """Listens on any port, which it reports to the master."""
        room = ("--cores", str(self._room.cores), "--memory", self._room.memory)
        return self.launch("worker.Worker", *room, self._master.spark_address)


class ConnectServer(Program):
    """A Spark Connect server whose Spark is local and has one core."""

    def __init__(self, directory: Path, environment: Mapping[str, str], settings: Mapping[str, str]) -> None:
        """Choose a port. `settings`: of Spark, such as `spark.jars`."""
        super().__init__("spark-connect", directory)
        self._environment = {"SPARK_LOCAL_IP": LOOPBACK, "PYSPARK_PYTHON": sys.executable, **environment}
        at = {"spark.connect.grpc.binding.address": LOOPBACK, "spark.connect.grpc.binding.port": str(self.port)}
        self._settings = {**settings, **at}

    @property
    def remote(self) -> str:
        """Its address for clients."""
        return f"sc://{self.address}"

    def command(self) -> Sequence[str]:
        """As `start-connect-server.sh`, which the package of PyPI lacks, but in the foreground."""
        given = (f"{key}={value}" for key, value in self._environment.items())
        program = os.fspath(Path(sys.executable).with_name("spark-submit"))
        settings = (part for key, value in self._settings.items() for part in ("--conf", f"{key}={value}"))
        name = "org.apache.spark.sql.connect.service.SparkConnectServer"
        flags = ("--class", name, "--master", "local[1]", "--driver-memory", "1g", *settings)
        return ("env", *given, program, *flags, "spark-internal")

    def is_ready(self) -> bool:
        """Whether it accepts connections.

        Raises:
            SandboxError: The process has ended; the message has the end of its log.
        """
        if not self.running:
            raise SandboxError(f"{self.name} ended by itself:\n{self.log_tail()}")
        with suppress(OSError), socket.create_connection((LOOPBACK, self.port), timeout=1):
            return True
        return False
