"""One thing is wrong in each set-up, and it is the only one that is reported; later checks are skipped."""

import datetime as dt
import json
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from kafka_warden.check.poll import RIGHTS
from sandbox.certificates import DAY, Authority, Identity
from sandbox.passwords import write_secret
from tests.check.conftest import ScriptedDoctor
from tests.support.doctor import PASSWORD
from tests.support.small_disks import small_disk

Secure = Callable[..., Identity]
ACL = "kafka-acls.sh --bootstrap-server"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def fill_queue(address: tuple[str, int], stack: ExitStack) -> None:
    """Open connections to a server that accepts none, until the kernel drops the packets that open another."""
    with suppress(TimeoutError):
        while True:
            stack.enter_context(socket.create_connection(address, timeout=1.0))


def with_accounts(doctor: ScriptedDoctor, mechanism: str = "SCRAM-SHA-256") -> None:
    doctor.brokers.do("accounts", mechanism=mechanism, users={"monitor": PASSWORD})


def test_wrong_port(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{free_port()}")
    doctor.one("KW-TCP", "refused the connection", "correct the port")


def test_wrong_host_name(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers="no-such-host.invalid:9092")
    doctor.one("KW-DNS", "no-such-host.invalid:9092 does not resolve")


def test_a_later_check_is_skipped(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers="no-such-host.invalid:9092")
    skipped = {each["code"]: each["message"] for each in doctor.checks() if each["result"] == "skipped"}
    assert skipped["KW-BROKER"] == skipped["KW-ACL-TOPIC-CONFIGS"] == "not checked: KW-DNS failed"
    assert (doctor.run("--only", "KW-BROKER"), doctor.code)[1] == 4


def test_port_of_something_else(doctor: ScriptedDoctor, stack: ExitStack) -> None:
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

    def greet() -> None:
        for _ in range(2):  # the second connection tries TLS
            with server.accept()[0] as connection:
                connection.sendall(b"SSH-2.0-Server\r\n")
                connection.recv(1 << 16)

    thread = threading.Thread(target=greet)
    thread.start()
    stack.callback(thread.join)
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{server.getsockname()[1]}")
    doctor.one("KW-API", "does not speak the Kafka protocol")


def test_a_server_whose_packets_are_dropped(doctor: ScriptedDoctor, stack: ExitStack) -> None:
    """As behind a firewall: its queue of connections is full."""
    full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    fill_queue(full.getsockname(), stack)
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{full.getsockname()[1]}")
    doctor.one("KW-TCP", "did not accept a connection in time", "firewall")


def test_a_server_that_accepts_and_never_answers(doctor: ScriptedDoctor, stack: ExitStack) -> None:
    silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{silent.getsockname()[1]}")
    doctor.one("KW-API", "accepts connections and does not answer")


def test_a_broker_that_hangs(doctor: ScriptedDoctor) -> None:
    doctor.brokers.rule(2, "ApiVersions", hang=True)
    doctor.one("KW-API", f"127.0.0.1:{doctor.brokers.ports[2]} accepts connections and does not answer")


def test_one_of_three_bootstrap_servers(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{free_port()},{doctor.brokers.bootstrap}")
    doctor.one("KW-TCP", "refused the connection", result="warning")
    assert (doctor.run("--fail-on", "warning"), doctor.code)[1] == 3


def test_wrong_authority(doctor: ScriptedDoctor, secured: Secure, tmp_path: Path) -> None:
    secured()
    doctor.kafka(ssl_ca_location=str(Authority(tmp_path / "other", "other").certificate))
    doctor.one("KW-TLS", "is not trusted", "ssl.ca.location")


def test_certificate_of_another_host(doctor: ScriptedDoctor, secured: Secure) -> None:
    secured(hosts=["kafka.elsewhere.example"])
    doctor.one("KW-TLS", "mismatch", "subjectAltName")


def test_expired_certificate(doctor: ScriptedDoctor, secured: Secure) -> None:
    secured(lifetime=-DAY)
    doctor.one("KW-TLS", "has expired", "clock of this machine")


def test_plain_client_at_a_tls_port(doctor: ScriptedDoctor, secured: Secure) -> None:
    secured()
    doctor.config["kafka"] = {"bootstrap.servers": doctor.brokers.bootstrap}
    doctor.one("KW-TLS", "speaks TLS, and security.protocol does not")


def test_tls_client_at_a_plain_port(doctor: ScriptedDoctor, authority: Authority) -> None:
    doctor.kafka(security_protocol="SSL", ssl_ca_location=str(authority.certificate))
    doctor.one("KW-TLS", "speaks Kafka without TLS")


def test_no_client_certificate(doctor: ScriptedDoctor, authority: Authority, secured: Secure) -> None:
    secured(client_ca=authority.certificate)
    doctor.one("KW-TLS", "does it want a client certificate?", "ssl.certificate.location")


def test_wrong_password(doctor: ScriptedDoctor) -> None:
    with_accounts(doctor)
    doctor.login("canary-wrong")
    doctor.brokers.do("forget")
    doctor.one("KW-LOGIN", "refused user name or password", "sasl.username")
    assert len(doctor.brokers.seen("SaslHandshake")) == 1
    assert "canary-wrong" not in doctor.output


def test_text_in_a_login_module_that_is_no_option(doctor: ScriptedDoctor) -> None:
    """A quote in the password that is not escaped cuts it; the login is not tried with what is left."""
    jaas = write_secret(
        doctor.folder / "jaas", f'PlainLoginModule required username="monitor" password="{PASSWORD}"x";'
    )
    doctor.kafka(security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_jaas_config_file=str(jaas))
    doctor.one("KW-CONFIG", "kafka.sasl.jaas.config.file: character", "behind the option password: this is no option")
    assert doctor.brokers.seen("SaslHandshake") == []


def test_wrong_mechanism(doctor: ScriptedDoctor) -> None:
    with_accounts(doctor)
    doctor.login(mechanism="SCRAM-SHA-512")
    doctor.one("KW-LOGIN", "does not offer SCRAM-SHA-512; it offers: SCRAM-SHA-256")


def test_login_at_a_listener_without_one(doctor: ScriptedDoctor) -> None:
    doctor.login()
    doctor.one("KW-LOGIN", "has no login")


def test_no_login_at_a_listener_that_wants_one(doctor: ScriptedDoctor) -> None:
    with_accounts(doctor)
    doctor.one("KW-LOGIN", "wants a login; it offers SCRAM-SHA-256", "SASL_PLAINTEXT")


def test_advertised_name_that_does_not_resolve(doctor: ScriptedDoctor) -> None:
    _advertise(doctor, "no-such-broker.invalid", doctor.brokers.ports[3])
    doctor.one("KW-BROKER", "broker 3: no-such-broker.invalid:", "does not resolve", "advertised.listeners")


def test_advertised_port_that_is_closed(doctor: ScriptedDoctor) -> None:
    _advertise(doctor, "127.0.0.1", free_port())
    doctor.one("KW-BROKER", "broker 3: ", "refused the connection", "advertised.listeners")


def test_advertised_address_of_another_broker(doctor: ScriptedDoctor) -> None:
    port = doctor.brokers.ports[1]
    doctor.brokers.each("advertise", 2, 3, host="127.0.0.1", port=port)
    doctor.one("KW-BROKER", f"brokers 1, 2, 3 advertise the same address 127.0.0.1:{port}", "advertised.listeners")
    doctor.brokers.do("advertise", broker=3, host="localhost", port=port)
    doctor.brokers.do("advertise", broker=2, host="127.0.0.1", port=doctor.brokers.ports[2])
    doctor.one("KW-BROKER", "broker 3: ", "another broker answers at the advertised address", "advertised.listeners")


def _advertise(doctor: ScriptedDoctor, host: str, port: int) -> None:
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]}")
    doctor.brokers.do("advertise", broker=3, host=host, port=port)


