"""Parts of a process that ends or reloads: nothing waits for what hangs, and nothing that was measured is lost."""

import ctypes
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_warden.app import Exporter
from kafka_warden.clients.kafka.network import Network
from kafka_warden.clients.kafka.properties import translate
from kafka_warden.errors import PollAbandonedError
from kafka_warden.lifecycle import LONG_LIVED, STOP_WITHIN, HealthCheck
from kafka_warden.model import Source
from kafka_warden.poller import Poller, PollerSettings
from tests.poller.polling import DEADLINE, INTERVAL, polling
from tests.support.scripted import ScriptedCluster, VirtualClock

WITHIN = 60.0


async def idle() -> None:
    """Do nothing."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_an_exception_ended_makes_no_caller_wait() -> None:
    network = Network()
    network.run(idle)
    thread = next(thread for thread in threading.enumerate() if thread.name == "network")
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
    network.post(lambda: None)
    thread.join(WITHIN)
    with pytest.raises(PollAbandonedError):
        network.run(idle)
    network.close()


def test_a_loop_that_is_busy_delays_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_warden.clients.kafka.network.STOP_WITHIN", 0.01)
    poller = Poller(PollerSettings(), translate({"bootstrap.servers": "127.0.0.1:1"}), None)
    held = threading.Event()

    def hold() -> None:
        held.wait(WITHIN)

    poller._network.post(hold)
    poller.close()
    assert poller._network._thread.is_alive()
    held.set()
    poller._network._thread.join(WITHIN)


def test_the_health_names_threads_that_ended_and_polls_that_are_late() -> None:
    late: list[str] = []
    check = HealthCheck(lambda: late[0] if late else None, notes=[lambda: "a note"])
    ended = threading.Event()
    threads = [threading.Thread(target=ended.wait, name=name) for name in ("history-parquet", "resolve")]
    for thread in threads:
        thread.start()
    assert (check().healthy, check().reasons) == (True, ("a note",))
    ended.set()
    for thread in threads:
        thread.join()
    late.append("no poll has ended for 61 s")
    assert "MainThread".startswith(LONG_LIVED)
    assert (check().healthy, check().reasons) == (
        False,
        ("the thread history-parquet has ended", "no poll has ended for 61 s", "a note"),
    )


def test_the_health_names_threads_that_ended_before_the_first_check() -> None:
    check = HealthCheck()
    check.started = ["history-parquet", "MainThread"]
    assert check().reasons == ("the thread history-parquet has ended",)


def test_health_checks_of_several_threads_do_not_disturb_each_other() -> None:
    check, ended = HealthCheck(), threading.Event()
    new = threading.Thread(target=ended.wait, name="history-kafka")

    class Meanwhile(threading.Thread):
        def is_alive(self) -> bool:
            if new.ident is None:
                new.start()
                check()
            return False

    check._threads = {Meanwhile(name="history-parquet")}
    try:
        assert check().reasons == ("the thread history-parquet has ended",)
    finally:
        ended.set()
        new.join(WITHIN)


def test_the_parts_of_a_stop_share_its_time(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part takes all that it may take. History still has time, and the process ends by itself."""
    monkeypatch.setattr(time, "monotonic", clock.monotonic)
    main, given = threading.current_thread(), []

    def close() -> None:
        if threading.current_thread() is main:
            clock.advance(2.0)

    def write(within: float) -> None:
        given.append(within)
        clock.advance(within)

    started = clock.monotonic()
    sidecar: Any = SimpleNamespace(
        _signals=SimpleNamespace(end=lambda _: started + STOP_WITHIN, join=clock.advance),
        _timer=SimpleNamespace(stop=lambda: None, join=clock.advance),
        _poller=SimpleNamespace(close=close),
        _cycle=SimpleNamespace(save=lambda: clock.advance(1.0)),
        _history=SimpleNamespace(stop=write),
        _server=SimpleNamespace(stop=clock.advance),
    )
    Exporter.stop(sidecar, 0)
    assert given[0] >= 1.0
    assert clock.monotonic() - started < STOP_WITHIN


def test_other_settings_are_used_from_the_next_poll_on(brokers: ScriptedCluster, clock: VirtualClock) -> None:
    """New connections only where `kafka` changed; the status of the sources continues."""
    brokers.topic("a", [[1, 2], [2, 3]], rate=10.0)
    settings = PollerSettings(interval=INTERVAL, deadline=DEADLINE / 2, log_dirs=5.0, controllers=(("127.0.0.1", 1),))
    kafka = translate({"bootstrap.servers": brokers.bootstrap, "client.id": "new"})
    with polling(brokers, clock) as polled:
        polled.poll()
        polled.poller.configure(settings, None, None)
        brokers.rule(2, "ListOffsets", hang=True)
        polled.poll()
        assert polled.took == DEADLINE / 2
        brokers.do("clear")
        for given, made in ((None, True), (None, False), (kafka, True), (None, False)):
            before = polled.connections()
            polled.poller.configure(settings, given, None)
            polled.poll()
            assert (polled.connections() > before) is made
        assert polled.down() == {}
        assert polled.status(Source.OFFSETS, "2").errors == {"timeout": 1}
