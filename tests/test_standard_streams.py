"""A reader that has enough, such as `head`, is no failure of any command: no traceback, and the usual exit code."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.scripted import ScriptedCluster

PLAN = ("--topic", "new", "--partitions", "3", "--replication-factor", "2")
COMMANDS = {
    ("--version",): 0,
    ("run", "--help"): 0,
    ("run", "--check-config"): 0,
    ("check",): 0,
    ("check", "--json", "--only", "KW-JMX"): 4,
    ("plan", *PLAN): 0,
    ("plan", *PLAN, "--output", "json"): 0,
    ("plan", *PLAN[:4]): 2,
    ("top", "--once"): 0,
    ("top", "--json"): 0,
}
"""The arguments of a command, and its exit code."""


@pytest.fixture
def config(brokers: ScriptedCluster, tmp_path: Path) -> Path:
    brokers.controller()
    brokers.topic("orders", [[1, 2], [2, 3]], end=10)
    file = tmp_path / "warden.yml"
    settings = {
        "kafka": {"bootstrap.servers": brokers.bootstrap},
        "poll": {"interval": "1s"},
        "state": {"path": str(tmp_path / "state")},
        "web": {"listen": "127.0.0.1:0"},
    }
    file.write_text(yaml.safe_dump(settings))
    return file


def ended(arguments: tuple[str, ...], config: Path, **streams: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run a command with buffers, as in a pipe of a shell."""
    needs = [] if arguments[-1] in ("--version", "--help") else ["--config", str(config)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "kafka_warden.cli", *arguments, *needs]
    return subprocess.run(command, check=False, env=environment, timeout=600, **streams)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_is_gone(arguments: tuple[str, ...], config: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = ended(arguments, config, stdout=writer, stderr=subprocess.PIPE)
        both = ended(arguments, config, stdout=writer, stderr=writer)
    finally:
        os.close(writer)

    assert (done.returncode, both.returncode) == (COMMANDS[arguments],) * 2, done.stderr
    for word in (b"Traceback", b"Broken", b"Exception"):
        assert word not in done.stderr


def test_a_stream_that_is_closed(config: Path) -> None:
    done = ended(("check",), config, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, b"")
