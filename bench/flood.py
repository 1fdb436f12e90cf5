"""`python -m bench.flood`: scrapes, the status page, the API and logins over TLS while other clients are hostile.

The sidecar is the program that users start. It polls 10,005 partitions of scripted brokers, 3,335 of which move, every
10 s. It, the brokers, the hostile clients and the measured ones are four processes. All clients have one address.
"""

import base64
import http.client
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import bcrypt

from bench.flood_clients import WRONG_LOGINS
from bench.procfs import cpu_seconds, descriptors, load_average
from bench.report import Row, percentile, show
from bench.sidecar import DEADLINE_SHARE, START_SECONDS, Sidecar
from bench.worker import Worker
from sandbox import wait_for
from sandbox.certificates import Authority
from tests.support.scripted import ScriptedCluster

TOPICS, PARTITIONS, MOVING = 667, 15, 5
POLL_SECONDS = 10.0
"""The default."""
COST = 10
PATHS = ("/metrics", "/", "/api/v1/moves")
SCRAPES = 100
"""Requests of each path."""
PAUSE = 0.1
LOGINS = 10
PASSWORD = "password-of-the-benchmark"  # noqa: S105  # it guards nothing
SCRAPE_SECONDS, DESCRIPTOR_SECONDS = 0.5, 15.0
NOT_SENT = 0.1
"""Share of the wrong logins that a busy machine may leave out."""
GIVE_UP_SECONDS = 60.0


def main() -> int:
    """Measure; the exit code shows whether every target was reached."""
    with TemporaryDirectory() as folder, ScriptedCluster() as brokers:
        moves = {str(partition): {"adding": [1]} for partition in range(MOVING)}
        brokers.do("spread", topics=TOPICS, partitions=PARTITIONS, replicas=3, rate=10.0, end=1000, moves=moves)
        config = {
            "kafka": {"bootstrap.servers": brokers.bootstrap},
            "poll": {"interval": f"{POLL_SECONDS:g}s", "deadline": f"{DEADLINE_SHARE * POLL_SECONDS:g}s"},
            "web": {"listen": "127.0.0.1:0", "config_file": str(_web_file(Path(folder)))},
        }
        with Sidecar(config, Path(folder), ready=False) as sidecar:
            port = urlsplit(sidecar.url).port
            flood = {"port": port, "user": "reader", "password": PASSWORD}
            with Worker("bench.flood_clients", flood) as clients:
                return show(_measure(_Reader(Path(folder) / "ca.pem", int(port or 0)), sidecar.pid, clients))


def _web_file(folder: Path) -> Path:
    identity = Authority(folder, "ca").issue("server", "server", ["127.0.0.1"])
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(COST)).decode()
    users = "".join(f"  {user}: {hashed}\n" for user in ("scraper", "reader", *map(_user, range(LOGINS))))
    path = folder / "web.yml"
    files = f"cert_file: {identity.certificate}, key_file: {identity.key}"
    path.write_text(f"tls_server_config: {{{files}}}\nbasic_auth_users:\n{users}", encoding="utf-8")
    return path


class _Reader:
    """A client that may read, with a connection for each request."""

    def __init__(self, authority: Path, port: int) -> None:
        self._context = ssl.create_default_context(cafile=authority)
        self._port = port

    def seconds(self, path: str = "/metrics", user: str = "scraper") -> float:
        """Return the seconds of a request; infinity if it fails."""
        started = time.perf_counter()
        try:
            status, _ = self.get(path, user)
        except OSError as failure:
            print(f"{user}: {failure!r}", file=sys.stderr)
            return float("inf")
        return time.perf_counter() - started if status == http.client.OK else float("inf")

    def get(self, path: str, user: str = "scraper") -> tuple[int, bytes]:
        """Return the status and the body.

        Raises:
            OSError: There is no answer.
        """
        login = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=GIVE_UP_SECONDS, context=self._context
        )
        try:
            connection.request("GET", path, headers={"Authorization": f"Basic {login}", "Accept-Encoding": "gzip"})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


def _measure(reader: _Reader, sidecar: int, clients: Worker) -> Iterator[Row]:
    wait_for(lambda: reader.get("/-/ready")[0] == http.client.OK, START_SECONDS, "the first poll has ended")
    for path in PATHS:
        reader.seconds(path)
    before, used, started = descriptors(sidecar), cpu_seconds(sidecar), time.perf_counter()
    clients.step("start")
    asked: dict[str, list[float]] = {path: [] for path in PATHS}
    logins = list[float]()
    for number in range(SCRAPES):
        time.sleep(PAUSE)
        for path in PATHS:
            asked[path].append(reader.seconds(path))
        if number % (SCRAPES // LOGINS) == 0:
            logins.append(reader.seconds(user=_user(len(logins))))
    done = clients.step("hold")
    used, lasted = cpu_seconds(sidecar) - used, time.perf_counter() - started
    freed = _seconds_until_freed(sidecar, before)
    for path, seconds in asked.items():
        seconds.sort()
        good = sum(each < SCRAPE_SECONDS for each in seconds)
        yield Row(
            f"{path}: requests of {SCRAPES} not below {SCRAPE_SECONDS} s", SCRAPES - good, "", 0, f"over {lasted:.0f} s"
        )
        yield Row("- the slowest", seconds[-1], "s", SCRAPE_SECONDS, f"median {percentile(seconds, 0.5):.3f} s")
    answered = sum(each < GIVE_UP_SECONDS for each in logins)
    yield Row("first logins that were checked", answered, "", None, f"of {LOGINS} users; the others got a 503")
    yield Row("descriptors are back after", freed, "s", DESCRIPTOR_SECONDS, "the hostile clients stay connected")
    yield Row("CPU of the sidecar", used / lasted, "cores", None, f"load of the machine: {load_average():.1f}")
    not_sent = 1 - done["wrong logins"] / (WRONG_LOGINS * lasted)
    note = ", ".join(f"{number} {what}" for what, number in done.items())
    yield Row("wrong logins that were not sent", not_sent, "", NOT_SENT, note)


def _seconds_until_freed(pid: int, before: int) -> float:
    started = time.perf_counter()
    while descriptors(pid) > before and time.perf_counter() - started < GIVE_UP_SECONDS:
        time.sleep(0.1)
    return time.perf_counter() - started


def _user(number: int) -> str:
    return f"user{number}"


if __name__ == "__main__":
    sys.exit(main())
