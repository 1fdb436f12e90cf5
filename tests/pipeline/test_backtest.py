"""The backtest on the example of Hands-Free Kafka Replication, on a cluster in trouble, and on bad truth."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafka_warden.errors import TruthError
from kafka_warden.history.poll import Poll
from kafka_warden.model import BrokerConfig, Parameters, Snapshot
from kafka_warden.pipeline.alarms import FOUND, joined
from kafka_warden.pipeline.backtest import JOB, Options, of_trials, trial_rows, with_begin
from kafka_warden.pipeline.marts import ALARMS, RULES, of_rows
from kafka_warden.pipeline.trials import BY_MESSAGES, BY_TIME, read_what_if, rules, trials
from kafka_warden.pipeline.truth import Truth, faults
from tests import scene
from tests.building import EPOCH, Partition, snapshot
from tests.history.places import rewrite, write
from tests.history.replay import polls, scene_polls
from tests.pipeline.arrivals import answered
from tests.pipeline.stored import mart, of_cluster, request, stored


def backtest(
    spark: SparkSession,
    folder: Path,
    judged: Sequence[Poll],
    options: Options,
    lost: Mapping[str, tuple[str, int]] | None = None,
) -> dict[str, list[Any]]:
    """The marts of some polls. `lost`: cluster to a table and the poll of which its rows are lost."""
    for run in dict.fromkeys(poll.run for poll in judged):
        write(folder / "history", [poll for poll in judged if poll.run == run])
    for cluster, (table, number) in (lost or {}).items():
        for file in (folder / "history" / table).rglob("*.parquet"):
            rows = pq.read_table(file)
            rewrite(file, rows.filter(~((pc.field("cluster_id") == cluster) & (pc.field("sequence") == number))))
    place = stored(spark, folder / "store", folder / "history")
    JOB.run(request(spark, place, options))
    found = {each.name: mart(spark, place, each).collect() for each in (ALARMS, RULES)}
    return {name: [row.asDict() for row in rows] for name, rows in found.items()}


LAGS = {1: 1, 3: 3, 5: 4, **dict.fromkeys(range(9, 16), 4)}
"""Tenth of a second to the messages that broker 3 lacks: a pause, a small batch, one of four, and one that it does not
fetch for 700 ms: it is dead."""


def foo(tenth: int, end: int, lag: int) -> Snapshot:
    """Topic foo with three replicas. That on broker 3 lacks so many messages."""
    config = BrokerConfig(replica_lag_time_max=0.5, replica_fetch_wait_max=0.0)
    return snapshot(
        {"foo": [Partition(replicas=(1, 2, 3), end=end, lag={3: lag} if lag else {})]},
        clock=tenth / 10,
        broker_configs=dict.fromkeys((1, 2, 3), config),
    )


def blog(tenth: int) -> Snapshot:
    """A message a second."""
    return foo(tenth, 10 + sum(4 for each in (1, 3, 5, 9) if tenth >= each), LAGS.get(tenth, 0))


LOST = 5
"""A poll of the scene amid alarms."""
BY_NAME = {rule.name: rule for rule in rules()}


@pytest.fixture(scope="module")
def example(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The example with `replica.lag.max.messages=4`; the last batch was a fault, and another one is later."""
    folder = tmp_path_factory.mktemp("blog")
    happened = [
        {"cluster_id": "cluster", "kind": "stuck_follower", "began": EPOCH + 0.9, "ended": EPOCH + 1.6, "broker": 3},
        {"cluster_id": "cluster", "kind": "stuck_follower", "began": EPOCH + 2000.0, "ended": EPOCH + 2001.0},
        {"cluster_id": "other", "kind": "stuck_follower", "began": EPOCH, "ended": EPOCH + 1, "broker": 3},
        {"cluster_id": "cluster", "kind": "burst", "began": EPOCH, "ended": EPOCH + 1, "broker": 3},
    ]
    (folder / "truth").mkdir()
    (folder / "truth" / "faults.json").write_text("".join(f"{json.dumps(each)}\n" for each in happened))
    what_if = (f"{BY_MESSAGES}=4,5", f"{BY_TIME}=0.2", f"{BY_TIME}=@500ms")
    tried = Options(tuple(each for text in what_if for each in read_what_if(text)), Truth(str(folder / "truth")))
    return backtest(spark, folder, polls(map(blog, range(18)), Parameters(poll_interval=0.1)), tried)


