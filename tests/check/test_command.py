"""The command: its lines, its flags, its exit codes, its page, and what never appears in them."""

import re
import threading
import time
from pathlib import Path

import pytest

from kafka_warden import cli
from kafka_warden.check import command
from kafka_warden.check.poll import RIGHTS
from kafka_warden.check.results import CHECKS, clean
from kafka_warden.settings.secrets import Secret
from tests.check.conftest import ScriptedDoctor

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "check.md").read_text()


def test_each_result_is_one_line(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("deny", rights=["topic_configs"])
    *lines, last = doctor.run().splitlines()
    codes = [line.split()[1] for line in lines]
    assert codes == sorted(codes, key=list(CHECKS).index)
    refused = next(line for line in lines if "KW-ACL-TOPIC-CONFIGS" in line)
    assert refused.startswith("error    KW-ACL-TOPIC-CONFIGS     User:ANONYMOUS: refused for all topics")
    assert "-> kafka-acls.sh --bootstrap-server" in refused
    assert last == f"{len(lines) - 1} ok, 0 warning, 1 error, 0 skipped"


def test_checks_are_chosen(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("deny", rights=["topic_configs"])
    rights = {each["code"] for each in doctor.checks("--only", "kw-acl")}
    assert rights == {code for code in CHECKS if code.startswith("KW-ACL-")}
    assert doctor.code == 1
    assert {each["code"] for each in doctor.checks("--only", "KW-ACL", "--skip", "KW-ACL-TOPIC")} == {
        "KW-ACL-CLUSTER-DESCRIBE",
        "KW-ACL-CLUSTER-CONFIGS",
    }
    assert doctor.code == 0


def test_rights_on_the_cluster_are_those_of_the_page_about_acls() -> None:
    needed = re.findall(r"^\| `(\w+)` \|.*\| cluster: (\w+) \|", (REFERENCE / "acls.md").read_text(), re.MULTILINE)
    # The controller itself is asked for its window: KW-CONTROLLER explains a refusal.
    assert ("controller_configs", "DescribeConfigs") in needed
    asked = {(each.source, operation) for operation, questions in RIGHTS.values() for each in questions}
    assert asked == {*needed} - {("controller_configs", "DescribeConfigs")}


def test_only_files_need_no_cluster(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("forget")
    assert [each["code"] for each in doctor.checks("--only", "KW-STATE,KW-WEB-LISTEN")] == ["KW-STATE", "KW-WEB-LISTEN"]
    assert doctor.brokers.seen() == []


def test_nothing_that_was_asked_for_is_not_fine(doctor: ScriptedDoctor) -> None:
    assert (doctor.checks("--only", "KW-JMX"), doctor.code) == ([], 4)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--only", "KW-ALC"), "--only: 'KW-ALC' is no check; did you mean"),
        (("--skip", "KW"), "--skip: no check is left"),
        (("--wait", "soon"), "--wait: expected a duration"),
    ],
)
def test_bad_flags(
    doctor: ScriptedDoctor, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], message: str
) -> None:
    assert cli.main(["check", *flags]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err


def test_wait_repeats_until_there_are_no_errors(doctor: ScriptedDoctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PAUSE", 0.1)
    doctor.brokers.each("refuse")
    assert "KW-TCP" in doctor.wrong("--wait", "300ms")

    def start() -> None:
        time.sleep(1.0)
        doctor.brokers.each("accept")

    starting = threading.Thread(target=start)
    starting.start()
    found = doctor.wrong("--wait", "60s")
    starting.join()
    assert (found, doctor.code) == ({}, 0)


def test_wait_does_not_repeat_a_refused_login(doctor: ScriptedDoctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some servers lock accounts."""
    monkeypatch.setattr(command, "PAUSE", 0.1)
    doctor.brokers.do("accounts", mechanism="SCRAM-SHA-256", users={"monitor": "canary-other"})
    doctor.login()
    doctor.brokers.do("forget")
    assert doctor.wrong("--wait", "60s").keys() == {"KW-LOGIN"}
    assert len(doctor.brokers.seen("SaslHandshake")) == 1


def test_only_reads(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("forget")
    assert doctor.wrong() == {}
    asked = {each["request"] for each in doctor.brokers.seen()}
    assert asked == {
        *("connected", "ApiVersions", "Metadata", "DescribeCluster", "DescribeConfigs", "DescribeLogDirs"),
        *("DescribeClientQuotas", "DescribeQuorum", "ListOffsets", "ListPartitionReassignments"),
    }
    assert [file.name for file in doctor.folder.iterdir()] == ["warden.yml"]


def test_text_of_other_machines_is_harmless() -> None:
    secret = Secret("canary-Tr0ub4dor")
    assert clean(f"a\nb \x1b[31m{secret.reveal()} \u202ec") == "a b \\x1b[31m<redacted> \\u202ec"


def test_every_code_has_a_section() -> None:
    sections = re.findall(r"^### (\S+)$", PAGE, re.MULTILINE)
    assert sorted(sections) == sorted(CHECKS)


def test_every_flag_is_described() -> None:
    commands = cli._parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]  # there are subcommands
    flags = {name: set(commands[name]._option_string_actions) for name in ("check", "run")}  # type: ignore[index]  # by name
    assert set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE)) == flags["check"] - flags["run"]
