"""A small JVM with a real JMX port, for tests that need no Kafka; see java/JmxServer.java for its beans."""

import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_warden.clients.jmx.protocol import BeanQueries, BeanQuery, RawBeans
from kafka_warden.clients.jmx.session import Answer, JmxSession, JmxTarget
from kafka_warden.clock import monotonic
from sandbox import wait_for
from sandbox.passwords import write_secret
from sandbox.ports import LOOPBACK, Ports

SOURCE = Path(__file__).with_name("java") / "JmxServer.java"
NUMBERS = "test:type=Numbers"
NUMBER = (NUMBERS, "Number")
ASK_NUMBER = BeanQueries(beans=(BeanQuery(NUMBERS, ("Number",)),))
READER = "monitor"
TIME_LIMIT = 30.0
"""Seconds for what takes milliseconds on an idle machine."""
MakeSession = Callable[..., JmxSession]


def compile_java(directory: Path, source: Path = SOURCE) -> Path:
    subprocess.run(["javac", "--release", "17", "-d", directory, source], check=True)
    return directory


def number(answer: Answer) -> object:
    assert isinstance(answer, RawBeans), answer
    return answer.values[NUMBER]


def ask(session: JmxSession, *targets: JmxTarget, within: float = TIME_LIMIT) -> dict[str, Answer]:
    """Ask, and check that all targets have an answer by the deadline."""
    deadline = monotonic() + within
    answers = session.ask(targets, deadline)
    assert monotonic() < deadline + TIME_LIMIT, "nothing that hangs delays the answer"
    assert set(answers) == {target.key for target in targets}
    return answers


def ask_one(session: JmxSession, target: JmxTarget) -> Answer:
    return ask(session, target)[target.key]


class JmxServer:
    """One such process; a context manager. Open to everyone unless options say otherwise."""

    def __init__(
        self,
        classes: Path,
        *,
        number: int = 1,
        options: Sequence[str] = (),
        host: str = LOOPBACK,
        gadget: Path = Path("gadget"),
        pause: float = 0.0,
    ) -> None:
        self._ports = Ports()
        self.port = self._ports.reserve()
        self.rmi_port = self._ports.reserve()
        address = {"port": self.port, "rmi.port": self.rmi_port, "host": LOOPBACK}
        agent = {**address, "authenticate": "false", "ssl": "false"}
        self._command = [
            "java",
            "-Xmx32m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Djava.rmi.server.hostname={host}",
            *(f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in agent.items()),
            *options,
            "-cp",
            str(classes),
            "JmxServer",
            str(number),
            str(gadget),
            str(round(1000 * pause)),
        ]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._ports.close()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert self.process.stdout
        assert self.process.stdout.readline() == b"ready\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def pause(self) -> None:
        """SIGSTOP, and wait until no thread runs: its port accepts connections and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: self._states() <= {"T"}, what="the server is stopped", interval=0.01)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def _states(self) -> set[str]:
        """The kernel's states of its threads: R, S, T (stopped) ..."""
        files = Path(f"/proc/{self.process.pid}/task").glob("*/stat")
        return {file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] for file in files}

    def target(self, key: str = "one", **options: object) -> JmxTarget:
        return JmxTarget(key, LOOPBACK, self.port, **options)  # type: ignore[arg-type]  # the caller names real fields


Servers = tuple[JmxServer, JmxServer]


def password_options(directory: Path, password: str, access: str = "readonly") -> list[str]:
    """JVM options of a server that wants this password of `READER`."""
    passwords = write_secret(directory / "jmxremote.password", f"{READER} {password}\n")
    readers = write_secret(directory / "jmxremote.access", f"{READER} {access}\n" if access else "other readonly\n")
    files = {"authenticate": "true", "password.file": passwords, "access.file": readers}
    return [f"-Dcom.sun.management.jmxremote.{key}={value}" for key, value in files.items()]
