"""Two things are wrong at once, and both are named."""

from collections.abc import Callable

from sandbox.certificates import Identity
from tests.check.conftest import ScriptedDoctor
from tests.check.test_broken import free_port


def test_a_right_and_a_state_folder(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("deny", rights=["cluster_describe"])
    (doctor.folder / "file").touch()
    doctor.config["state"]["path"] = str(doctor.folder / "file" / "state")
    assert doctor.wrong().keys() == {"KW-ACL-CLUSTER-DESCRIBE", "KW-STATE"}


def test_an_authority_and_a_port(doctor: ScriptedDoctor, secured: Callable[..., Identity]) -> None:
    """Of two bootstrap servers, each with a fault of its own; neither is useful, so both are errors."""
    pair = secured()
    doctor.kafka(
        bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]},127.0.0.1:{free_port()}",
        ssl_ca_location=str(pair.certificate),
    )
    found = doctor.wrong()
    assert found.keys() == {"KW-TLS", "KW-TCP"}
    assert {text.partition(" ")[0] for text in found.values()} == {"error"}


def test_a_clock_and_a_history_folder(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("skew", seconds=-60.0)
    (doctor.folder / "file").touch()
    doctor.config["history"] = {"parquet": {"path": str(doctor.folder / "file")}}
    assert doctor.wrong().keys() == {"KW-CLOCK", "KW-HISTORY-FOLDER"}
    assert doctor.code == 1