def rule(found: dict[str, list[Any]], name: str, threshold: float | None, seconds: float = 0.0) -> dict[str, Any]:
    tried = (name, threshold, seconds + BY_NAME[name].lookback)
    mine = [row for row in found["rules"] if (row["rule"], row["threshold"], row["for_seconds"]) == tried]
    # A rule of a what-if is there twice.
    return dict(min(mine, key=lambda row: row["what_if"]))


def test_by_messages_a_batch_is_a_false_alarm(example: dict[str, list[Any]]) -> None:
    four = rule(example, BY_MESSAGES, 4.0)
    assert (four["alarms"], four["true_alarms"], four["false_alarms"]) == (2, 1, 1)
    assert (four["precision"], four["what_if"], four["unit"]) == (0.5, True, "messages")
    assert rule(example, BY_MESSAGES, 4000.0)["alarms"] == 0
    assert rule(example, BY_MESSAGES, 5.0)["missed"] == 1, "a higher one misses it"


def test_by_time_only_the_dead_follower_is_out_of_sync(example: dict[str, list[Any]]) -> None:
    for threshold, seconds in ((None, 0.2), (0.2, 0.5)):
        found = rule(example, BY_TIME, threshold)
        assert (found["alarms"], found["true_alarms"], found["false_alarms"]) == (1, 1, 0)
        assert (found["precision"], found["recall"]) == (1.0, 1.0)
        assert (found["events"], found["missed"]) == (1, 0)
        assert found["alarm_seconds"] == pytest.approx(seconds, abs=0.15)
    mine = [row for row in example["alarms"] if (row["rule"], row["threshold"]) == (BY_TIME, None)]
    (only,) = (row for row in mine if not row["what_if"])
    assert only["subject"] == {"topic": "foo", "partition": "0", "broker": "3"}
    assert only["true_alarm"] is True


def test_longer_duration_costs_time(example: dict[str, list[Any]]) -> None:
    assert rule(example, BY_TIME, None)["delay_seconds"] == pytest.approx(0.5, abs=0.11)
    longer = rule(example, BY_TIME, None, 0.5)
    assert (longer["alarms"], longer["short"], longer["missed"], longer["delay_seconds"]) == (0, 1, 1, None)
    assert longer["what_if"] is True
    assert rule(example, BY_MESSAGES, 4.0)["delay_seconds"] == pytest.approx(0.0, abs=0.11)


def test_every_rule_has_a_row(example: dict[str, list[Any]]) -> None:
    assert {row["rule"] for row in example["rules"]} == BY_NAME.keys()
    assert {row["cluster_id"] for row in example["rules"]} == {"cluster"}
    assert rule(example, "KafkaPartitionOffline", None, 75.0)["true_alarms"] is None, "no kind of fault is its own"


def dead(tenth: int) -> Snapshot:
    """The follower on broker 3 does not fetch from 900 ms to 4 s."""
    return foo(tenth, 10 + 4 * (tenth >= 9), 4 if 9 <= tenth < 40 else 0)


