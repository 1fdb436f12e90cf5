"""The list of words that are not used: every pattern finds its example, and exceptions are exact."""

import re

import pytest

from scripts.words import PATTERNS, Exceptions, Word, check, read_words

WORDS = read_words(PATTERNS.read_text())
TOLD = Word("told", "reported", "it was told")


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.pattern)
def test_every_pattern_finds_its_example(word: Word) -> None:
    (problem,) = check([("docs/a.md", f"\n{word.example}\n")], [word], Exceptions())
    assert problem.startswith("docs/a.md:2: ")
    assert problem.endswith(f": write {word.instead}")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It Told us.", "'Told'"),
        ("name = told_by", "'told'"),
        ("value = _told", "'told'"),
        ("Gauges, but\n    # for one.", "'but # for'"),
        ("It untold, toldx", ""),
        ("a buttress for it", ""),
        ("retell", ""),
    ],
)
def test_words_are_whole_and_may_be_wrapped(text: str, found: str) -> None:
    problems = check([("a.py", text)], [*WORDS, TOLD], Exceptions())
    assert re.findall(r": ('[^']*'):", "\n".join(problems)) == ([found] if found else [])


def test_a_room_that_is_clean_leaves_the_list() -> None:
    exceptions = Exceptions(("docs",), ("c.txt",), (("b.py", '"told"'),))
    problems = check([("docs/a.md", "shown"), ("b.py", "shown"), ("c.txt", "shown")], [TOLD], exceptions)
    assert len(problems) == 3
    assert all(problem.startswith("words-exceptions.txt: ") for problem in problems)


def test_a_frozen_text_excuses_itself_only() -> None:
    exceptions = Exceptions(frozen=(("a.py", r'"told"'),))
    problems = check([("a.py", 'x = "told"\n# told\n'), ("b.py", '"told"')], [TOLD], exceptions)
    assert [problem.rpartition(": '")[0] for problem in problems] == ["a.py:2", "b.py:1"]
