"""The sentences of documents: what counts as one, and which pages are too hard to read."""

import pytest

from scripts.readability import LONGEST, MEDIAN, check, sentences

LONG = " ".join(["Word"] * (LONGEST + 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three\nfour five.", [(1, 2), (1, 3)]),
        ("One.\nTwo `kafka-warden plan --to 1` three!", [(1, 1), (2, 3)]),
        ("**One two.** Three at 10.5 MB/s and e.g. four.", [(1, 2), (1, 7)]),
        ("- One two\n  three\n- four\n\n1. Five [six\nseven](a.md#b) eight", [(1, 3), (3, 1), (5, 4)]),
        ("# Head one\n\n| a | b |\n|---|---|\n| cell one | cell two |\n\nOne.", [(7, 1)]),
        ("```sh\none two\n```\n\nOne:\n\n    ```\n    two\n    ```\n\nThree.", [(5, 1), (11, 1)]),
        ("One <b>two</b> ![three four](a.png) -- https://a.example five", [(1, 5)]),
    ],
)
def test_sentences(text: str, expected: list[tuple[int, int]]) -> None:
    assert [(found.line, found.words) for found in sentences(text)] == expected


def test_a_long_sentence_is_named_with_its_line() -> None:
    (problem,) = check([("docs/a.md", f"Fine. Fine. Fine.\n\nFine.\n{LONG}."), ("a.py", f"# {LONG}.")])
    assert problem == f"docs/a.md:4: 36 words, at most 35: make two sentences of it: {LONG}."


def test_a_page_of_long_sentences_is_named_with_its_longest() -> None:
    common, longer = " ".join(["Word"] * (MEDIAN + 1)), " ".join(["Word"] * (MEDIAN + 4))
    (problem,) = check([("a.md", f"{common}. {common}.\n{longer}. {' '.join(['Word'] * MEDIAN)}.")])
    assert problem.splitlines()[0] == "a.md: the median sentence has 17 words, at most 16: shorten these first:"
    assert problem.splitlines()[1].startswith("  a.md:2: 20 words: Word")
    assert check([("a.md", f"{' '.join(['Word'] * MEDIAN)}. {longer}. Short.")]) == []
