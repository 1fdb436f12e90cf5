"""`python -m bench.flood`: scrapes, the status page, the API and logins over TLS while other clients are hostile.

The server, the hostile clients and the measured ones are three processes.
"""

import base64
import http.client
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import bcrypt

from bench.procfs import cpu_seconds, descriptors
from bench.report import Row, percentile, show
from bench.worker import Worker
from sandbox.certificates import Authority

COST = 10
PATHS = ("/metrics", "/", "/api/v1/moves")
SCRAPES = 200
"""Requests of each path."""
PAUSE = 0.1
LOGINS = 10
PASSWORD = "password-of-the-benchmark"  # noqa: S105  # it guards nothing
SCRAPE_SECONDS, LOGIN_SECONDS, DESCRIPTOR_SECONDS = 0.5, 2.0, 10.0
GIVE_UP_SECONDS = 60.0


def main() -> int:
    """Measure; the exit code shows whether every target was reached."""
    with TemporaryDirectory() as folder:
        config = _web_file(Path(folder))
        argument = {"config_file": str(config)}
        with Worker("bench.flood_server", argument) as server:
            flood = {"port": server.ready, "user": "reader", "password": PASSWORD}
            with Worker("bench.flood_clients", flood) as clients:
                return show(_measure(server, clients, config.parent / "ca.pem"))


def _web_file(folder: Path) -> Path:
    identity = Authority(folder, "ca").issue("server", "server", ["127.0.0.1"])
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(COST)).decode()
    users = "".join(f"  {user}: {hashed}\n" for user in ("scraper", "reader", *map(_user, range(LOGINS))))
    path = folder / "web.yml"
    files = f"cert_file: {identity.certificate}, key_file: {identity.key}"
    path.write_text(f"tls_server_config: {{{files}}}\nbasic_auth_users:\n{users}", encoding="utf-8")
    return path


def _measure(server: Worker, clients: Worker, authority: Path) -> Iterator[Row]:
    context = ssl.create_default_context(cafile=authority)
    for path in PATHS:
        _get(server.ready, context, "scraper", "127.0.0.1", path)
    before, used, started = descriptors(server.pid), cpu_seconds(server.pid), time.perf_counter()
    clients.step("start")
    asked: dict[str, list[float]] = {path: [] for path in PATHS}
    logins = list[float]()
    for number in range(SCRAPES):
        time.sleep(PAUSE)
        for path in PATHS:
            asked[path].append(_get(server.ready, context, "scraper", "127.0.0.1", path))
        if number % (SCRAPES // LOGINS) == 0:
            logins.append(_get(server.ready, context, _user(len(logins)), f"127.0.9.{len(logins) + 1}"))
    done = clients.step("hold")
    used, lasted = cpu_seconds(server.pid) - used, time.perf_counter() - started
    freed = _seconds_until_freed(server.pid, before)
    for path, seconds in asked.items():
        seconds.sort()
        good = sum(each < SCRAPE_SECONDS for each in seconds)
        yield Row(
            f"{path}: requests of {SCRAPES} not below {SCRAPE_SECONDS} s", SCRAPES - good, "", 0, f"over {lasted:.0f} s"
        )
        yield Row("- the slowest", seconds[-1], "s", SCRAPE_SECONDS, f"median {percentile(seconds, 0.5):.3f} s")
    yield Row("slowest first login", max(logins), "s", LOGIN_SECONDS, f"{LOGINS} users, each of a new address")
    yield Row("descriptors are back after", freed, "s", DESCRIPTOR_SECONDS, "the hostile clients stay connected")
    yield Row("CPU of the server", used / lasted, "cores", None, f"{server.step()}")
    yield Row("hostile requests", sum(done.values()), "", None, ", ".join(f"{n} {what}" for what, n in done.items()))


def _get(port: int, context: ssl.SSLContext, user: str, source: str, path: str = "/metrics") -> float:
    """Return the seconds of a request over a new connection; infinity if it fails."""
    login = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=GIVE_UP_SECONDS, source_address=(source, 0), context=context
    )
    started = time.perf_counter()
    try:
        connection.request("GET", path, headers={"Authorization": f"Basic {login}", "Accept-Encoding": "gzip"})
        reply = connection.getresponse()
        reply.read()
    except OSError as failure:
        print(f"{user}: {failure!r}", file=sys.stderr)
        return float("inf")
    finally:
        connection.close()
    return time.perf_counter() - started if reply.status == http.client.OK else float("inf")


def _seconds_until_freed(pid: int, before: int) -> float:
    started = time.perf_counter()
    while descriptors(pid) > before and time.perf_counter() - started < GIVE_UP_SECONDS:
        time.sleep(0.1)
    return time.perf_counter() - started


def _user(number: int) -> str:
    return f"user{number}"


if __name__ == "__main__":
    sys.exit(main())
