"""The flags of `plan`: bad input is refused before a broker is asked."""

import json
from pathlib import Path

import pytest

from kafka_warden import cli
from kafka_warden.errors import ConfigError
from kafka_warden.planning.command import _OF_MOVES, _OF_TOPICS, read

UNUSED_PORT = "127.0.0.1:1"
"""Nothing listens there."""
MOVE = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}
NONE = dict.fromkeys(_OF_MOVES + _OF_TOPICS) | {"current": False, "output": "text"}


def run(*arguments: str) -> int:
    return cli.main(["plan", "--bootstrap-servers", UNUSED_PORT, *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give --reassignment FILE, or --topic NAME"),
        (("--topic", "t"), "--topic: needs --partitions"),
        (("--partitions", "3"), "give --reassignment FILE, or --topic"),
        (("--topic", "t", "--partitions", "0", "--replication-factor", "1"), "--partitions: expected a whole number"),
        (("--topic", "t", "--reassignment", "move.json"), "--topic: cannot be used with --reassignment"),
        (("--current", "--topic", "t"), "--current: cannot be used with --topic"),
        (("--current", "--reassignment", "move.json"), "--current: cannot be used with --reassignment"),
        (("--current", "--measure", "9s"), "--current: cannot be used with --measure"),
        (("--topic", "t", "--deadline", "2h"), "--topic: cannot be used with --deadline"),
        (("--reassignment", "move.json", "--deadline", "2"), "--deadline: expected a duration with its unit"),
        (("--reassignment", "move.json", "--measure", "1s"), "--measure: expected 2s or more"),
        (("--reassignment", "move.json", "--measure", "9s", "--inbound", "in.json"), "--inbound: cannot be used with"),
        (("--reassignment", "move.json", "--inbound", "no.json"), "--inbound: no.json: cannot read the file: No such"),
        (("--reassignment", "move.json", "--max-network-share", "x"), "--max-network-share: expected a share"),
        (("--reassignment", "move.json", "--max-network-share", "30%"), "Set network.bytes_per_second"),
        (("--reassignment", "move.json", "--network", "fast"), "--network: expected bytes per second above 0, such as"),
        (("--reassignment", "no.json"), "no.json: cannot read the file: No such file or directory"),
        (("--reassignment", "."), ".: cannot read the file: Is a directory"),
        (("--reassignment", "empty.json"), "empty.json: not valid JSON"),
        (("--reassignment", "latin.json"), "latin.json: not UTF-8 text"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    """On stderr, before any broker is asked, with nothing on stdout and no traceback."""
    (folder / "move.json").write_text(json.dumps(MOVE))
    (folder / "empty.json").write_text("")
    (folder / "latin.json").write_bytes(b"\xe9")

    assert run(*arguments) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1


@pytest.mark.process
def test_a_cluster_that_does_not_answer_is_exit_code_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last line says what to check; no rollback is written."""
    (folder / "move.json").write_text(json.dumps(MOVE))
    assert run("--reassignment", "move.json", "--rollback", "back.json") == 3

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1] == (
        "kafka-warden: no broker answered: is a broker of kafka.bootstrap.servers up?"
    )
    assert not (folder / "back.json").exists()


def test_flags_are_read_by_the_parsers_of_the_configuration() -> None:
    """2h, 30% and 36s, like the options."""
    given = {**NONE, "reassignment": Path("m"), "deadline": "2h", "max_network_share": "30%"}
    move = {"file": Path("m"), "deadline": None, "share": None, "measure": 36.0, "rollback": None, "inbound": None}
    move["as_json"] = False

    assert read(given).keywords == {**move, "deadline": 7200.0, "share": 0.3}
    assert read({**NONE, "reassignment": Path("m"), "output": "json"}).keywords == {**move, "as_json": True}
    with_rates = read({**NONE, "reassignment": Path("m"), "inbound": Path("i")})
    assert with_rates.keywords == {**move, "measure": 0.0, "inbound": Path("i")}
    creation = read({**NONE, "topic": "t", "partitions": "3", "replication_factor": "2"})
    assert creation.keywords == {"topic": "t", "partitions": 3, "factor": 2, "as_json": False}
    assert read({**NONE, "current": True, "rollback": Path("r")}).keywords == {"rollback": Path("r")}
    with pytest.raises(ConfigError):
        read(NONE)
