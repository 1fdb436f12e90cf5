"""The Dockerfile as data: stages of instructions."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Stage:
    """One FROM and what follows it.

    Attributes:
        name: After AS.
        base: After FROM, with the values of the ARGs before it put in.
        steps: Instructions and what they are given, in order.
    """

    name: str
    base: str
    steps: tuple[tuple[str, str], ...]

    def all(self, instruction: str) -> list[str]:
        return [given for name, given in self.steps if name == instruction]

    def one(self, instruction: str) -> str:
        (given,) = self.all(instruction)
        return given

    def words(self, instruction: str) -> list[str]:
        words: list[str] = json.loads(self.one(instruction))
        return words

    def copies(self) -> list[tuple[str, list[str], str]]:
        """Stage (empty for the build context), sources and target of every COPY."""
        found = []
        for given in self.all("COPY"):
            words = given.split()
            stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
            found.append((stage, words[:-1], words[-1]))
        return found


def stages() -> dict[str, Stage]:
    """Every stage by name, in order; the last is what is built by default."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    steps = [
        (word, re.sub(r"\s+", " ", given).strip()) for word, given in re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE)
    ]
    assert len(steps) == len([line for line in text.splitlines() if line.strip()])
    arguments = dict(given.split("=", 1) for word, given in steps if word == "ARG")
    found: dict[str, Stage] = {}
    starts = [index for index, (word, _) in enumerate(steps) if word == "FROM"]
    for start, end in zip(starts, [*starts[1:], len(steps)], strict=True):
        base, name = re.fullmatch(r"(\S+) AS (\S+)", steps[start][1]).groups()  # type: ignore[union-attr]  # else it fails, as it should
        base = re.sub(r"\$\{(\w+)\}", lambda match: arguments[match[1]], base)
        found[name] = Stage(name, base, tuple(steps[start + 1 : end]))
    return found


def whole(name: str) -> Stage:
    """A stage with the steps of the stages that it is built on before its own."""
    stage = stages()[name]
    if stage.base not in stages():
        return stage
    below = whole(stage.base)
    return replace(stage, base=below.base, steps=(*below.steps, *stage.steps))
