"""Logs: their format, records of libraries, and secrets."""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import structlog

from kafka_warden import log
from kafka_warden.settings.secrets import REDACTED, Secret
from sandbox.passwords import write_secret
from tests.support.processes import run

CANARY = "canary-Tr0ub4dor"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("logging_as_before")


def test_json_is_one_object_a_line_with_utc_time(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("info", "json")

    structlog.get_logger("kafka_warden.poller").info("polled", broker=1, took=0.25, path=Path("/x"), ids={3})
    logging.getLogger("kafka_warden.other").warning("from %s", "the standard library")

    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["event"], first["level"], first["logger"]) == ("polled", "info", "kafka_warden.poller")
    assert (first["broker"], first["took"], first["path"], first["ids"]) == (1, 0.25, "/x", [3])
    assert first["time"].endswith("Z")
    assert (second["event"], second["level"]) == ("from the standard library", "warning")


def test_logfmt_is_one_line_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("info", "logfmt")

    structlog.get_logger("x").info('two\nlines "quoted"', topic="a\r\nb\x1b[31m", **{"odd key": 1})

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert r'event="two\nlines \"quoted\""' in lines[0]
    assert "\x1b" not in lines[0]
    assert "odd_key=1" in lines[0]


def test_no_text_forges_a_line_of_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither an event nor a value, nested ones and those of libraries included."""
    log.configure("info", "console")
    forged = "a\r\n2026 [error] b\x1b[31m"

    structlog.get_logger("x").info(forged, topic=forged, nested=[{forged: forged}])
    logging.getLogger("y").warning("from %s", forged)

    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == shown.count("\n") == 2
    assert "\x1b" not in shown
    assert shown.count(r"a\r\n2026") == 2


@pytest.mark.parametrize("form", log.FORMATS)
def test_every_form_shows_exceptions_without_local_variables(capsys: pytest.CaptureFixture[str], form: str) -> None:
    """The traceback has no values of variables, since they may be secret."""
    log.configure("info", form)
    secretive = "NO_SUCH_VARIABLE"

    try:
        os.environ[secretive]
    except KeyError:
        structlog.get_logger("x").exception("failed")
        logging.getLogger("y").exception("failed too")

    shown = capsys.readouterr().err
    assert shown.count("KeyError") >= 2
    assert "Traceback" in shown
    assert "secretive = " not in shown
    assert "locals" not in shown


def test_the_level_is_for_this_program_and_libraries_stay_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """At debug botocore logs signatures. Of late polls and failing logins the exporter logs each change itself."""
    log.configure("debug", "logfmt")

    logging.getLogger("kafka.protocol.parser").debug("Request 1: SaslAuthenticateRequest(auth_bytes=%s)", CANARY)
    logging.getLogger("botocore.auth").debug("Signature: %s", CANARY)
    logging.getLogger("urllib3.connectionpool").debug("GET /?%s", CANARY)
    logging.getLogger("uvicorn.error").info("Running on")
    logging.getLogger("apscheduler.executors").debug("running job")
    logging.getLogger("apscheduler.scheduler").warning("Execution of job skipped")
    logging.getLogger("botocore.credentials").warning("Refreshing temporary credentials failed")
    structlog.get_logger("kafka_warden.x").debug("ours")

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "event=ours" in lines[0]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"password": "x"}, {"password": REDACTED}),
        ({"sasl.jaas.config": "x"}, {"sasl.jaas.config": REDACTED}),
        ({"Authorization": "Basic x"}, {"Authorization": REDACTED}),
        (
            {"options": {"sasl_plain_password": "x", "client_id": "c"}},
            {"options": {"sasl_plain_password": REDACTED, "client_id": "c"}},
        ),
        ({"ssl.key.pem": "x"}, {"ssl.key.pem": REDACTED}),
        ({"password_file": "/run/x"}, {"password_file": "/run/x"}),
        ({"controller_mutation_tokens": -3.5, "token": 1}, {"controller_mutation_tokens": -3.5, "token": 1}),
        ({"value": Secret("abcdef")}, {"value": REDACTED}),
        ({"text": f"login as u:{CANARY} failed"}, {"text": f"login as u:{REDACTED} failed"}),
        ({"raw": CANARY.encode()}, {"raw": f"b'{REDACTED}'"}),
        ({"error": ValueError(CANARY)}, {"error": REDACTED}),
        ({"deep": [[{"a": (CANARY,)}]]}, {"deep": [[{"a": [REDACTED]}]]}),
        ({CANARY: 1}, {REDACTED: 1}),
    ],
)
def test_secrets_are_replaced_by_key_and_by_value(event: dict[str, Any], expected: dict[str, Any]) -> None:
    in_memory = Secret(CANARY)

    assert log.redact(None, "info", event) == expected
    assert in_memory.reveal() == CANARY


_PROGRAM = """
import logging, os, sys
from pathlib import Path
import structlog
from kafka_warden import log
from kafka_warden.config import load
config = load({}, os.environ, Path(sys.argv[1]))
log.configure("debug", sys.argv[2])
say = structlog.get_logger("kafka_warden.canary")
login = config.kafka.settings.login()
password = login[1].reveal()
options = {"username": login[0], "password": password}
jmx = config.jmx.password.read()
say.debug("configuration", config=config, options=options, environment=dict(os.environ), jmx=jmx)
say.info(f"formatted {jmx} {password}")
logging.getLogger("kafka_warden.standard").error("positional %s %r %s", jmx, config, options)
logging.getLogger("kafka.protocol").debug("auth_bytes=%s", password)
logging.getLogger("kafka.protocol").warning("auth_bytes=%s", password)
try:
    raise RuntimeError("handshake failed for " + password)
except RuntimeError:
    say.exception("caught")
    logging.getLogger("kafka_warden.standard").exception("caught")
print(open("/proc/self/cmdline").read())
print(repr(config))
int(jmx)
"""


@pytest.mark.process
@pytest.mark.parametrize("form", log.FORMATS)
def test_no_secret_is_printed(tmp_path: Path, form: str) -> None:
    write_secret(tmp_path / "password", f"{CANARY}-kafka")
    (tmp_path / "warden.yml").write_text(
        "kafka: {bootstrap.servers: 'a:1', security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN,"
        " sasl.username: u, sasl.password.file: password}\njmx: {user: u}\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_WARDEN_")}

    secret = {"KAFKA_WARDEN_JMX_PASSWORD": f"{CANARY}-jmx"}
    done = run(sys.executable, "-c", _PROGRAM, tmp_path / "warden.yml", form, cwd=ROOT, env=environment | secret)

    printed = done.stdout + done.stderr
    assert "TypeError" in printed
    assert "handshake failed for <redacted>" in printed
    assert CANARY not in printed
