"""Secured clusters, with a principal that has just the ACLs of a monitor; a password that is wrong, and then right."""

import http
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_warden.model import Source
from sandbox import Cluster, ClusterSettings, Security, wait_for
from sandbox.passwords import write_secret
from tests.cluster.beans import logins
from tests.cluster.mutating import RATE, WINDOW, assert_tokens_follow, create_topic
from tests.cluster.page import Page
from tests.cluster.sidecar import SLOW_MACHINE, Sidecar, configuration

pytestmark = pytest.mark.cluster

EVERY_SOURCE = {*map(str, Source)} - {Source.ELIGIBLE_LEADERS}
"""Except the one that is asked only while partitions have no leader."""
POLLS = 5
REFUSED = {
    *(("reassignments", ""), ("quorum", ""), ("quotas", "")),
    *(("log_dirs", "1"), ("log_dirs", "2"), ("configs", "1"), ("configs", "2")),
}
"""What a principal without rights on the cluster may not ask."""


@pytest.fixture(scope="module")
def scram(no_process_left: None) -> Iterator[Cluster]:
    """SASL_SSL with SCRAM, and JMX with a password; shared by this file."""
    settings = ClusterSettings(brokers=2, security=Security.SASL_SSL_SCRAM, jmx_password=True, tiered=False)
    with Cluster(settings) as cluster:
        cluster.admin.create_topic("secured", partitions=2, replication_factor=2)
        cluster.load.produce("secured", records=20, partitions=range(2))
        yield cluster


def test_a_monitor_reads_everything_with_scram(scram: Cluster, tmp_path: Path) -> None:
    """Every source is up with the least ACLs, and `/metrics` has the tokens of a user quota under the user's name."""
    controller = scram.active_controller()
    scram.admin.set_client_quota(user="admin", values={"controller_mutation_rate": RATE})
    with Sidecar(configuration(scram, "monitor"), tmp_path) as sidecar:
        _assert_complete(sidecar, scram)
        mutation = create_topic(scram, "any", "by-user", 60)
        page = sidecar.whole_page()
        assert_tokens_follow(page, mutation, RATE * WINDOW - 60, controller, user="admin", client_id="")
    scram.admin.clear_client_quotas()


@pytest.mark.full_kafka
@pytest.mark.parametrize("security", [Security.SASL_SSL_PLAIN, Security.MTLS], ids=lambda security: security.value)
def test_a_monitor_reads_everything(make_cluster: Callable[..., Cluster], tmp_path: Path, security: Security) -> None:
    """The same with SASL/PLAIN, and with a client certificate in place of a password."""
    cluster = make_cluster(brokers=1, security=security, jmx_password=True, tiered=False)
    cluster.admin.create_topic("secured", partitions=2)
    cluster.load.produce("secured", records=20, partitions=range(2))
    with Sidecar(configuration(cluster, "monitor"), tmp_path) as sidecar:
        _assert_complete(sidecar, cluster)


def test_a_wrong_password_is_no_reason_to_end_and_the_right_one_is_found(scram: Cluster, tmp_path: Path) -> None:
    """Kafka refuses it: up 0, reason auth, no further attempt; the file is replaced, and a poll later all is well."""
    file = write_secret(tmp_path / "password", scram.secret_file("wrong").read_text())
    before = logins(scram, "failed-authentication")
    with Sidecar(
        configuration(scram, "monitor", kafka={"sasl.password.file": str(file)}), tmp_path, ready=False
    ) as sidecar:
        page = _wait_for_errors(sidecar, "metadata", "auth", POLLS)
        assert page.up()["metadata", ""] is False
        assert page.errors("metadata").keys() <= {"auth", "timeout"}
        assert sidecar.get("/-/ready")[0] == http.HTTPStatus.SERVICE_UNAVAILABLE
        # An attempt that timed out is made again, until each broker has refused once.
        wait_for(lambda: _polls_without_attempt(scram, sidecar), SLOW_MACHINE, f"{POLLS} polls without an attempt")
        assert logins(scram, "failed-authentication") > before
        write_secret(file, scram.secret_file("monitor").read_text())
        sidecar.wait_ready()
        _assert_complete(sidecar, scram)


