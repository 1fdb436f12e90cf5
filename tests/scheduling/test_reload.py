"""SIGHUP: a configuration is used as a whole or not at all, and nothing that was measured is lost."""

import logging
import queue
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from structlog.testing import capture_logs

from kafka_warden.app import Exporter
from kafka_warden.config import OPTIONS, Config, load
from kafka_warden.errors import ConfigError
from kafka_warden.reload import FIXED, Reloader
from kafka_warden.settings.secrets import FileWatch
from kafka_warden.timer import Timer
from sandbox import wait_for
from sandbox.certificates import Authority
from tests.cluster.sidecar import ROOT, SLOW_MACHINE
from tests.scheduling.ordered import Ordered, configuration, out_of_sync
from tests.support.scripted import ScriptedCluster

Load = Callable[..., Config]

pytestmark = pytest.mark.usefixtures("logging_as_before")


class Reloading:
    """A reloader whose files a test writes. `used` has what came into force."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "warden.yml"
        self.used: list[Config] = []
        self.changes: list[Callable[[], None]] = []
        self.reloader = Reloader(
            self.load(),
            lambda: load({}, {}, self.file),
            self.used.append,
            self.changes.append,
        )

    def load(self, **sections: Any) -> Config:
        kafka = {"bootstrap.servers": "a:1", **sections.pop("kafka", {})}
        self.file.write_text(yaml.safe_dump({"kafka": kafka, **sections}))
        return load({}, {}, self.file)

    def problem(self) -> str | None:
        return self.reloader.problem

    def read(self, *, again: bool = False) -> None:
        self.reloader.start(again=again)
        wait_for(lambda: not self.reloader._reading, SLOW_MACHINE)

    def reload(self, *, again: bool = False) -> list[Any]:
        with capture_logs() as logs:
            self.read(again=again)
            while self.changes:
                self.changes.pop(0)()
        return logs


@pytest.fixture
def reloading(tmp_path: Path) -> Reloading:
    return Reloading(tmp_path)


def test_what_can_be_reloaded_is_used_and_the_rest_is_named(reloading: Reloading) -> None:
    old = reloading.reloader.config
    reloading.load(
        kafka={"bootstrap.servers": "b:2", "client.id": "new"}, poll={"interval": "7s"}, state={"path": "other"}
    )
    logs = reloading.reload()
    (used,) = reloading.used
    assert used is reloading.reloader.config
    assert (used.poll.interval, used.state, used.kafka.settings.client_id) == (7.0, old.state, "new")
    assert used.kafka.settings.bootstrap == old.kafka.settings.bootstrap
    problem = "these options keep their old value until a restart: state.path, kafka.bootstrap.servers"
    assert reloading.problem() == problem
    assert [entry["log_level"] for entry in logs] == ["info", "warning"]
    assert logs[0]["changed"] == ["poll.interval", "poll.deadline", "kafka.client.id"]

    reloading.load(kafka={"client.id": "new"}, poll={"interval": "8s"})
    before = used.kafka
    reloading.reload()
    assert reloading.problem() is None
    assert reloading.reloader.config.kafka is before


@pytest.mark.parametrize("bad", ["poll: {intervall: 1s}", "kafka: {}", "{", "poll: {interval: 1s, deadline: 2s}", ""])
def test_a_bad_configuration_keeps_the_old_one_and_shows_it(reloading: Reloading, bad: str) -> None:
    old, started = reloading.reloader.config, reloading.reloader.in_force_since
    reloading.file.write_text(bad)
    (entry,) = reloading.reload()
    assert (entry["log_level"], entry["exc_info"]) == ("warning", None)
    assert str(reloading.file) in entry["problem"]
    assert (reloading.reloader.in_force_since, reloading.used) == (started, [])
    assert str(reloading.file) in (reloading.problem() or "")
    assert reloading.reloader.config is old

    reloading.load(poll={"interval": "7s"})
    reloading.reload()
    assert (reloading.problem(), reloading.reloader.in_force_since > started) == (None, True)


@pytest.fixture
def protected(tmp_path: Path) -> str:
    authority = Authority(tmp_path, "ca").certificate
    authority.with_name("jmx-ca.pem").write_bytes(authority.read_bytes())
    for name in ("kafka-password", "jmx-password"):
        (tmp_path / name).write_text("secret")
        (tmp_path / name).chmod(0o600)
    page = (ROOT / "docs" / "how-to" / "secure.md").read_text()
    examples = [page.split(f"```yaml\n{section}:\n")[1].split("```")[0] for section in ("kafka", "jmx")]
    examples = [f"{section}:\n{text}" for section, text in zip(("kafka", "jmx"), examples, strict=True)]
    return re.sub("/run/secrets|/etc/kafka-warden", str(tmp_path), "".join(examples))


@pytest.mark.parametrize("first", ["kafka", "jmx"])
def test_no_prefix_of_a_file_weakens_the_configuration(reloading: Reloading, protected: str, first: str) -> None:
    kafka, separator, jmx = protected.partition("jmx:\n")
    text = kafka + separator + jmx if first == "kafka" else separator + jmx + kafka
    reloading.file.write_text(text)
    reloader = reloading.reloader
    reloader.config = load({}, {}, reloading.file)
    for end in range(len(text)):
        reloading.file.write_text(text[:end])
        with suppress(ConfigError):
            reloader._use(0, load({}, {"KAFKA_WARDEN_KAFKA_BOOTSTRAP_SERVERS": "a:1"}, reloading.file))
        settings = reloader.config.kafka.settings
        assert (settings.security_protocol, settings.sasl_mechanism) == ("SASL_SSL", "SCRAM-SHA-512"), text[:end]
        assert settings.tls is not None
        assert settings.tls.files.ca is not None, text[:end]
        assert reloader.config.jmx.tls.files() is not None, text[:end]
    assert reloading.used


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ({}, {"security.protocol": "SSL"}, None),
        ({"security.protocol": "SSL"}, {}, "security.protocol"),
        ({"security.protocol": "SSL"}, {"enable.ssl.certificate.verification": False}, "enable.ssl.certificate"),
        ({"security.protocol": "SSL"}, {"ssl.endpoint.identification.algorithm": "none"}, "ssl.endpoint.ident"),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.3"}, {}, "ssl.enabled.protocols"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256"}, {}, "ssl.cipher.suites"),
    ],
)
def test_a_weaker_configuration_needs_a_restart(
    reloading: Reloading, old: dict[str, Any], new: dict[str, Any], key: str | None
) -> None:
    if key and key not in ("security.protocol", *new):
        new = {"security.protocol": "SSL", **new}
    before = reloading.reloader.config = reloading.load(kafka=old)
    reloading.load(kafka=new)
    reloading.reload()
    assert (reloading.reloader.config is before) is (key is not None)
    problem = reloading.problem()
    assert f"kafka.{key}" in str(problem) and "restart" in str(problem) if key else problem is None


@pytest.mark.parametrize(
    ("option", "patterns", "changed"),
    [
        ("deny", ["secret-.*", "old-.*"], ["secret-.*"]),
        ("uncounted", ["secret-.*", "old-.*"], ["secret-.*"]),  # or critical alerts would fire
        ("allow", ["public-.*"], ["public-.*", "old-.*"]),  # or all topics would be shown
    ],
)
def test_patterns_of_topics_stay_until_a_restart_where_none_is_left(
    reloading: Reloading, option: str, patterns: list[str], changed: list[str]
) -> None:
    """Single patterns may change. Without any the file may be cut off."""

    def shown(topic: str) -> bool:
        topics = reloading.reloader.config.topics
        return not topics.is_uncounted(topic) if option == "uncounted" else topics.matches(topic)

    reloading.reloader.config = reloading.load(topics={option: patterns})
    reloading.load(topics={option: changed})
    reloading.reload()
    assert (shown("old-1"), shown("secret-1")) == (True, False)
    reloading.load()
    reloading.reload()
    assert not shown("secret-1")
    assert f"topics.{option}: restart" in str(reloading.problem())


def test_the_newest_read_decides_what_is_shown(reloading: Reloading) -> None:
    reloading.load(poll={"interval": "7s"})
    reloading.read()
    assert reloading.problem() == "the new configuration is being read, or waits for the next poll"
    reloading.file.write_text("{")
    reloading.reload()
    assert [config.poll.interval for config in reloading.used] == [7.0]
    assert str(reloading.file) in (reloading.problem() or "")

    reloading.load(poll={"interval": "8s"})
    reloading.reload()
    assert ([config.poll.interval for config in reloading.used], reloading.problem()) == ([7.0, 8.0], None)


def test_a_configuration_that_cannot_be_read_is_read_again(
    reloading: Reloading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A volume with passwords may come a minute after the one with the file that names them. It is logged once."""
    monkeypatch.setattr("kafka_warden.reload.AGAIN", 0.0)
    secret = tmp_path / "password"
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "monitor"}
    text = yaml.safe_dump({"kafka": {"bootstrap.servers": "a:1", **login, "sasl.password.file": str(secret)}})
    reloading.file.write_text(text)
    logs = reloading.reload()
    for again in (True, False):
        assert reloading.reloader.due()
        logs += reloading.reload(again=again)
    assert [entry["log_level"] for entry in logs] == ["warning", "debug", "warning"]
    secret.touch(0o600)
    secret.write_text("secret")
    reloading.reload(again=True)
    assert (len(reloading.used), reloading.problem(), reloading.reloader.due()) == (1, None, False)


