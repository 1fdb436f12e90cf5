"""Run an installed `kafka-warden` until it has polled scripted brokers. Called by scripts/try-wheel.

Usage: python -m tests.deploy.poll_scripted COMMAND
"""

import sys
import tempfile
from pathlib import Path

from tests.cluster.sidecar import Sidecar
from tests.support.scripted import ScriptedCluster


def main(command: str) -> None:
    """Start the command, wait for the replicas of a broker in `/metrics`, read a runbook, end it with SIGTERM."""

    class Installed(Sidecar):
        def command(self, config: Path) -> list[str]:
            return [command, "run", "--config", str(config), "--listen", "127.0.0.1:0"]

    with ScriptedCluster() as brokers, tempfile.TemporaryDirectory() as folder:
        brokers.topic("t", [[1, 2], [2, 3]])
        config = {"kafka": {"bootstrap.servers": brokers.bootstrap}}
        # An import must not find the sources.
        with Installed(config, Path(folder), environment={"PYTHONPATH": ""}) as sidecar:
            sidecar.wait(lambda page: page.get("broker_replicas", broker=3) == 1)
            runbook = sidecar.get("/alerts/runbooks/KafkaReassignmentStuck.md")[1]
            assert "<h1>KafkaReassignmentStuck</h1>" in runbook


if __name__ == "__main__":
    main(sys.argv[1])
