"""Client certificates on a real broker: PEM files and Java's stores, wrong and right ones, and their rotation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import Cluster, ClusterSettings, Security, wait_for
from sandbox.certificates import Authority, Identity
from sandbox.key_stores import write_key_store, write_trust_store
from sandbox.passwords import write_secret
from sandbox.tls import MutualTlsProtection
from tests.cluster.sidecar import SLOW_MACHINE, Sidecar, configuration

pytestmark = [pytest.mark.cluster, pytest.mark.full_logins]

PASSWORD = "canary-Tr0ub4dor"
TOPIC = "history"


@pytest.fixture(scope="module")
def cluster(no_process_left: None) -> Iterator[Cluster]:
    """A broker that wants client certificates, with a topic of history that `monitor` may write to."""
    settings = ClusterSettings(brokers=1, security=Security.MTLS, jmx=False, tiered=False)
    with Cluster(settings) as made:
        made.admin.create_topic("secured", partitions=2)
        made.admin.create_topic(TOPIC)
        made.admin.grant("monitor", [("topic", TOPIC, "write")])
        yield made


class Files:
    """The two files of a sidecar, both of one type, which are replaced while it runs."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.trust, self.keys, self.secret = (folder / name for name in ("trust", "keys", "password"))
        write_secret(self.secret, PASSWORD)

    def trust_in(self, authority: Authority) -> None:
        if self.kind == "PEM":
            write_secret(self.trust, authority.certificate.read_text())
        else:
            write_trust_store(self.trust, self.kind, PASSWORD, authority.certificate)

    def show(self, identity: Identity) -> None:
        if self.kind == "PEM":
            write_secret(self.keys, identity.keystore.read_text())
        else:
            write_key_store(self.keys, self.kind, PASSWORD, identity)

    def properties(self) -> dict[str, str]:
        """As in a `client.properties` of Java."""
        made = {"security.protocol": "SSL"}
        for name, file in (("truststore", self.trust), ("keystore", self.keys)):
            made |= {f"ssl.{name}.type": self.kind, f"ssl.{name}.location": str(file)}
            made |= {f"ssl.{name}.password.file": str(self.secret)} if self.kind != "PEM" else {}
        return made


@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS"])
def test_certificates_may_be_replaced(cluster: Cluster, tmp_path: Path, kind: str) -> None:
    protection = cluster.protection
    assert isinstance(protection, MutualTlsProtection)
    right, foreign = protection.authority, Authority(tmp_path / "foreign", "foreign")
    files = Files(kind, tmp_path)
    files.trust_in(right)
    files.show(foreign.issue("monitor"))
    config: dict[str, Any] = configuration(cluster, "monitor", history={"kafka": {"topic": TOPIC}})
    config["kafka"] = {"bootstrap.servers": cluster.bootstrap, **files.properties()}
    with Sidecar(config, tmp_path, ready=False) as sidecar:
        wait_for(lambda: sidecar.scrape().errors("metadata").get("tls", 0) >= 3, SLOW_MACHINE, "it is refused")
        files.show(right.issue("first", "monitor"))
        sidecar.wait_ready()
        sidecar.whole_page()
        wait_for(lambda: sum(sidecar.scrape().all("sink_rows_total").values()) > 0, SLOW_MACHINE, "history arrives")
        expiry = sidecar.scrape().all("certificate_expiry_timestamp_seconds")
        assert len(expiry) == 1

        files.show(right.issue("stranger"))
        # Topics that are not described any more are not taken for deleted: there is no further snapshot.
        wait_for(
            lambda: sidecar.scrape().errors("metadata").get("authorization", 0) > 0,
            SLOW_MACHINE,
            "the other principal has no rights",
        )
        files.show(right.issue("second", "monitor"))
        sidecar.wait(lambda page: not page.down(), what="the first principal has them again")

        files.trust_in(foreign)
        before = sidecar.scrape().errors("metadata").get("tls", 0)
        wait_for(lambda: sidecar.scrape().errors("metadata")["tls"] > before, SLOW_MACHINE, "the broker is not trusted")
        files.trust_in(right)
        sidecar.wait(lambda page: not page.down(), what="it is trusted again")
        assert PASSWORD not in sidecar.log