@pytest.fixture(scope="module")
def unlabelled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Clusters whose faults are unknown: one sidecar, the same with a second one, and a cluster in trouble.

    The second sidecar begins amid the fault and takes its time to see it, a poll after each of the first one's. Two
    clusters are the same as others, but rows of one poll are lost.
    """
    parameters = Parameters(poll_interval=0.2)
    first = polls(map(dead, range(0, 50, 2)), parameters, "b")
    second = polls(map(dead, range(21, 50, 2)), parameters, "a")
    trouble = answered(scene_polls())
    judged = {"alone": first, "both": [*first, *second], "trouble": trouble, "less": first, "less trouble": trouble}
    together = [poll for name, mine in judged.items() for poll in of_cluster(mine, name)]
    what_if = ("KafkaReassignmentWillMissItsTime=1", f"{BY_MESSAGES}=2500", "KafkaReplicasOutOfSync=20")
    tried = tuple(each for text in what_if for each in read_what_if(text))
    lost = {"less": ("replicas", 10), "less trouble": ("partitions", LOST)}
    return backtest(spark, tmp_path_factory.mktemp("unlabelled"), together, Options(tried), lost)


def of(found: dict[str, list[Any]], cluster: str) -> dict[str, list[Any]]:
    """The rows of a cluster, without its name."""
    return {
        mart: sorted(({**row, "cluster_id": ""} for row in rows if row["cluster_id"] == cluster), key=repr)
        for mart, rows in found.items()
    }


def test_a_poll_that_lacks_rows_ends_no_alarm(unlabelled: dict[str, list[Any]]) -> None:
    """What was true in the poll before holds, as if that poll had not been made."""
    assert of(unlabelled, "less") == of(unlabelled, "alone")
    assert of(unlabelled, "less trouble") == of(unlabelled, "trouble")


def test_a_second_sidecar_does_not_break_an_alarm(unlabelled: dict[str, list[Any]]) -> None:
    alone, both = (
        {
            mart: [{**row, "cluster_id": ""} for row in rows if (row["cluster_id"], row["rule"]) == (name, BY_TIME)]
            for mart, rows in unlabelled.items()
        }
        for name in ("alone", "both")
    )
    assert [row["subject"] for row in alone["alarms"]] == [{"topic": "foo", "partition": "0", "broker": "3"}]
    assert alone == both


def test_conditions_of_a_cluster_in_trouble(unlabelled: dict[str, list[Any]]) -> None:
    alarms, rules = ([row for row in rows if row["cluster_id"] == "trouble"] for rows in unlabelled.values())
    subjects = ((row["rule"], row["subject"]) for row in alarms)
    held = {
        (name, ",".join(subject[part] for part in ("topic", "partition", "broker", "log_dir") if part in subject))
        for name, subject in subjects
    }
    assert held >= {
        ("KafkaReassignmentStuck", "3"),
        ("KafkaReassignmentWillMissItsTime", ""),
        ("KafkaPartitionOffline", ""),
        ("KafkaPartitionUnderMinIsr", ""),
        ("KafkaReplicasOutOfSync", "1"),
        ("KafkaLogDirOffline", "1,/data/b"),
        (BY_MESSAGES, "payments,0,1"),
    }
    assert not any(row["would_fire"] for row in alarms if BY_NAME[row["rule"]].for_seconds > 90)
    assert {row["true_alarm"] for row in alarms} == {None}
    missed = {row["threshold"] for row in alarms if row["rule"] == "KafkaReassignmentWillMissItsTime"}
    assert missed == {None, 1.0}, "the deadline of a what-if is another one"
    assert {(row["true_alarms"], row["events"], row["precision"]) for row in rules} == {(None, None, None)}
    assert scene.POLLS[-1] == 90


def test_alarms_that_go_on_in_the_next_days_are_one(spark: SparkSession) -> None:
    """Each row is an alarm of one chunk: 2 begins amid 1, and 3 goes on at the end of the history."""
    stories: dict[str, list[tuple[int, float, float | None, float]]] = {
        # Chunk, begin, end and last evaluation of each part; a chunk has 100 s.
        "one": [(1, 150.0, None, 199.0), (2, 160.0, 250.0, 250.0)],
        "three": [(1, 150.0, None, 199.0), (2, 160.0, None, 299.0), (3, 270.0, None, 350.0)],
        "two": [(1, 150.0, 198.0, 198.0), (2, 220.0, 250.0, 250.0)],
        "ends between": [(1, 150.0, None, 199.0)],
        "first seen later": [(2, 190.0, 230.0, 230.0)],
    }
    rows = [
        ("cluster", chunk, 0, {"a": name}, name, began, began + 5.0, ended, last, 2.0, began < 100.0 * chunk, 3)
        for name, parts in stories.items()
        for chunk, began, ended, last in parts
    ]
    found = joined(spark.createDataFrame(rows, f"{FOUND}, last_chunk bigint")).collect()
    assert {(row["subject"]["a"], row["began"], row["fired"], row["ended"]) for row in found} == {
        ("one", 150.0, 155.0, 250.0),
        ("three", 150.0, 155.0, None),
        ("two", 150.0, 155.0, 198.0),
        ("two", 220.0, 225.0, 250.0),
        ("ends between", 150.0, 155.0, 199.0),
        ("first seen later", 190.0, 195.0, 230.0),
    }


def test_an_alarm_that_began_before_the_raw_rows_keeps_its_begin(spark: SparkSession) -> None:
    """Raw rows begin at 100. What is not in them any more is in the stored row."""
    form = (
        "cluster_id string, trial int, subject map<string, string>, began double, fired double, ended double,"
        " seconds double, value_max double, would_fire boolean"
    )

    def alarm(name: str, began: float, fired: float | None, ended: float | None, highest: float) -> tuple[Any, ...]:
        until = 300.0 if ended is None else ended
        return ("one", 0, {"broker": name}, began, fired, ended, until - began, highest, fired is not None)

    stored_rows = [
        alarm("goes on", 10.0, 20.0, None, 9.0),
        alarm("ended", 10.0, 20.0, 150.0, 1.0),
        alarm("fires later", 90.0, None, None, 1.0),
        alarm("again", 10.0, 20.0, 99.0, 9.0),
    ]
    computed = [
        alarm("goes on", 100.5, 110.5, None, 2.0),
        alarm("ended", 100.5, 110.5, 150.0, 2.0),
        alarm("ended", 200.0, 210.0, None, 2.0),
        alarm("fires later", 100.5, 110.5, None, 2.0),
        alarm("again", 100.5, 110.5, None, 2.0),
        alarm("new", 120.0, None, 125.0, 2.0),
    ]
    expected = [
        alarm("goes on", 10.0, 20.0, None, 9.0),
        alarm("ended", 10.0, 20.0, 150.0, 2.0),
        alarm("ended", 200.0, 210.0, None, 2.0),
        alarm("fires later", 90.0, 110.5, None, 2.0),
        *computed[-2:],
    ]
    first = of_rows(spark, [("one", 100.0)], "cluster_id string, first double")
    found, old = (spark.createDataFrame(rows, form) for rows in (computed, stored_rows))
    assert sorted(map(tuple, with_begin(found, old, first).collect()), key=repr) == sorted(expected, key=repr)


def test_stored_alarms_are_those_of_the_trial_that_made_them(spark: SparkSession) -> None:
    rule = BY_NAME["KafkaReplicasOutOfSync"]
    tried = trials(read_what_if(f"{rule.name}=60@1m"))
    usual, longer = rule.for_seconds + rule.lookback, 60.0 + rule.lookback
    subject = {"topic": "foo", "partition": "0", "broker": "3"}
    moments = (datetime(2026, 5, 4, 12, tzinfo=UTC), None, datetime(2026, 5, 4, 13, tzinfo=UTC))
    rows = [
        (name, rule.name, threshold, threshold == 60, seconds, subject, *moments)
        for name, threshold, seconds in (
            ("usual", rule.threshold, usual),
            ("changed", rule.threshold, usual + 1),
            ("tried", 60.0, longer),
            ("not tried", 60.0, longer + 1),
        )
    ]
    columns = "name string, rule string, threshold double, what_if boolean, for_seconds double,"
    columns += " subject map<string, string>, began timestamp, fired timestamp, ended timestamp"
    stored_rows = of_trials(spark.createDataFrame(rows, columns), trial_rows(spark, tried)).collect()
    found = {row["name"]: tried[row["trial"]] for row in stored_rows}
    assert {name: (trial.rule.name, trial.threshold, trial.what_if) for name, trial in found.items()} == {
        "usual": (rule.name, rule.threshold, False),
        "tried": (rule.name, 60.0, True),
    }
    assert {(row["topic"], row["partition"], row["broker"], row["began"]) for row in stored_rows} == {
        ("foo", 0, 3, moments[0].timestamp())
    }


def test_alerts_are_truth(spark: SparkSession, tmp_path: Path) -> None:
    times = {"startsAt": "2026-05-04T12:00:00Z", "endsAt": "2026-05-04T12:10:00Z"}
    alert = {"labels": {"alertname": "NodeDown", "cluster": "prod", "broker": "3"}, **times}
    place = tmp_path / "alerts.json"
    place.write_text(json.dumps([alert]))
    (found,) = faults(spark, Truth(str(place), {"NodeDown": "broker_down"}, {"prod": "id"})).collect()
    assert (found["cluster_id"], found["kind"], found["broker"], found["topic"]) == ("id", "broker_down", 3, None)
    assert found["ended"] - found["began"] == 600.0
    with pytest.raises(TruthError, match=r"gone\.json: it cannot be read"):
        faults(spark, Truth(str(tmp_path / "gone.json"), {"NodeDown": "broker_down"}))


def test_truth_that_cannot_be_read_says_so(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TruthError, match=r"faults\.json: no such file; give --truth"):
        faults(spark, Truth(str(tmp_path)))
    (tmp_path / "faults.json").write_text('{"cluster_id": "c", "kind": "x", "began": 1}\n{"cluster_id": 3\n')
    with pytest.raises(TruthError, match="a line is not of the form"):
        faults(spark, Truth(str(tmp_path)))
