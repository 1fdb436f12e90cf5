"""Measures the sentences of documents: part of `python -m scripts.words`.

A sentence has at most `LONGEST` words, and the median of a page is at most `MEDIAN`. Tables, headings and code blocks
are not measured; code in a sentence is one word.
"""

import re
from collections.abc import Iterable, Iterator
from statistics import median
from typing import Final, NamedTuple

MEDIAN: Final = 16
LONGEST: Final = 35

BLANKED: Final = re.compile(r"^( *)(```|~~~).*?^\1\2|<!--.*?-->|\A---\n.*?^---$", re.DOTALL | re.MULTILINE)
NOT_PROSE: Final = re.compile(r"^\s*(?:#|\||!!!|\[[^\]]+\]:\s|:?-{3,})")
ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
INLINE: Final = re.compile(r"`[^`]*`")
LINK: Final = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)(?:\{[^}]*\})?")
TAG: Final = re.compile(r"</?[a-zA-Z][^>]*>|https?://\S+")
END: Final = re.compile(r"(?<=[.!?])[*_\")]*\s+(?=[\"(*_]*[A-Z0-9`])")


class Sentence(NamedTuple):
    """A sentence of a document: its line from 1, its text on one line, and how many words it has."""

    line: int
    text: str
    words: int


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a Markdown document outside tables, headings and code blocks."""
    for line, block in _blocks(BLANKED.sub(lambda found: "\n" * found[0].count("\n"), text)):
        start = 0
        for end in [*(found.end() for found in END.finditer(block)), len(block)]:
            part, at = block[start:end], line + block.count("\n", 0, start)
            words = sum(any(map(str.isalnum, word)) for word in part.split())
            if words:
                yield Sentence(at, " ".join(part.split()), words)
            start = end


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and items of lists, with the number of their first line; code is one word and links are their text."""
    first, block = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        item = ITEM.match(line)
        ends = not line.strip() or NOT_PROSE.match(line)
        if block and (ends or item):
            yield first, TAG.sub(" ", LINK.sub(r"\1", INLINE.sub(_one_word, "\n".join(block))))
            block = []
        if not ends:
            first = first if block else number
            block.append(line[item.end() :] if item else line)


def _one_word(code: re.Match[str]) -> str:
    return "`code`" + "\n" * code[0].count("\n")


def check(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Check Markdown documents by path; return what is wrong, a line each."""
    return [problem for path, text in texts if path.endswith(".md") for problem in _problems(path, text)]


def _problems(path: str, text: str) -> Iterator[str]:
    found = list(sentences(text))
    for line, sentence, words in found:
        if words > LONGEST:
            yield f"{path}:{line}: {words} words, at most {LONGEST}: make two sentences of it: {sentence}"
    middle = median(each.words for each in found) if found else 0
    if middle > MEDIAN:
        longest = sorted(found, key=lambda each: -each.words)[:3]
        examples = "".join(f"\n  {path}:{each.line}: {each.words} words: {each.text}" for each in longest)
        yield f"{path}: the median sentence has {middle:g} words, at most {MEDIAN}: shorten these first:{examples}"
