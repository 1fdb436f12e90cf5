"""The command of the generator: what it takes, what it refuses, and what it leaves."""

import json
from pathlib import Path

import pytest

from fleet.cli import main, moment_of, seconds_of
from fleet.settings import MONDAY
from kafka_warden.history.parquet.reader import read

QUICK = ["--brokers", "3", "--partitions", "4", "--days", "0.01", "--workers", "1"]


def test_it_writes_history_and_truth_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--out", str(tmp_path), *QUICK, "--clusters", "2", "--bursts", "1000"])
    printed = capsys.readouterr()

    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history", "truth"]
    assert len(read(tmp_path / "history", "polls")) == 28
    assert len(printed.out.splitlines()) == 1
    assert "2 clusters, 28 polls from 2026-01-05 00:00" in printed.out
    assert "100%  28 of 28 polls" in printed.err
    calm = [json.loads(line) for line in (tmp_path / "truth/calm.json").read_text(encoding="utf-8").splitlines()]
    assert len({row["cluster_id"] for row in calm}) == 2
    assert {path.name for path in (tmp_path / "truth").iterdir()} == {
        "faults.json", "calm.json", "moves.json", "growth.json",
    }  # fmt: skip


def test_a_folder_that_has_history_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "history").mkdir()
    (tmp_path / "history" / "something").touch()

    with pytest.raises(SystemExit) as ended:
        main(["--out", str(tmp_path), *QUICK])

    assert ended.value.code == 2
    assert "has history already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--replication-factor", "4"], "--replication-factor: give 1 to 3"),
        (["--interval", "0"], "--interval: give a number above 0"),
        (["--interval", "soon"], "'soon' is no time; write 10s, 1m, 6h or 1d"),
        (["--start", "Monday"], "'Monday' is no time; write 2026-01-05T12:00, UTC"),
    ],
)
def test_wrong_options_say_what_to_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--out", str(tmp_path), *QUICK, *options])

    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_a_disk_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()

    assert main(["--out", str(tmp_path / "file"), *QUICK]) == 1
    assert "file" in capsys.readouterr().err


def test_times_are_read_in_units() -> None:
    assert [seconds_of(text) for text in ("10s", "1m", "6h", "1d", "0.5")] == [10, 60, 21_600, 86_400, 0.5]
    assert [moment_of(text) for text in ("2026-01-05", "2026-01-05T00:01", "1767571200")] == [
        MONDAY, MONDAY + 60, MONDAY,
    ]  # fmt: skip
