"""The blocks of commands of the runbook pages: what each is for, and its commands with their placeholders filled in."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from sandbox.monitoring import ALERTS
from tests.support.rules import alerting_rules

PAGES: Final = sorted((ALERTS / "runbooks").glob("*.md"))
LOOKS: Final = (
    r"kafka-(broker-api-versions|log-dirs|metadata-quorum)\.sh",
    r"kafka-(configs|consumer-groups|topics)\.sh .*--(describe|list)\b",
    r"kafka-reassign-partitions\.sh .*(--list|--verify .*--preserve-throttles)\b",
)
"""Commands of Kafka's tools that change nothing."""
PLACEHOLDER: Final = re.compile(r"(?<![$\w{])[A-Z][A-Z_]+\b(?!=\")")
"""Variables of the shell, such as `$B`, `${CC/command-/}` and `$NF`, are none, nor is what sets them."""
FENCE: Final = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
EXITS: Final = re.compile(r"\bexits (\d+)(?: or (\d+))?")


class Kind(Enum):
    """What a block is for."""

    LOOK = "look"
    ACT = "act"
    UNDO = "undo"


def labels_of_alerts() -> dict[str, set[str]]:
    """The labels of each alert: those of its rules, and those that the annotations name."""
    found: dict[str, set[str]] = {}
    for rule in alerting_rules():
        named = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        found.setdefault(rule["alert"], {"alertname", "cluster"}).update(rule["labels"], named)
    return found


@dataclass(frozen=True)
class Command:
    """One command of a block, in one line, without its comment.

    Attributes:
        text: As the page has it.
        exits: The exit codes that the page names, besides 0.
    """

    text: str
    exits: tuple[int, ...] = ()

    @property
    def looks(self) -> bool:
        """Whether it changes nothing in Kafka."""
        tools = re.findall(r"\bkafka-[a-z-]+\.sh[^|;]*", self.text)
        return all(any(re.match(look, tool) for look in LOOKS) for tool in tools)

    @property
    def entity(self) -> str:
        """What it changes or shows: its entity, topic or moves, as text to compare."""
        if found := re.search(r"--entity-type \S+(?: --entity-(?:name \S+|default))?", self.text):
            return found[0]
        if "kafka-reassign-partitions.sh" in self.text:
            return "moves"
        return "partitions" if re.search(r"kafka-(topics|leader-election)\.sh", self.text) else ""

    def filled(self, values: Mapping[str, str]) -> str:
        """Return it with every placeholder replaced.

        Raises:
            KeyError: A placeholder has no value.
        """
        return PLACEHOLDER.sub(lambda found: values[found[0]], self.text)


@dataclass(frozen=True)
class Block:
    """A fenced block of commands; `before` and `after` are the text up to the next block on either side."""

    commands: tuple[Command, ...]
    before: str
    after: str

    @property
    def kind(self) -> Kind:
        """What it is for: an undo is labelled, and a block without an action only looks."""
        if all(command.looks for command in self.commands):
            return Kind.LOOK
        last = self.before.rstrip().rpartition("\n\n")[2]
        return Kind.UNDO if re.search(r"^Undo\b", last, re.MULTILINE) else Kind.ACT

    @property
    def has_undo(self) -> bool:
        """Whether the next block undoes it, as opposed to a reason why none does."""
        return re.search(r"^Undo\b", self.after, re.MULTILINE) is not None


def read_blocks(page: Path) -> list[Block]:
    """The blocks of commands of a page, in its order."""
    text = page.read_text(encoding="utf-8")
    fences = [fence for fence in FENCE.finditer(text) if fence[1] == "sh"]
    ends = [0, *(fence.end() for fence in fences)]
    starts = [*(fence.start() for fence in fences), len(text)]
    between = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    return [
        Block(tuple(read_commands(fence[2])), before, after)
        for fence, before, after in zip(fences, between, between[1:], strict=False)
    ]


def read_commands(block: str) -> list[Command]:
    """The commands of a block: one a line, where a backslash continues it."""
    found = []
    for line in re.sub(r" *\\\n *", " ", block).splitlines():
        text, _, comment = line.partition("  # ") if "  # " in line else line.partition(" #")
        if text.strip():
            exits = EXITS.search(comment)
            found.append(Command(text.strip(), tuple(int(code) for code in exits.groups() if code) if exits else ()))
    return found


def unwrapped(page: Path) -> str:
    """The text of a page without its line breaks."""
    return " ".join(page.read_text().split())


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Kafka's tools with their arguments, anywhere in the runbook."""
    text = page.read_text().replace("\\\n", " ").replace("SIDE.", "leader.")
    yield from re.findall(r"\b(kafka-[a-z-]+)\.sh((?:[^`\n#|;]|\|(?= *$))*)", text)
