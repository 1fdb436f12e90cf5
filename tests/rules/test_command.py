"""`kafka-warden rules`: what it prints, writes and refuses."""

from pathlib import Path

import pytest

from kafka_warden import cli
from kafka_warden.rules.command import one_file, table
from kafka_warden.rules.render import DEFAULTS, Values, severities, templates
from sandbox.monitoring_tools import tools
from tests.support.processes import checked

TIMES = "Longest time from a fault to its alert, with scrapes every"


@pytest.mark.process
def test_the_rules_are_printed_as_one_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["rules"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (one_file(DEFAULTS), table(DEFAULTS))
    (tmp_path / "kafka-warden.rules.yml").write_text(out)
    checked(tools().promtool, "check", "rules", "--lint=all", "--lint-fatal", tmp_path / "kafka-warden.rules.yml")


def test_the_rules_are_written_as_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "values.yml").write_text("thresholds: {offline_for: 7m}\nwatchdog: true\npollInterval: 20s\n")
    folder = tmp_path / "new" / "rules"
    arguments = ["rules", "--values", str(tmp_path / "values.yml"), "--out", str(folder)]
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{TIMES} 15 s, evaluations every 15 s, polls every 20 s:\n")
    names = {*(template.name for template in templates()), "watchdog.rules.yml"}
    assert {file.name for file in folder.iterdir()} == names
    assert "for: 7m" in (folder / "replicas.rules.yml").read_text()
    (folder / "old.rules.yml").write_text("")
    assert cli.main(arguments) == 0
    assert f"kafka-warden: {folder} has other rule files, too: old.rules.yml" in capsys.readouterr().err.splitlines()


def test_only_the_times_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "values.yml").write_text("interval: 30s\nscrapeInterval: 1m\n")
    assert cli.main(["rules", "--delays", "--values", str(tmp_path / "values.yml")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"{TIMES} 60 s, evaluations every 30 s, polls every 10 s:\n")
    assert {line.split("Kafka")[1].split()[0] for line in out.splitlines()[1:]} == {
        alert.removeprefix("Kafka") for alert in severities()
    }


def test_times_are_those_of_the_values() -> None:
    disabled = frozenset({"KafkaPartitionAtMinIsr/critical", "KafkaLogDirFilling/critical"})
    lines = table(Values(thresholds={"outage_for": "45s"}, disabled=disabled))
    assert "  1 min 45 s  KafkaClusterUnreachable\n" in lines
    assert ("KafkaPartitionAtMinIsr            warning" in lines, "critical" in lines) == (True, False)
    assert ("above its share" in lines, "above its higher share" in lines) == (True, False)
    assert "KafkaPartitionOffline" not in table(Values(disabled=frozenset({"KafkaPartitionOffline"})))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--values", "missing.yml"], "kafka-warden: missing.yml: cannot read the file: No such file or directory\n"),
        (["--values", "values.yml"], "kafka-warden: values.yml: disable: unknown key; did you mean disabled?\n"),
        (["--out", "values.yml"], "kafka-warden: --out: values.yml: cannot write the rule files: File exists\n"),
    ],
)
def test_what_cannot_be_used_ends_with_2(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("values.yml").write_text("disable: []\n")
    assert cli.main(["rules", *arguments]) == 2
    assert capsys.readouterr() == ("", message)
