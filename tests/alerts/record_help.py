"""Records the options of Kafka's tools, by their `--help`: `python -m tests.alerts.record_help`.

The options of a sub-command that a runbook uses are added to those of its tool.
"""

import re
import subprocess
from pathlib import Path
from typing import Final

from sandbox import jars
from sandbox.jvm import FLAGS
from tests.alerts.shell import main_classes

RECORDED: Final = Path(__file__).parent / "recorded" / "options.txt"
"""A line for each version and tool: these two, then its options, then the settings that kafka-configs lists."""
VERSIONS: Final = ("3.9.1", "4.1.1", "4.4.0")
"""The commands of runbooks and plans work on these, and on those between."""
SUB_COMMANDS: Final = {"kafka-cluster": "unregister", "kafka-metadata-quorum": "describe", "kafka-storage": "format"}
DEPRECATED: Final = "deprecated:"
"""Before an option that still works."""
OPTION: Final = re.compile(r"^ *(--[a-z][a-z.-]*)(?:(?!^ *--).)*", re.MULTILINE | re.DOTALL)
SETTING: Final = re.compile(r"^ *\t([A-Za-z][\w.-]+) *(?:\n +(\S+) *$)?", re.MULTILINE)
"""A long one goes on in the next line."""


def options(version: str, tool: str) -> set[str]:
    """Options and settings of a tool, without those that are deprecated."""
    rows = (line.split() for line in RECORDED.read_text(encoding="utf-8").splitlines())
    (words,) = (words for number, name, *words in rows if (number, name) == (version, tool))
    return set(words)


def deprecated(version: str, tool: str) -> set[str]:
    return {word.removeprefix(DEPRECATED) for word in options(version, tool) if word.startswith(DEPRECATED)}


def read(text: str) -> list[str]:
    found = {match[1] if "DEPRECATED" not in match[0] else f"{DEPRECATED}{match[1]}" for match in OPTION.finditer(text)}
    return sorted(found) + sorted({"".join(match.groups("")) for match in SETTING.finditer(text)})


def _record(version: str, tool: str, main: str) -> str:
    java = ["java", *FLAGS, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{jars.tools(version)}/*", main]
    asked = [["--help"], *([SUB_COMMANDS[tool], "--help"] for _ in range(tool in SUB_COMMANDS))]
    done = [subprocess.run([*java, *each], capture_output=True, text=True, check=False) for each in asked]
    return " ".join([version, tool, *read("".join(each.stdout or each.stderr for each in done))])


if __name__ == "__main__":
    rows = [_record(version, *each) for version in VERSIONS for each in sorted(main_classes(version).items())]
    RECORDED.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
