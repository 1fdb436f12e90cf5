"""The sidecar as a process of its own, beside a sandbox cluster."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sandbox.cluster import Cluster
from sandbox.program import Program
from sandbox.sidecar import sidecar_config


class Sidecar(Program):
    """`kafka-warden run` with a configuration file; ready once its page has numbers.

    Args:
        directory: Everything that it writes; made when it does not exist.
        cluster: The cluster that it watches as `monitor`, over the protocol and, where that is on, over JMX.
        settings: Configuration by section, beside `kafka`, `jmx` and `web`.
    """

    def __init__(self, directory: Path, cluster: Cluster, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__("kafka-warden", directory)
        self._config: dict[str, Any] = {
            **(settings or {}),
            **sidecar_config(cluster),
            "web": {"listen": self.address},
        }

    def command(self) -> Sequence[str]:
        """Writes its configuration first."""
        config = self.directory / "kafka-warden.yml"
        config.write_text(yaml.safe_dump(self._config, sort_keys=False), encoding="utf-8")
        # A variable with this prefix would override the file, and an unknown one is an error.
        foreign = [f"--unset={name}" for name in os.environ if name.startswith("KAFKA_WARDEN_")]
        program = os.fspath(Path(sys.executable).with_name("kafka-warden"))
        return ("env", *foreign, program, "run", "--config", os.fspath(config))
