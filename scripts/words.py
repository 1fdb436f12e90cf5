"""Finds words that the project does not use (`words.txt`) in every file under version control: part of `make lint`.

It also checks the length of sentences in documents (`readability.py`).

`words-exceptions.txt` has the rooms that are not clean yet, the files that are never checked, and the frozen texts.
Each line of it must be needed, so the list of rooms only gets shorter.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from scripts import readability

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
PATTERNS: Final = HERE / "words.txt"
EXCEPTIONS: Final = HERE / "words-exceptions.txt"
GAP: Final = r"[\s#*>]+"
"""Between two words of a pattern: a line may end there, and a comment go on."""


@dataclass(frozen=True, slots=True)
class Word:
    """One line of `words.txt`.

    Attributes:
        pattern: Regular expression, without case; a space matches any gap between words.
        instead: What to write.
        example: A sentence that the pattern finds.
    """

    pattern: str
    instead: str
    example: str


@dataclass(frozen=True, slots=True)
class Exceptions:
    """`words-exceptions.txt`.

    Attributes:
        unclean: Directories and files that are not checked yet.
        unchecked: Path patterns of files that are never checked.
        frozen: Path pattern and regular expression of a text that stays.
    """

    unclean: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    frozen: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Report:
    """What a check found: problems as lines of text, and which exceptions were needed."""

    problems: list[str] = field(default_factory=list)
    needed: set[str | tuple[str, str]] = field(default_factory=set)


def read_words(text: str) -> tuple[Word, ...]:
    """Read `words.txt`."""
    return tuple(Word(*(part.strip() for part in line.split(" | "))) for line in _lines(text))


def read_exceptions(text: str) -> Exceptions:
    """Read `words-exceptions.txt`."""
    sections: dict[str, list[str]] = {"not clean yet": [], "never checked": [], "frozen": []}
    section = ""
    for line in _lines(text):
        if line.startswith("["):
            section = line.strip("[]")
        else:
            sections[section].append(line)
    pairs = (line.partition(" | ") for line in sections["frozen"])
    frozen = tuple((path.strip(), expression.strip()) for path, _, expression in pairs)
    return Exceptions(tuple(sections["not clean yet"]), tuple(sections["never checked"]), frozen)


def check(texts: Iterable[tuple[str, str]], words: Iterable[Word], exceptions: Exceptions) -> list[str]:
    """Check texts by path; return what is wrong, a line each."""
    report, table = Report(), {f"w{number}": word for number, word in enumerate(words)}
    parts = "|".join(f"(?P<{name}>{word.pattern.replace(' ', GAP)})" for name, word in table.items())
    expression = re.compile(rf"(?<![a-z])(?:{parts})(?![a-z])", re.IGNORECASE)
    for path, text in texts:
        _check_file(path, text, expression, table, exceptions, report)
    every = (*exceptions.unclean, *exceptions.unchecked, *exceptions.frozen)
    unneeded = [line for line in every if line not in report.needed]
    return report.problems + [f"{EXCEPTIONS.name}: not needed any more: {line}" for line in unneeded]


def _check_file(
    path: str,
    text: str,
    expression: re.Pattern[str],
    words: Mapping[str, Word],
    exceptions: Exceptions,
    report: Report,
) -> None:
    found = list(expression.finditer(text))
    if not found:
        return
    excused = [room for room in exceptions.unclean if path == room or path.startswith(f"{room.rstrip('/')}/")]
    excused = excused or [pattern for pattern in exceptions.unchecked if fnmatch(path, pattern)]
    if excused:
        report.needed.update(excused)
        return
    spans = list(_frozen(path, text, exceptions))
    for match in found:
        covering = [pair for pair, start, end in spans if start <= match.start() and match.end() <= end]
        report.needed.update(covering)
        if not covering:
            line = text.count("\n", 0, match.start()) + 1
            instead = words[str(match.lastgroup)].instead
            report.problems.append(f"{path}:{line}: {' '.join(match[0].split())!r}: write {instead}")


def _frozen(path: str, text: str, exceptions: Exceptions) -> Iterator[tuple[tuple[str, str], int, int]]:
    for pair in exceptions.frozen:
        if fnmatch(path, pair[0]):
            yield from ((pair, match.start(), match.end()) for match in re.finditer(pair[1], text))


def tracked() -> Iterator[tuple[str, str]]:
    """Every text file that git knows or would add, by its path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    for name in sorted(filter(None, names.split("\0"))):
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            continue  # deleted, a link to a folder, or not a text


def _lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def main() -> int:
    """Print what is wrong; return the exit status."""
    words = read_words(PATTERNS.read_text(encoding="utf-8"))
    texts = list(tracked())
    problems = check(texts, words, read_exceptions(EXCEPTIONS.read_text(encoding="utf-8")))
    problems += readability.check(texts)
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
