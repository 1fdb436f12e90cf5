"""Secured clusters: which principals get in, and what they may do."""

from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.metadata import MetadataRequest

from sandbox import AdminError, Cluster, ClusterSettings, SandboxError, Security, wait_for
from sandbox.admin_principals import MONITORING
from sandbox.link import NoAnswerError, ask

pytestmark = [pytest.mark.cluster, pytest.mark.full_kafka]
WINDOW = "controller.quota.window.num"


@pytest.fixture(scope="module", params=[Security.SASL_SSL_SCRAM, Security.SASL_SSL_PLAIN, Security.MTLS])
def secured(request: pytest.FixtureRequest, no_process_left: None) -> Iterator[Cluster]:
    """A cluster of one broker that is secured in one of the three ways."""
    with Cluster(ClusterSettings(brokers=1, security=request.param)) as cluster:
        cluster.admin.create_topic("seen")
        yield cluster


def controller_config(cluster: Cluster, user: str) -> Any:
    """What a controller answers about its own config on its own listener."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    wanted = resource(resource_type=4, resource_name="101", configuration_keys=[WINDOW])
    address = cluster.controller_addresses[101]
    request = DescribeConfigsRequest(resources=[wanted], include_synonyms=False, include_documentation=False)
    return ask(address, request, cluster.protection.python_config(user), 20).results[0]


def test_the_monitor_reads_everything_and_changes_nothing(secured: Cluster) -> None:
    """Four ACLs are enough for every source, the controller's own listener included, and for nothing else."""
    monitor = secured.admin_as("monitor")
    assert monitor.topics() == ("seen",)
    assert monitor.reassignments() == {}
    assert monitor.client_quotas() == {}
    assert "num.io.threads" in monitor.broker_config(1)
    assert "retention.ms" in monitor.topic_config("seen")
    assert monitor.offsets("seen", replica_id=-2) == {0: 0}
    assert "seen" in {replica.topic for replica in monitor.log_dirs(1)}
    assert WINDOW in [config.name for config in controller_config(secured, "monitor").configs]
    with pytest.raises(AdminError, match="Authorization"):
        monitor.create_topic("no")
    with pytest.raises(AdminError, match="Authorization"):
        monitor.set_client_quota(user="x", values={"producer_byte_rate": 1})


def test_a_right_may_be_taken_away_and_given_back(secured: Cluster) -> None:
    """Revoking one ACL denies one source, and no other."""
    monitor, lost = secured.admin_as("monitor"), [acl for acl in MONITORING if acl[0] == "topic"]
    secured.admin.revoke("monitor", lost)
    wait_for(lambda: monitor.topics() == (), what="the topics are hidden")
    assert monitor.client_quotas() == {}
    secured.admin.grant("monitor", lost)
    wait_for(lambda: monitor.topics() == ("seen",), what="the topics are back")


@pytest.mark.parametrize("where", ["broker", "controller"])
def test_the_wrong_secret_is_refused(secured: Cluster, where: str) -> None:
    """A wrong password, or the certificate of a foreign authority, is not let in, and says so."""
    address = secured.bootstrap if where == "broker" else secured.controller_addresses[101]
    with pytest.raises(NoAnswerError) as refused:
        ask(address, MetadataRequest(topics=[]), secured.protection.python_config("wrong"), 20)

    mtls = secured.settings.security is Security.MTLS
    assert ("alert certificate unknown" if mtls else "SaslAuthenticationFailedError") in str(refused.value)


def test_secrets_are_files_of_their_owner(secured: Cluster) -> None:
    """Passwords are in files of mode 600, and no process has one on its command line."""
    if secured.settings.security is Security.MTLS:
        with pytest.raises(SandboxError, match="no password"):
            secured.secret_file("monitor")
        return
    password = secured.client_properties("monitor")["sasl.password"]
    assert password == secured.secret_file("monitor").read_text(encoding="utf-8")
    assert secured.secret_file("monitor").stat().st_mode & 0o777 == 0o600
    for argument in (argument for node in secured.nodes.values() for argument in node.arguments):
        assert password not in argument


def test_a_password_changes_while_the_cluster_runs(secured: Cluster) -> None:
    """SCRAM: the old password is refused and the new one let in; the others say that it cannot change."""
    if secured.settings.security is not Security.SASL_SSL_SCRAM:
        with pytest.raises(SandboxError, match="only SCRAM"):
            secured.change_password("monitor")
        return
    old = secured.protection.python_config("monitor")
    new = secured.change_password("monitor")

    def refused() -> bool:
        try:
            ask(secured.bootstrap, MetadataRequest(topics=[]), old, 20)
        except NoAnswerError as error:
            return "SaslAuthenticationFailedError" in str(error)
        return False

    wait_for(refused, what="the old password is refused")
    wait_for(lambda: secured.admin_as("monitor").topics() == ("seen",), what="the new one is let in")
    assert new == secured.secret_file("monitor").read_text(encoding="utf-8")
