"""Formats the directories of a node, as `kafka-storage format` does.

The tool itself runs once per cluster, for the first controller; it knows which features a new cluster of that version
has. Brokers need no more than meta.properties, and the other controllers a copy of the first one's bootstrap records.
"""

import base64
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.settings import release

FIRST_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
FIRST_SNAPSHOT_SINCE = (4, 4)
"""First release whose tool writes the features of a new cluster into the first snapshot (KIP-1170)."""
FORMAT_TIMEOUT_SECONDS = 120
DIRECTORY_IDS_SINCE = (3, 7)
"""First release whose log directories have ids (KIP-858)."""


def kafka_uuid() -> str:
    """A random id as Kafka writes it: 16 bytes in URL-safe base64 without padding, never starting with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()).startswith("-"):
        pass
    return text


def format_with_tool(class_path: str, properties_file: Path, cluster_id: str, arguments: Sequence[str] = ()) -> None:
    """Run StorageTool on the directories of `properties_file`; `arguments` are for instance `--add-scram ...`.

    Raises:
        SandboxError: The tool refused.
    """
    java = [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xmx64m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
    ]
    tool = ["-cp", class_path, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties_file)]
    done = subprocess.run(
        [*java, *tool, *arguments], capture_output=True, text=True, timeout=FORMAT_TIMEOUT_SECONDS, check=False
    )
    if done.returncode:
        raise SandboxError(f"kafka-storage format failed: {(done.stderr or done.stdout).strip()[-2000:]}")


def format_by_hand(
    log_dirs: Sequence[Path], node_id: int, cluster_id: str, version: str, bootstrap: Path | None = None
) -> None:
    """Write meta.properties into each directory, and a copy of the `bootstrap` records into the first."""
    for directory in log_dirs:
        directory.mkdir(parents=True, exist_ok=True)
        lines = ["version=1", f"cluster.id={cluster_id}", f"node.id={node_id}"]
        # before, all files of a broker must be the same
        if release(version) >= DIRECTORY_IDS_SINCE:
            lines.append(f"directory.id={kafka_uuid()}")
        (directory / "meta.properties").write_text("\n".join(lines) + "\n", encoding="ascii")
    if bootstrap is not None:
        copy = bootstrap_records(log_dirs[0], version)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(bootstrap, copy)


def bootstrap_records(log_dir: Path, version: str) -> Path:
    """The file of a controller that has the features of a new cluster."""
    return log_dir / (FIRST_SNAPSHOT if release(version) >= FIRST_SNAPSHOT_SINCE else "bootstrap.checkpoint")
