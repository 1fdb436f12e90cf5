"""Summaries and descriptions are exactly what an engineer on call is meant to read, and fit on a phone."""

from pathlib import Path
from typing import Final

import pytest

from tests.alerts import texts_moves, texts_replicas, texts_sidecars, texts_volumes
from tests.alerts.reading import Reading
from tests.support.promtool import Text, failures

READINGS: Final[list[Reading]] = [
    *texts_moves.READINGS,
    *texts_replicas.READINGS,
    *texts_volumes.READINGS,
    *texts_sidecars.READINGS,
]
LINES: Final = 4
WIDTH: Final = 40
"""Characters of a line of a summary on a phone; it shows two."""

each_reading = pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.name)


@pytest.mark.full_alerts
@each_reading
def test_texts_are_as_expected(reading: Reading, tmp_path: Path) -> None:
    printed = failures(reading.write(tmp_path))
    assert not printed, printed


@each_reading
def test_texts_fit(reading: Reading) -> None:
    for text in reading.texts:
        assert len(text.summary) <= 2 * WIDTH, text.summary
        assert len(text.description) <= LINES, text.description
        for line in (text.summary, *text.description):
            assert line == line.strip(), line
            assert line, text.description
            assert "  " not in line, line
        assert _plain(text), text


def _plain(text: Text) -> bool:
    """Whether no word has an underscore, as causes, problems and states have."""
    return not any("_" in word for line in (text.summary, *text.description) for word in line.split())