def test_a_principal_without_rights_sees_the_reason(scram: Cluster, tmp_path: Path) -> None:
    """A principal without ACLs is up where Kafka asks for none; the rest is not available, which is no failure."""
    with Sidecar(configuration(scram, "stranger"), tmp_path) as sidecar:
        page = _wait_for_refusals(sidecar)
        assert page.up()["metadata", ""]
        assert page.up()["fenced_brokers", ""]
        assert "secured" not in page.text


@pytest.mark.full_kafka
def test_a_topic_that_is_deleted_with_its_acls_looks_like_a_lost_acl(scram: Cluster, tmp_path: Path) -> None:
    """Kafka refuses to describe it by name, as it does a hidden topic. With the ACL it is deleted."""
    of_topics = {
        name: [("topic", name, right) for right in ("describe", "describe_configs")]
        for name in ("secured", "short", "brief")
    }
    rights = [acl for acls in of_topics.values() for acl in acls]
    scram.admin.create_topic("short", partitions=1)
    scram.admin.create_topic("brief", partitions=1)
    scram.admin.grant("stranger", rights)
    try:
        with Sidecar(configuration(scram, "stranger"), tmp_path) as sidecar:
            sidecar.wait(lambda page: _topics(page) == {*of_topics})
            scram.admin.delete_topic("brief")
            page = sidecar.wait(lambda page: _topics(page) == {"secured", "short"})
            assert page["undescribed_topics"] == 0
            scram.admin.revoke("stranger", of_topics["short"])
            scram.admin.delete_topic("short")
            page = sidecar.wait(lambda page: page["undescribed_topics"] == 1)
            assert _topics(page) == {"secured"}
            assert page.up()["metadata", ""]
    finally:
        scram.admin.revoke("stranger", rights)


def _topics(page: Page) -> set[str]:
    return {labels["topic"] for labels, _ in page.rows("topic_offline_partitions")}


def _wait_for_refusals(sidecar: Sidecar) -> Page:
    """Wait until a stranger knows what it may not ask; it is no failure, in some more polls."""
    sidecar.wait(lambda page: page.not_available().keys() >= REFUSED)
    for _ in range(POLLS):
        page = sidecar.next_page()
        assert not page.down() & REFUSED
    assert set(page.not_available().values()) == {"authorization"}
    assert sidecar.log.count("source is not available") <= 5  # one for each kind, the topics' among them
    return page


def _assert_complete(sidecar: Sidecar, cluster: Cluster) -> None:
    """Every source answers, for every node, and its numbers are in `/metrics`. Controllers are known a poll later."""
    brokers = set(cluster.broker_ids)
    page = sidecar.wait(lambda page: {source for source, _ in page.up()} == EVERY_SOURCE and not page.down())
    assert {node for source, node in page.up() if source == "jmx"} == {str(node) for node in cluster.nodes}
    assert ("controller_configs", str(cluster.active_controller())) in page.up()
    for name in ("broker_bytes_in_total", "broker_sum_replica_lag_messages", "broker_replicas"):
        assert page.brokers(name).keys() == brokers
    assert {int(labels["broker"]) for labels, _ in page.rows("log_dir_bytes")} == brokers


def _polls_without_attempt(cluster: Cluster, sidecar: Sidecar) -> bool:
    """Whether the next polls fail without a login that the brokers refuse."""
    before = logins(cluster, "failed-authentication")
    _wait_for_errors(sidecar, "metadata", "auth", sidecar.scrape().errors("metadata")["auth"] + POLLS)
    return logins(cluster, "failed-authentication") == before


def _wait_for_errors(sidecar: Sidecar, source: str, reason: str, count: float) -> Page:
    wait_for(lambda: sidecar.scrape().errors(source).get(reason, 0) >= count, SLOW_MACHINE, f"{count} times {reason}")
    return sidecar.scrape()