def test_a_fenced_broker(doctor: ScriptedDoctor) -> None:
    doctor.kafka(bootstrap_servers=f"127.0.0.1:{doctor.brokers.ports[1]}")
    doctor.brokers.brokers({"id": 3, "fenced": True})
    doctor.one("KW-CLUSTER", "broker 3 is registered and fenced", result="warning")
    doctor.brokers.do("refuse", broker=3)
    doctor.kafka(bootstrap_servers=doctor.brokers.bootstrap)
    doctor.one("KW-TCP", "refused the connection", "it is broker 3, which is fenced", result="warning")


def test_a_broker_that_is_not_registered(doctor: ScriptedDoctor) -> None:
    doctor.brokers.topic("left", [[1, 9]])
    doctor.one("KW-CLUSTER", "broker 9 has replicas and is not registered", "move its replicas", result="warning")


def test_a_first_poll_that_times_out(doctor: ScriptedDoctor) -> None:
    """It is repeated: connections are there then. A broker that hangs on every request stays an error."""
    doctor.brokers.rule(2, "DescribeLogDirs", hang=True, times=1)
    assert doctor.wrong() == {}
    for broker in (1, 2, 3):
        doctor.brokers.rule(broker, "DescribeQuorum", hang=True, times=1)
    found = {each["code"]: each["message"] for each in doctor.checks() if each["result"] == "ok"}
    assert "answers at" in found["KW-CONTROLLER"]
    doctor.brokers.rule(2, "DescribeLogDirs", hang=True)
    doctor.one("KW-BROKER", "broker 2: ", "did not answer in time")


