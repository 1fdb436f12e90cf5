"""Records what Kafka's tools print with `--help`: `python -m tests.alerts.record_help`.

The help of a sub-command that a runbook uses is added to that of its tool.
"""

import subprocess
from pathlib import Path
from typing import Final

from sandbox import jars
from sandbox.jvm import FLAGS
from tests.alerts.shell import main_classes

HELP: Final = Path(__file__).parent / "recorded" / "help"
"""By version and tool."""
VERSIONS: Final = ("3.9.1", "4.1.1", "4.4.0")
"""The commands of runbooks and plans work on these, and on those between."""
SUB_COMMANDS: Final = {"kafka-cluster": "unregister", "kafka-metadata-quorum": "describe"}


def read_help(version: str, tool: str) -> str:
    """Return the recorded help of a tool."""
    return (HELP / version / f"{tool}.txt").read_text(encoding="utf-8")


def _record(version: str) -> None:
    directory = HELP / version
    directory.mkdir(parents=True, exist_ok=True)
    for tool, main in main_classes(version).items():
        java = ["java", *FLAGS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{jars.tools(version)}/*", main]
        asked = [["--help"], *([SUB_COMMANDS[tool], "--help"] for _ in range(tool in SUB_COMMANDS))]
        done = [subprocess.run([*java, *each], capture_output=True, text=True, check=False) for each in asked]
        text = "".join(each.stdout or each.stderr for each in done)
        (directory / f"{tool}.txt").write_text("".join(f"{line.rstrip()}\n" for line in text.splitlines()))


if __name__ == "__main__":
    for each in VERSIONS:
        _record(each)
