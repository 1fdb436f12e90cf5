"""One fleet that the tests look at: two small clusters, a day of all kinds of trouble."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fleet.evaluated import Written, generate
from fleet.settings import Settings
from kafka_warden.history.parquet.reader import read

SETTINGS = Settings(
    seed=5, brokers=4, partitions=12, days=0.5, faults=84, bursts=84, restarts=14, moves=112, sidecar_restarts=14
)


@dataclass(frozen=True)
class Fleet:
    """A generated history and its truth."""

    history: Path
    written: Written

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = read(self.history, table).to_pylist()
        return sorted(found, key=lambda row: row["time"])


def silent(polls: int) -> None:
    """Ignore progress."""


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    out = tmp_path_factory.mktemp("fleet")
    return Fleet(out / "history", generate(SETTINGS, out, silent))