@pytest.mark.parametrize(
    ("denied", "code", "command"),
    [
        ("cluster_describe", "KW-ACL-CLUSTER-DESCRIBE", "--cluster --operation Describe"),
        ("cluster_configs", "KW-ACL-CLUSTER-CONFIGS", "--cluster --operation DescribeConfigs"),
        ("topic_describe", "KW-ACL-TOPIC-DESCRIBE", "--topic '*' --operation Describe"),
        ("topic_configs", "KW-ACL-TOPIC-CONFIGS", "--topic '*' --operation DescribeConfigs"),
    ],
)
@pytest.mark.parametrize("topics", [True, False], ids=["topics", "no topic"])
def test_missing_acl(doctor: ScriptedDoctor, denied: str, code: str, command: str, topics: bool) -> None:
    if not topics:
        doctor.brokers.do("remove_topics", topics=["orders"])
    with_accounts(doctor)
    doctor.login()
    doctor.brokers.do("deny", rights=[denied])
    doctor.one(code, ACL, "--command-config admin.properties", "--allow-principal User:monitor", command)


def test_acl_for_some_topics(doctor: ScriptedDoctor) -> None:
    """A narrow pattern may be intended: a warning with a topic that is hidden, unless topics.deny has it."""
    doctor.brokers.topic("secret", [[1]], listed=False)
    doctor.one("KW-ACL-TOPIC-DESCRIBE", "such as secret", "topics.deny", result="warning")
    doctor.config["topics"] = {"deny": ["sec.*"]}
    assert doctor.wrong() == {}


def test_acl_for_the_configuration_of_some_topics(doctor: ScriptedDoctor) -> None:
    doctor.brokers.topic("secret", [[1]], config_error=29)
    doctor.one("KW-ACL-TOPIC-CONFIGS", "1 of 2", "--topic '*' --operation DescribeConfigs", result="warning")
    doctor.config["topics"] = {"deny": ["sec.*"]}
    assert doctor.wrong() == {}
    doctor.config["topics"] = {}
    doctor.brokers.topic("secret", [[1]], config_error=3)
    assert doctor.wrong() == {}


def test_stray_log(doctor: ScriptedDoctor) -> None:
    doctor.brokers.topic("gone", [[1]], listed=False, deleted=True)
    assert doctor.wrong() == {}


def test_history_topic(doctor: ScriptedDoctor) -> None:
    doctor.config["history"] = {"kafka": {"topic": "kept"}}
    doctor.one("KW-HISTORY-TOPIC", "kafka-topics.sh --bootstrap-server", "--create --topic kept")
    doctor.brokers.topic("kept", [[1]])
    assert doctor.wrong() == {}
    doctor.brokers.do("deny", rights=["topic_write"])
    doctor.one("KW-HISTORY-TOPIC", "may not write", "--topic kept --operation Write --operation Describe")


