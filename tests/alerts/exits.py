"""The exit code of each command of each runbook on secured clusters, as `alerts/runbook-exits.md` shows them."""

import re
from typing import Final

from sandbox.monitoring import ALERTS
from tests.alerts.runbook import PAGES, Command, read_blocks

TABLE: Final = ALERTS / "runbook-exits.md"
VERSIONS: Final = ("3.9.1", "4.1.1", "4.4.0")
NOT_RUN: Final = "not run"
Key = tuple[str, str]
"""Name of a runbook, and a command as the page has it."""
Exits = dict[Key, dict[str, str]]
"""Exit code by version; `NOT_RUN` where the sandbox has no such tool."""


def known_commands() -> dict[Key, Command]:
    """Every command of every runbook; not the line that sets variables."""
    return {
        (page.stem, command.text): command
        for page in PAGES
        for block in read_blocks(page)
        for command in block.commands
        if not re.fullmatch(r"(\w+=(\"[^\"]*\"|\S+) *)+", command.text)
    }


def read() -> Exits:
    """Read the table."""
    rows = re.findall(r"^\| (\w+) \| `(.+)` \| (.+) \|$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        (page, text.replace("\\|", "|")): dict(zip(VERSIONS, codes.split(" | "), strict=True))
        for page, text, codes in rows
    }


def write(exits: Exits) -> None:
    """Write the rows of all commands that the runbooks have now."""
    above = TABLE.read_text(encoding="utf-8").partition("\n|---")[0]
    rows = [f"{above}\n|{'---|' * (2 + len(VERSIONS))}"]
    for page, text in known_commands():
        codes = " | ".join(exits.get((page, text), {}).get(version, "?") for version in VERSIONS)
        shown = text.replace("|", "\\|")
        rows.append(f"| {page} | `{shown}` | {codes} |")
    TABLE.write_text("\n".join(rows) + "\n", encoding="utf-8")
