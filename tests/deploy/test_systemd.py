"""The systemd unit: what it starts, as whom, and with which rights."""

import shutil
import sys
from collections import defaultdict
from pathlib import Path

from kafka_warden import cli
from kafka_warden.app import UNHEALTHY_SECONDS, WATCH_SECONDS
from kafka_warden.lifecycle import STOP_WITHIN
from kafka_warden.rules.thresholds import seconds
from tests.deploy.dockerfile import ROOT
from tests.deploy.test_image import PROJECT
from tests.support.processes import checked, run

UNIT = ROOT / "deploy" / "kafka-warden.service"
CLOSED = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "AmbientCapabilities": "",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectControlGroups": "yes",
    "RestrictNamespaces": "yes",
    "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes",
    "SystemCallArchitectures": "native",
}
EXPOSURE = 20
"""Tenths of what `systemd-analyze security` may rate it at most, of 100; below 20 is "OK" or better."""


def settings() -> dict[str, list[str]]:
    """Values by key of all sections; a key may stand more than once."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found[key].append(value)
    return found


def test_it_starts_the_command() -> None:
    (start,) = settings()["ExecStart"]
    program, *arguments = start.split()
    (script,) = PROJECT["scripts"]
    assert Path(program).name == script
    parsed = cli._parser().parse_args(arguments)
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    assert f"-m venv {Path(program).parents[1]}\n" in page
    assert f" {parsed.config}\n" in page


def test_a_bad_configuration_is_not_tried_again() -> None:
    assert settings()["RestartPreventExitStatus"] == [str(cli.BAD_CONFIGURATION)]
    assert settings()["Restart"] == ["always"]


def test_it_has_time_to_stop() -> None:
    (given,) = settings()["TimeoutStopSec"]
    assert seconds(given) > STOP_WITHIN


def test_it_reports_to_systemd() -> None:
    assert (settings()["Type"], settings()["WatchdogSignal"]) == (["notify"], ["SIGTERM"])
    assert settings()["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    (watchdog,) = settings()["WatchdogSec"]
    assert seconds(watchdog) > WATCH_SECONDS + UNHEALTHY_SECONDS


def test_its_state_is_where_it_may_write() -> None:
    assert settings()["WorkingDirectory"] == [f"%S/{settings()['StateDirectory'][0]}"]
    assert "ReadWritePaths" not in settings()


def test_it_has_no_rights() -> None:
    assert {key: settings()[key] for key in CLOSED} == {key: [value] for key, value in CLOSED.items()}
    assert settings()["User"] == ["kafka-warden"]
    assert "useradd --system" in (ROOT / "docs" / "how-to" / "install.md").read_text()


def test_systemd_accepts_it(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        return
    unit = tmp_path / UNIT.name
    (start,) = settings()["ExecStart"]
    unit.write_text(UNIT.read_text().replace(start.split()[0], sys.executable))  # one that is there
    done = run(program, "verify", unit)
    assert done.returncode == 0, done.stderr
    assert UNIT.name not in done.stderr
    checked(program, "security", "--offline=true", f"--threshold={EXPOSURE}", unit)
