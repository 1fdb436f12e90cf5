"""Where the programs of Prometheus come from, and what is said of rules that do not load."""

from pathlib import Path

import pytest

from sandbox import SandboxError
from sandbox.jars import CACHE_VARIABLE
from sandbox.monitoring import Prometheus
from sandbox.monitoring_tools import tools


def test_rules_that_do_not_load_are_said_so(tmp_path: Path) -> None:
    broken = tmp_path / "broken.rules.yml"
    broken.write_text("groups: [{name: x, rules: [{alert: X, expr: 'sum('}]}]")
    with pytest.raises(SandboxError, match=r"prometheus ended by itself:(.|\n)*broken\.rules\.yml"):
        Prometheus(tmp_path / "prometheus", [], [broken]).__enter__()


def test_missing_apt_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"apt-get is missing.*promtool.*amtool on the PATH"):
        tools()


def test_programs_on_the_path_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tools()
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("prometheus", "promtool", "alertmanager", "amtool"):
        (directory / name).symlink_to(getattr(real, name))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(directory))
    assert tools().promtool == directory / "promtool"
    (directory / "promtool").unlink()
    (directory / "promtool").write_text("#!/bin/sh\necho 'promtool, version 2.31.1'\n")
    (directory / "promtool").chmod(0o755)
    with pytest.raises(SandboxError, match=r"2\.42 or newer"):
        tools()
