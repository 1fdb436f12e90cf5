"""A folder for the files of a plan."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logging_as_before: None) -> Path:
    """The working directory, without options in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("KAFKA_WARDEN_")]:
        monkeypatch.delenv(name)
    return tmp_path
