"""Run an installed `kafka-warden` until it has polled scripted brokers. Called by scripts/try-wheel.

Usage: python -m tests.deploy.poll_scripted COMMAND
"""

import http.client
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from sandbox import wait_for
from tests.support.scripted import ScriptedCluster

REPLICAS: Final = 'kafka_warden_broker_replicas{broker="3"} 1'
WITHIN: Final = 120.0
"""Seconds for each step."""


def main(command: str) -> None:
    """Start the command, wait for the replicas of a broker in `/metrics`, read a runbook, end it with SIGTERM."""
    with ScriptedCluster() as brokers, tempfile.TemporaryDirectory() as folder:
        brokers.topic("t", [[1, 2], [2, 3]])
        log = Path(folder) / "log"
        run = [command, "run", "--bootstrap-servers", brokers.bootstrap, "--listen", "127.0.0.1:0"]
        with log.open("wb") as file, subprocess.Popen(run, cwd=folder, stdout=file, stderr=file) as process:
            try:
                port = wait_for(lambda: _port(log), WITHIN, "it listens")
                wait_for(lambda: REPLICAS in _get(port, "/metrics"), WITHIN, "it has polled")
                assert "<h1>KafkaReassignmentStuck</h1>" in _get(port, "/alerts/runbooks/KafkaReassignmentStuck.md")
                process.terminate()
                code = process.wait(WITHIN)
            finally:
                process.kill()
                print(log.read_text(), file=sys.stderr)
        if code:
            sys.exit(f"kafka-warden ended with {code}")


def _port(log: Path) -> int:
    found = re.search(r"\blistening\b.*\bport=(\d+)", log.read_text())
    return int(found[1]) if found else 0


def _get(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN)
    connection.request("GET", path)
    return connection.getresponse().read().decode()


if __name__ == "__main__":
    main(sys.argv[1])