def test_controller_that_cannot_be_reached(doctor: ScriptedDoctor) -> None:
    """Its listener is not open to clients: a warning, unless the window is configured."""
    doctor.brokers.do("refuse", broker=100)
    doctor.one("KW-CONTROLLER", "refused the connection", "controllers.quota_window", result="warning")
    doctor.config["controllers"] = {"quota_window": "11s"}
    assert doctor.wrong() == {}


def test_controller_that_does_not_answer(doctor: ScriptedDoctor) -> None:
    for request in ("DescribeQuorum", "ListPartitionReassignments"):
        doctor.brokers.rule(None, request, hang=True)
    doctor.one("KW-CONTROLLER", "did not answer in time")


def test_old_brokers(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("versions", broker=2, versions={"DescribeClientQuotas": (0, -1)})
    doctor.one("KW-VERSION", "does not know DescribeClientQuotas: no mutation quotas", result="warning")


def test_a_reply_without_an_answer(doctor: ScriptedDoctor) -> None:
    doctor.brokers.rule(1, "DescribeConfigs", changes={"results": []})
    doctor.one("KW-BROKER", "broker 1", "returned nothing about 1")


def test_a_reply_of_an_unexpected_shape(doctor: ScriptedDoctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the poll, and in a question of the check: the other results are printed all the same."""

    async def fail(*_: object) -> None:
        raise IndexError("no such topic")

    with monkeypatch.context() as patched:
        patched.setattr("kafka_warden.poller.cluster.read_quotas", fail)
        doctor.one("KW-CLUSTER", "quotas: ", "IndexError('no such topic')", "log")
    monkeypatch.setattr("kafka_warden.check.poll.topic_errors", fail)
    doctor.one("KW-CLUSTER", "IndexError('no such topic')", "please report it")


def test_clock_skew(doctor: ScriptedDoctor) -> None:
    doctor.brokers.do("skew", seconds=0.0)
    assert ("KW-CLOCK", "ok") in {(each["code"], each["result"]) for each in doctor.checks()}
    doctor.brokers.do("skew", seconds=120.0)
    doctor.one("KW-CLOCK", "differ by", "NTP", result="warning")


def test_state_folder_that_cannot_be_written(doctor: ScriptedDoctor) -> None:
    (doctor.folder / "file").touch()
    doctor.config["state"]["path"] = str(doctor.folder / "file" / "state")
    doctor.one("KW-STATE", "cannot be written", "let this user write to the folder")
    doctor.config["state"]["path"] = str(doctor.folder / "missing" / "state")
    doctor.one("KW-STATE", "No such file", f"make the folder {doctor.folder / 'missing'} for this user")


def test_the_address_of_a_broker_that_leads_to_another_cluster(doctor: ScriptedDoctor) -> None:
    """The sidecar would refuse its answers."""
    doctor.brokers.rule(2, "Metadata", changes={"cluster_id": "another"})
    doctor.one("KW-BROKER", "the address of broker 2, leads to the cluster 'another'", "correct DNS, NAT")


def test_a_cluster_that_is_not_that_of_the_state_file(doctor: ScriptedDoctor) -> None:
    """The sidecar would refuse its answers; with other addresses it would not."""
    state = {"cluster_id": "before", "bootstrap": [doctor.brokers.bootstrap.split(",")[0]]}
    write_secret(doctor.folder / "state", json.dumps(state))
    doctor.one("KW-CLUSTER", "leads to the cluster", "'before'", "remove the state file")
    write_secret(doctor.folder / "state", json.dumps({**state, "bootstrap": ["elsewhere:9092"]}))
    assert doctor.wrong() == {}


def test_a_state_file_that_others_can_write(doctor: ScriptedDoctor) -> None:
    """The sidecar starts without it: a warning."""
    write_secret(doctor.folder / "state", "{}").chmod(0o666)
    doctor.one("KW-STATE", "mode 0666 lets other users write it", "chmod 600", result="warning")


def test_damaged_state_file(doctor: ScriptedDoctor) -> None:
    """The sidecar starts without it: a warning."""
    (doctor.folder / "state").write_text("{")
    doctor.one("KW-STATE", "damaged", result="warning")


def test_full_disk(doctor: ScriptedDoctor, stack: ExitStack) -> None:
    disk = stack.enter_context(small_disk(doctor.folder / "disk", 256))
    doctor.config["state"]["path"] = str(disk / "state")
    doctor.one("KW-STATE", "No space left", "free some space")
    assert list(disk.iterdir()) == []
    doctor.config["state"]["path"] = str(doctor.folder / "state")
    doctor.config["history"] = {"parquet": {"path": str(disk)}}
    (disk / "filler").write_bytes(bytes(255 * 1024))
    doctor.one("KW-HISTORY-FOLDER", "free")
    assert [file.name for file in disk.iterdir()] == ["filler"]


def test_history_folder_that_cannot_be_written(doctor: ScriptedDoctor) -> None:
    (doctor.folder / "file").touch()
    doctor.config["history"] = {"parquet": {"path": str(doctor.folder / "file" / "history")}}
    doctor.one("KW-HISTORY-FOLDER", "cannot be made", "history.parquet.path")
    # Its lookup fails, as it does below a folder that may not be searched, which root may always do.
    doctor.config["history"] = {"parquet": {"path": str(doctor.folder / ("x" * 300))}}
    doctor.one("KW-HISTORY-FOLDER", "cannot be looked up: File name too long", "history.parquet.path")


def test_history_folder_is_left_as_it_was(doctor: ScriptedDoctor) -> None:
    """No folder is made, and no lock stays: they might belong to another user than the sidecar's."""
    history = doctor.folder / "history"
    doctor.config["history"] = {"parquet": {"path": str(history)}}
    assert doctor.wrong() == {}
    assert not history.exists()
    history.mkdir()
    assert doctor.wrong() == {}
    assert list(history.iterdir()) == []


def test_broken_web_file(doctor: ScriptedDoctor) -> None:
    (doctor.folder / "web.yml").write_text("basic_auth_users: {me: plain}\n")
    doctor.config["web"]["config_file"] = str(doctor.folder / "web.yml")
    doctor.one("KW-WEB-FILE", "basic_auth_users.me", "bcrypt hash")


def test_port_of_the_web_server_in_use(doctor: ScriptedDoctor, stack: ExitStack) -> None:
    taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    doctor.config["web"]["listen"] = f"127.0.0.1:{taken.getsockname()[1]}"
    doctor.one("KW-WEB-LISTEN", "another process listens", result="warning")


def test_own_certificate_expires(doctor: ScriptedDoctor, authority: Authority, secured: Secure) -> None:
    """With less than a quarter of its time left it is a warning, then an error. It is two days old."""
    secured()
    for hours, result in ((24, None), (-24, "error"), (12, "warning")):
        pair = authority.issue("client", lifetime=dt.timedelta(hours=hours))
        doctor.kafka(ssl_certificate_location=str(pair.certificate), ssl_key_location=str(pair.key))
        if result is None:
            assert doctor.wrong() == {}
        else:
            doctor.one("KW-CERTIFICATE", "kafka.ssl.certificate.location", result=result)
    for name in ("certificate", "key"):
        del doctor.config["kafka"][f"ssl.{name}.location"]
    doctor.kafka(ssl_certificate_pem=pair.certificate.read_text(), ssl_key_pem_file=str(pair.key))
    doctor.one("KW-CERTIFICATE", "kafka.ssl.certificate.pem", result="warning")


def test_configuration_that_cannot_be_used(doctor: ScriptedDoctor) -> None:
    doctor.config["pol"] = {}
    doctor.one("KW-CONFIG", "unknown key; did you mean poll?")
    write_secret(doctor.folder / "open", PASSWORD).chmod(0o644)
    del doctor.config["pol"]
    doctor.login()
    doctor.config["kafka"]["sasl.password.file"] = str(doctor.folder / "open")
    doctor.one("KW-CONFIG", "chmod 600")


def with_token(doctor: ScriptedDoctor, token: str, *accepted: str) -> None:
    doctor.brokers.do("accounts", mechanism="OAUTHBEARER", users=dict.fromkeys(accepted, ""))
    file = write_secret(doctor.folder / "token", token)
    doctor.kafka(security_protocol="SASL_PLAINTEXT", sasl_mechanism="OAUTHBEARER")
    doctor.kafka(sasl_oauthbearer_token_endpoint_url=file.as_uri())


def test_a_token_that_the_brokers_refuse(doctor: ScriptedDoctor) -> None:
    """It is tried once; the line says what to compare. One that they accept is a login."""
    with_token(doctor, "canary-token", "another")
    doctor.brokers.do("forget")
    doctor.one("KW-LOGIN", "refused the token", "issuer, audience and lifetime")
    assert len(doctor.brokers.seen("SaslHandshake")) == 1
    assert "canary" not in doctor.output
    with_token(doctor, "canary-token", "canary-token")
    assert doctor.wrong() == {}


def test_credentials_of_aws(doctor: ScriptedDoctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There are none, or the cluster refuses the role: the line names what AWS has, no issuer and no client."""
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    doctor.brokers.do("accounts", mechanism="OAUTHBEARER", users={})
    doctor.kafka(security_protocol="SASL_PLAINTEXT", sasl_mechanism="AWS_MSK_IAM")
    doctor.one("KW-TOKEN", "no AWS credentials were found", "look at the AWS role")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", PASSWORD)
    doctor.one("KW-LOGIN", "refused the token", "kafka-cluster:Connect")


def test_no_token(doctor: ScriptedDoctor) -> None:
    with_token(doctor, "not a token")
    doctor.one("KW-TOKEN", "no bearer token", "docs/reference/check.md#kw-token")
    url = f"http://127.0.0.1:{free_port()}/token"
    secret = write_secret(doctor.folder / "secret", PASSWORD)
    doctor.kafka(sasl_oauthbearer_token_endpoint_url=url, sasl_oauthbearer_client_id="monitor")
    doctor.config["kafka"]["sasl.oauthbearer.client.secret.file"] = str(secret)
    doctor.brokers.do("forget")
    doctor.one("KW-TOKEN", f"{url} cannot be reached (nothing listens there")
    assert doctor.brokers.seen("SaslHandshake") == []


@pytest.mark.parametrize(
    ("denied", "code", "disabled", "requests"),
    [
        (
            "cluster_describe",
            "KW-ACL-CLUSTER-DESCRIBE",
            [*map(str, RIGHTS["KW-ACL-CLUSTER-DESCRIBE"][1])],
            ("DescribeLogDirs", "ListPartitionReassignments", "DescribeQuorum"),
        ),
        (
            "cluster_configs",
            "KW-ACL-CLUSTER-CONFIGS",
            [*map(str, RIGHTS["KW-ACL-CLUSTER-CONFIGS"][1]), "controller_configs"],
            ("DescribeClientQuotas",),
        ),
        ("topic_configs", "KW-ACL-TOPIC-CONFIGS", ["topic_configs"], ("DescribeConfigs topics",)),
    ],
)
def test_what_is_disabled_is_not_checked(
    doctor: ScriptedDoctor, denied: str, code: str, disabled: list[str], requests: tuple[str, ...]
) -> None:
    doctor.brokers.do("deny", rights=[denied])
    shown = [name for name in disabled if name != "controller_configs"]  # asked only with the right
    doctor.one(code, f"sources.disable: [{', '.join(shown)}]")
    doctor.config["sources"] = {"disable": disabled}
    doctor.brokers.do("forget")
    found = {each["code"]: each["message"] for each in doctor.checks()}
    assert found[code].startswith(f"not asked: sources.disable lists {disabled[0]}")
    assert doctor.code == 0
    assert doctor.brokers.seen(*requests) == []


def test_a_cluster_that_refuses_describe_cluster(doctor: ScriptedDoctor) -> None:
    doctor.brokers.rule(None, "DescribeCluster", error=31)
    assert doctor.wrong() == {}