@pytest.fixture
def make_sidecar(tmp_path: Path, stack: ExitStack) -> Callable[..., Exporter]:
    file = tmp_path / "warden.yml"
    file.write_text("kafka: {bootstrap.servers: 'a:1'}")

    def make(*numbers: int, watch: Any = FileWatch(())) -> Exporter:  # noqa: B008  # of no file
        signals: Any = SimpleNamespace(inbox=queue.SimpleQueue())
        for number in numbers:
            signals.inbox.put(number)
        made = Exporter(load({}, {}, file), lambda: load({}, {}, file), watch, signals)
        stack.callback(made._poller.close)
        return made

    return make


def test_a_file_that_a_configuration_names_may_come_later(
    make_sidecar: Callable[..., Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []
    monkeypatch.setattr("kafka_warden.app.WATCH_SECONDS", 0.0)
    monkeypatch.setattr(Reloader, "due", lambda _: True)
    monkeypatch.setattr(Reloader, "start", lambda _, again=False: started.append(again))
    watch = SimpleNamespace(changed=iter([True, True, False, False]).__next__)
    with suppress(StopIteration):
        make_sidecar(watch=watch).supervise()
    assert started == [False, True]


def test_a_read_that_hangs_is_shown_and_makes_no_further_thread(
    reloading: Reloading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a reload is requested. After it the file is read once more."""
    go_on = threading.Event()
    reads: list[None] = []

    def hang() -> Config:
        reads.append(None)
        go_on.wait(SLOW_MACHINE)
        return reloading.load(poll={"interval": "7s"})

    monkeypatch.setattr(reloading.reloader, "_load", hang)
    reloading.reloader.start()
    wait_for(lambda: reads, SLOW_MACHINE)
    for _ in range(300):
        reloading.reloader.start()
    threads = [thread.name for thread in threading.enumerate() if thread.name == "reload"]
    shown = reloading.problem()
    go_on.set()
    wait_for(lambda: not reloading.reloader._reading, SLOW_MACHINE)
    assert (shown, threads) == ("the new configuration is being read, or waits for the next poll", ["reload"])
    assert len(reads) == 2


def test_a_reload_without_a_thread_to_spare_is_refused(reloading: Reloading, monkeypatch: pytest.MonkeyPatch) -> None:
    reloading.load(poll={"interval": "7s"})
    with capture_logs() as logs, monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        reloading.reloader.start()
    assert [(entry["log_level"], entry["exc_info"]) for entry in logs] == [("warning", None)]
    assert reloading.problem() == "the new configuration is not used: no thread can start to read it; reload again"

    reloading.reload()
    assert ([config.poll.interval for config in reloading.used], reloading.problem()) == ([7.0], None)


def test_a_change_during_a_reload_keeps_jmx(
    make_sidecar: Callable[..., Exporter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is changed and changed back: JMX is asked as the configuration in force says."""
    changes: list[Callable[[], None]] = []
    monkeypatch.setattr(Timer, "before_next", lambda _, change: changes.append(change))
    first, second = (f"{{kafka: {{bootstrap.servers: 'a:1'}}, jmx: {{brokers: {{1: 'b:{port}'}}}}}}" for port in (1, 2))
    file = tmp_path / "warden.yml"
    file.write_text(first)
    sidecar = make_sidecar()
    for count, text in enumerate((second, first), start=1):
        file.write_text(text)
        sidecar._reloader.start()
        wait_for(lambda: len(changes) == count, SLOW_MACHINE)  # noqa: B023  # called in this turn
    for change in changes:
        change()
    jmx: Any = sidecar._poller.jmx
    assert (jmx.addresses, jmx.session._closed) == (sidecar._reloader.config.jmx.brokers, False)


def test_a_configuration_that_cannot_be_put_in_force_keeps_the_old_one(reloading: Reloading) -> None:
    old = reloading.reloader.config

    def fail(_: Config) -> None:
        raise ZeroDivisionError

    reloading.reloader._put_in_force = fail
    reloading.load(poll={"interval": "7s"})
    (entry,) = reloading.reload()
    assert isinstance(entry["exc_info"], ZeroDivisionError)
    assert (reloading.reloader.config, reloading.problem() is None) == (old, False)


def test_nothing_of_a_configuration_that_fails_is_in_force(
    make_sidecar: Callable[..., Exporter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OverflowError

    sidecar, file = make_sidecar(), tmp_path / "warden.yml"
    monkeypatch.setattr(Timer, "reschedule", fail)
    file.write_text("{kafka: {bootstrap.servers: 'a:1'}, poll: {interval: 20s}, log: {level: error}}")
    level = logging.getLogger().level
    with pytest.raises(OverflowError):
        sidecar._put_in_force(load({}, {}, file))
    assert sidecar._cycle.interval == 10
    assert logging.getLogger().level == level


def test_sighup_reads_the_web_configuration_again(make_sidecar: Callable[..., Exporter]) -> None:
    """Also a file that did not change: it may have been unreadable for a moment."""
    sidecar = make_sidecar(signal.SIGHUP, signal.SIGTERM)
    assert sidecar.supervise() == 0
    assert sidecar._server.current.reread


def test_a_web_server_that_hangs_is_unhealthy(make_sidecar: Callable[..., Exporter]) -> None:
    sidecar = make_sidecar()
    sidecar._server._turn_at = time.monotonic() - 31
    assert sidecar._health().reasons == ("the web server has served no request for 31 s",)


def test_every_option_is_in_the_list_of_the_document() -> None:
    document = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    rows = document.partition("| With a reload |")[2].partition("\n\n")[0].splitlines()[2:]
    fixed, *others = (row.split("|")[1].replace("`", "").replace(" ", "").split(",") for row in rows)
    listed = {option.removesuffix("*") for option in fixed}
    assert listed == {option for option in FIXED if option != "kafka.metadata.broker.list"}
    known = tuple(name.removesuffix("*").removeprefix("other") for row in (fixed, *others) for name in row)
    assert [option.key for option in OPTIONS if not option.key.startswith(known)] == []


@pytest.fixture
def socket_of_systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(SLOW_MACHINE)
        yield listener


@pytest.mark.realtime
def test_a_process_reloads(brokers: ScriptedCluster, tmp_path: Path, socket_of_systemd: socket.socket) -> None:
    def reported(state: str) -> None:
        until = time.monotonic() + SLOW_MACHINE
        while not (received := socket_of_systemd.recv(4096).decode()).startswith(state):
            assert (received, time.monotonic() < until) == ("WATCHDOG=1", True)

    brokers.topic("a", [[1, 2], [2, 3]], isr=[[1], [2, 3]], rate=10.0)
    config = configuration(brokers)
    with Ordered(config, tmp_path, environment={"NOTIFY_SOCKET": str(tmp_path / "notify")}) as sidecar:
        reported("READY=1")
        before = sidecar.wait(lambda page: out_of_sync(page) > 5)
        sidecar.reload(
            {**config, "poll": {"interval": "300ms"}, "limits": {"max_partitions": 9}, "web": {"listen": "127.0.0.1:1"}}
        )
        reported("RELOADING=1\nMONOTONIC_USEC=")
        reported("READY=1")
        after = sidecar.wait(lambda page: page.get("cluster_partition_limit") == 9)
        assert after.time - out_of_sync(after) == pytest.approx(before.time - out_of_sync(before), abs=3)
        text = "these options keep their old value until a restart: web.listen"
        assert text in sidecar.get("/-/ready")[1]
        assert after.get("config_last_reload_successful") == 0
        sidecar.reload("nonsense")
        reported("RELOADING=1")
        reported("READY=1")
        assert "the new configuration is not used" in sidecar.get("/-/ready")[1]
        assert sidecar.health() == (200, "healthy\n")
        sidecar.write(config)
        reported("RELOADING=1")
        reported("READY=1")
        sidecar.wait(lambda page: page.get("config_last_reload_successful") == 1)
        sidecar.process.send_signal(signal.SIGINT)
        reported("STOPPING=1")
