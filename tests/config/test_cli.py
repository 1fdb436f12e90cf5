"""The command, as a process of its own: exit codes, one line, no secrets."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_warden import cli
from kafka_warden.errors import IncompleteError
from kafka_warden.log import write
from kafka_warden.settings.secrets import Secret
from tests.support.processes import run as run_program

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
CANARY = "canary-Tr0ub4dor"
WITHIN = 60.0
"""Seconds for a process to end on a busy machine."""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_WARDEN_")}

    def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = inherited | {"PYTHONPATH": str(ROOT / "exporter")} | environment
        return run_program(sys.executable, "-m", "kafka_warden.cli", *arguments, cwd=tmp_path, env=variables)

    return start


def test_version(run: Run) -> None:
    done = run("--version")

    assert done.returncode == 0
    assert done.stdout.startswith("kafka-warden ")


def test_a_good_configuration_is_checked_without_a_cluster(run: Run, tmp_path: Path) -> None:
    (tmp_path / "warden.yml").write_text("kafka: {bootstrap.servers: 'a:1'}\nweb: {config_file: web.yml}\n")
    (tmp_path / "web.yml").write_text("http_server_config: {http2: true}\n")

    done = run("run", "--config", "warden.yml", "--check-config")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "kafka-warden: the configuration is fine\n"


@pytest.mark.parametrize(
    ("text", "web", "arguments", "message"),
    [
        ("kafka: {bootstrap.servers: 'a:1'}\npol: {}", "", (), "warden.yml: pol: unknown key; did you mean poll?"),
        ("kafka: {bootstrap.servers: 'a:1'}", "", ("--poll-interval", "x"), "--poll-interval: expected a duration"),
        (
            f"kafka: {{bootstrap.servers: 'a:1', sasl.password: {CANARY}}}",
            "",
            (),
            "a secret is not allowed in this file",
        ),
        ("kafka: {bootstrap.servers: 'a:1'}\nweb: {config_file: web.yml}", "tls: {}", (), "web.yml: tls: unknown key"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    run: Run, tmp_path: Path, text: str, web: str, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "warden.yml").write_text(text)
    (tmp_path / "web.yml").write_text(web)

    done = run("run", "--config", "warden.yml", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kafka-warden: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert CANARY not in done.stderr


@pytest.mark.parametrize("flag", ["--sasl-password", "--password", "--jmx-password", "--boot", "--kafka.sasl.password"])
def test_no_flag_takes_a_secret_and_none_is_guessed(run: Run, flag: str) -> None:
    done = run("run", flag, CANARY)

    assert done.returncode == 2
    assert f"unrecognized arguments: {flag}" in done.stderr
    assert CANARY not in done.stderr


def test_signals_during_the_start() -> None:
    """While it reads its configuration, SIGHUP is harmless, and SIGTERM ends the process at once, with code 0.

    By default SIGHUP ends a process, and the kernel drops a SIGTERM for the first process of a container.
    """
    program = (
        "from kafka_warden import cli\ncli.load = lambda *_: print(flush=True) or time.sleep(600)\ncli.main(['run'])"
    )
    command = [sys.executable, "-c", f"import time\n{program}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "exporter")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        for number in (signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        assert process.wait(WITHIN) == 0


def test_the_environment_configures_too(run: Run) -> None:
    assert run("run", "--check-config", KAFKA_WARDEN_KAFKA_BOOTSTRAP_SERVERS="a:1").returncode == 0

    done = run("run", "--check-config", KAFKA_WARDEN_KAFKA_BOOTSTRAP_SERVERS="a:1", KAFKA_WARDEN_POL_INTERVAL="1s")

    assert done.returncode == 2
    assert (
        "KAFKA_WARDEN_POL_INTERVAL: unknown environment variable; did you mean KAFKA_WARDEN_POLL_INTERVAL?"
        in done.stderr
    )


def test_an_error_of_the_program_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's would be 1, which is a verdict of `plan` and `check`. The traceback stays, without secrets."""
    secret = Secret(CANARY)

    def fail(_: object) -> int:
        raise KeyError(secret.reveal())

    monkeypatch.setattr(cli, "_run", fail)

    assert cli.main(["check"]) == 70

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Traceback (most recent call last):\n  File ")
    assert printed.err.splitlines()[-1] == "kafka-warden: this is a bug: please report the lines above"
    assert CANARY not in printed.err


def test_error_lines_have_no_terminal_escapes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise IncompleteError("broker 2 has /bad\x1b]0;owned\x07\x1b[2J and \u202eno more")

    monkeypatch.setattr(cli, "_run", fail)

    assert cli.main(["check"]) == 3
    assert capsys.readouterr().err == ("kafka-warden: broker 2 has /bad\\x1b]0;owned\\x07\\x1b[2J and \\u202eno more\n")


def test_output_has_no_terminal_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    write("one\x1b[2J\ntwo \u2028 three\n")
    assert capsys.readouterr().out == "one\\x1b[2J\ntwo \\u2028 three\n"
