"""`python -m sandbox`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox import wait_for
from tests.support.processes import run

COMMAND = [sys.executable, "-m", "sandbox"]
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--brokers", "0"], "brokers"),
        (["--brokers", "many"], "--brokers"),
        (["--profile", "slow"], "--profile"),
        (["--security", "none"], "--security"),
        (["--set", "novalue"], "KEY=VALUE"),
        (["--no-jmx", "--jmx-password"], "jmx"),
        (["extra"], "extra"),
    ],
)
def test_nonsense_is_one_line_and_exit_code_2(arguments: list[str], named: str) -> None:
    done = run(*COMMAND, *arguments, cwd=REPOSITORY)

    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert named in done.stderr


def test_a_version_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    done = run(*COMMAND, "--kafka", "four", cwd=REPOSITORY, env=os.environ | {"SANDBOX_CACHE": str(tmp_path)})

    assert done.returncode == 1
    assert ["'four'" in line for line in done.stderr.splitlines()] == [True]


@pytest.fixture
def started() -> Iterator[subprocess.Popen[str]]:
    """The program with a small cluster."""
    with subprocess.Popen(
        [*COMMAND, "--brokers", "1", "--no-tiered"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as program:
        yield program
        program.kill()


def read_output(program: subprocess.Popen[str]) -> tuple[dict[str, str], str]:
    """The commented facts, and the configuration for kafka-warden."""
    assert program.stdout is not None
    facts, config = {}, ""
    for line in program.stdout:
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            facts[name] = value.strip()
        elif line.strip():
            config += line
        else:
            break
    return facts, config


@pytest.mark.full_kafka
@pytest.mark.cluster
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_it_leaves_nothing_behind(started: subprocess.Popen[str], ending: signal.Signals) -> None:
    facts, text = read_output(started)
    config = yaml.safe_load(text)
    assert config["kafka"] == {"bootstrap.servers": facts["bootstrap"]}
    assert (set(config["jmx"]["brokers"]), set(config["jmx"]["controllers"])) == ({1}, {101})
    pids = [int(pair.partition("=")[2]) for pair in facts["processes"].split()]
    os.kill(pids[0], signal.SIGSTOP)
    started.send_signal(ending)

    assert started.wait(60) == (0 if ending is signal.SIGTERM else -signal.SIGKILL)
    wait_for(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()], 60, "every node is gone")
    wait_for(lambda: not Path(facts["files"]).exists(), 60, "every file is gone")
