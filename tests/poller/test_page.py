"""What the page shows of polls: the poller on scripted brokers, with everything behind it."""

import re

import pytest
from structlog.testing import capture_logs

from kafka_warden.cycle import Cycle
from kafka_warden.exposition import OnDemand
from kafka_warden.model import Parameters
from tests.building import known
from tests.poller.polling import INTERVAL, Polling

LAG = "broker_sum_replica_lag_messages"


@pytest.fixture
def cycle(polled: Polling) -> Cycle:
    """A cycle after its first poll. Broker 2 is five messages behind in both partitions that it follows."""
    polled.brokers.topic("a", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], end=100, lag={2: 5})
    made = polled.cycle()
    show(polled, made)
    return made


def show(polled: Polling, cycle: Cycle) -> None:
    """Show the next poll."""
    polled.clock.advance(INTERVAL)
    cycle.once()


def shown(cycle: Cycle, name: str) -> dict[str, float]:
    """The series of a metric in `/metrics`: labels as they are written, and the value."""
    text = known(cycle.holder.page).text.decode()
    found = re.findall(rf"^kafka_warden_{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def views(cycle: Cycle) -> OnDemand:
    """The rows of the page, which are made when they are asked for."""
    return known(known(cycle.holder.page).views)


def down(cycle: Cycle) -> set[str]:
    return {labels for labels, value in shown(cycle, "up").items() if value != 1.0}


def test_a_source_that_fails_leaves_the_rest_of_the_page(polled: Polling, cycle: Cycle) -> None:
    assert down(cycle) == set()
    polled.brokers.rule(None, "ListPartitionReassignments", error=-1)
    with capture_logs() as logs:
        show(polled, cycle)
    assert [{**entry, "error": "..."} for entry in logs] == [
        {
            "event": "source failed",
            "source": "reassignments",
            "broker": "",
            "reason": "protocol",
            "error": "...",
            "log_level": "warning",
        }
    ]
    assert down(cycle) == {'source="reassignments",broker=""'}
    assert shown(cycle, "snapshot_timestamp_seconds") == {"": polled.clock.time()}
    assert shown(cycle, LAG) == {'broker="1"': 0.0, 'broker="2"': 10.0, 'broker="3"': 0.0}

    polled.brokers.do("clear")
    with capture_logs() as logs:
        cycle.once()
    assert logs == [{"event": "source answers again", "source": "reassignments", "broker": "", "log_level": "info"}]


def test_rows_are_given_up_before_the_next_evaluation(polled: Polling, cycle: Cycle) -> None:
    """Two snapshots are never in memory at once: rows that no client asked for are not made later."""
    asked = views(cycle)
    rows = known(asked.get())
    show(polled, cycle)
    unasked = views(cycle)
    show(polled, cycle)

    assert asked.get() is rows
    assert unasked.get() is None


def test_rows_that_a_client_waits_for_are_made_with_the_next_page(polled: Polling, cycle: Cycle) -> None:
    cycle.holder.wanted = True
    show(polled, cycle)
    made = views(cycle)
    made.release()

    assert made.get() is not None
    assert not cycle.holder.wanted


def test_a_broker_that_hangs_leaves_the_numbers_of_the_others(polled: Polling, cycle: Cycle) -> None:
    """Lag behind a leader on it is unknown, and so is each sum with such a part. Its own lag is the last known."""
    polled.brokers.rule(2, hang=True)
    with capture_logs():
        show(polled, cycle)
    assert {labels.partition(",")[2] for labels in down(cycle)} == {'broker="2"'}
    assert shown(cycle, "broker_replica_lag_unknown_replicas") == {
        'broker="1"': 1.0,
        'broker="2"': 0.0,
        'broker="3"': 1.0,
    }
    assert shown(cycle, LAG) == {'broker="2"': 10.0}


def test_a_broker_without_the_listener_is_neither_down_nor_are_its_partitions_offline(
    polled: Polling, cycle: Cycle
) -> None:
    """What it leads, and lag behind it, is unknown; it is not asked, and so not reported as down."""
    polled.brokers.brokers({"id": 3, "listener": False})
    with capture_logs() as logs:
        show(polled, cycle)
    assert logs == []
    assert down(cycle) == set()
    assert (shown(cycle, "offline_partitions"), shown(cycle, "unknown_leader_partitions")) == ({"": 0}, {"": 1})
    assert shown(cycle, "topic_offline_partitions") == {'topic="a"': 0}
    assert shown(cycle, "topic_non_preferred_leader_partitions") == {}
    assert shown(cycle, "broker_leaders") == {'broker="1"': 1, 'broker="2"': 1}
    assert shown(cycle, "broker_replica_lag_unknown_replicas") == {'broker="1"': 1, 'broker="2"': 1, 'broker="3"': 3}
    states = {labels for labels, value in shown(cycle, "broker_state").items() if value}
    assert states == {
        f'broker="{id_}",state="{state}"' for id_, state in enumerate(("active", "active", "no_listener"), 1)
    }
    assert [(each.kind, each.severity) for each in known(views(cycle).get()).tables["problems"].rows] == [
        ("unknown_leaders", "warning"),
        ("broker_no_listener", "warning"),
    ]


def test_uncounted_topics_are_left_out_from_the_next_poll_on(polled: Polling, cycle: Cycle) -> None:
    polled.brokers.topic("old", [[1]], isr=[[]])
    found = []
    for uncounted in ("", "old", ""):
        cycle.configure(Parameters(poll_interval=INTERVAL), lambda _: True, lambda topic: topic == uncounted)  # noqa: B023  # it is called in this round
        show(polled, cycle)
        counts = (
            shown(cycle, f"{name}offline_partitions").get(key) for name, key in (("", ""), ("topic_", 'topic="old"'))
        )
        found.append((*counts, shown(cycle, "uncounted_partitions").get('state="offline"')))
    assert found == [(1, 1, None), (0, 1, 1), (1, 1, None)]
