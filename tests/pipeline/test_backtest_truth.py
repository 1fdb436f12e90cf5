"""Alerts of Alertmanager's API as known faults."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_warden.errors import ConfigError, TruthError
from kafka_warden.pipeline.backtest import JOB, of_trials, trial_rows
from kafka_warden.pipeline.marts import ALARMS, of_rows
from kafka_warden.pipeline.trials import trials
from kafka_warden.pipeline.truth import FILE, FORM, NO_FAULTS, Truth, exported, faults, scores
from tests.pipeline.stored import options

NOON = 1777896000.0
"""2026-05-04 12:00 UTC."""
KINDS = {"NodeDown": "broker_down"}
CLUSTERS = {"prod": "id-of-prod"}


def test_each_round_of_a_loop_reads_the_file(spark: SparkSession, tmp_path: Path) -> None:
    """What was added since is known."""
    line = json.dumps({"cluster_id": "one", "kind": "broker_down", "began": NOON, "ended": NOON + 60})
    for count in (1, 2):
        (tmp_path / "faults.json").write_text(f"{line}\n" * count)
        assert faults(spark, Truth(str(tmp_path))).count() == count


def test_truth_is_read_from_any_place(spark: SparkSession, tmp_path: Path) -> None:
    """Events that are no faults, too, as on an object store. A place without faults says so there, too."""
    place = tmp_path / "a [1] b"
    place.mkdir()
    for name, kind in ((FILE, "broker_down"), (NO_FAULTS, "restart")):
        (place / name).write_text(json.dumps({"cluster_id": "one", "kind": kind, "began": NOON}))
    for given in (str(place), f"file://{place}/"):
        assert sorted(row["kind"] for row in faults(spark, Truth(given)).collect()) == ["broker_down", "restart"]
    with pytest.raises(TruthError, match=r"file:///nowhere/faults\.json: no such file"):
        faults(spark, Truth("file:///nowhere"))


def test_alarms_that_were_not_computed_again_are_compared_with_faults(spark: SparkSession) -> None:
    """They are of polls whose raw rows were deleted."""
    tried = trial_rows(spark, trials(()))
    (rule,) = tried.where("rule = 'KafkaBrokerUnreachable'").collect()
    moments = {"began": NOON, "fired": NOON + 60, "ended": NOON + 600}
    subject = {"subject": {"broker": "3"}, "would_fire": True, "seconds": 600.0}
    alarm = {"cluster_id": "one", **rule.asDict(), **subject}
    alarm |= {name: datetime.fromtimestamp(seconds, UTC) for name, seconds in moments.items()}
    stored = of_rows(spark, [[alarm.get(name) for name in ALARMS.names]], ALARMS.ddl)
    happened = of_rows(spark, [("one", "broker_down", NOON, NOON + 900, None, None, 3)], FORM)
    polled = "cluster_id string, what_if boolean, interval double, since double, until double"
    clusters = of_rows(spark, [("one", False, 10.0, NOON, NOON + 9e3)], polled)
    of_rule = scores(of_trials(stored, tried), tried, clusters, happened).where(f"trial = {rule['trial']}")
    (found,) = of_rule.collect()
    assert (found["alarms"], found["true_alarms"], found["false_alarms"], found["precision"]) == (1, 1, 0, 1.0)


def alert(ends: str = "2026-05-04T12:10:00.000Z", **labels: str) -> dict[str, Any]:
    return {
        "annotations": {"summary": "a node is down"},
        "endsAt": ends,
        "fingerprint": "f",
        "receivers": [{"name": "on-call"}],
        "startsAt": "2026-05-04T14:00:00.123456789+02:00",
        "status": {"inhibitedBy": [], "silencedBy": [], "state": "active"},
        "updatedAt": "2026-05-04T12:06:00.000Z",
        "generatorURL": "",
        "labels": {"alertname": "NodeDown", "cluster": "prod", **labels},
    }


def test_alert_is_a_fault() -> None:
    (found,) = exported(json.dumps([alert(broker="3", topic="orders", partition="7")]), KINDS, CLUSTERS)
    cluster, kind, began, ended, *about = found
    assert (cluster, kind, about) == ("id-of-prod", "broker_down", ["orders", 7, 3])
    assert began == pytest.approx(NOON + 0.123, abs=0.001)
    assert ended == NOON + 600


def test_label_with_the_id_comes_first() -> None:
    (found,) = exported(json.dumps([alert(cluster_id="other")]), KINDS, {})
    assert (found[0], found[4:]) == ("other", (None, None, None))


def test_alerts_that_overlap_are_one_fault() -> None:
    exports = [
        [alert("2026-05-04T12:20:00Z", broker="1"), alert(alertname="DiskFull")],
        [],
        [alert("2026-05-04T12:10:00Z", broker="1", prometheus="b"), alert(broker="2")],
        [alert("2026-05-04T13:10:00Z", broker="2") | {"startsAt": "2026-05-04T13:00:00Z"}],
    ]
    found = exported(" \n".join(map(json.dumps, exports)), KINDS, CLUSTERS)
    assert sorted((each[6], each[3]) for each in found) == [(1, NOON + 1200), (2, NOON + 600), (2, NOON + 4200)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps([alert(alertname="DiskFull")]),
            "no alert has a name of --truth-alert NAME=KIND; names in the export: DiskFull",
        ),
        ("[]", "names in the export: none"),
        (json.dumps([alert(cluster="dev")]), "--truth-cluster dev=ID"),
        (json.dumps([alert(broker="three")]), "NodeDown: its label broker='three' is no number of a broker"),
        (
            json.dumps([alert() | {"labels": {"alertname": "NodeDown", "cluster": "prod", "topic": 5}}]),
            "an alert cannot be read (TypeError('sequence item 2: expected str instance, int found'))",
        ),
        (json.dumps([alert(partition="99999999999")]), "its label partition='99999999999' is no number of a partition"),
        (json.dumps([{"labels": {"alertname": "NodeDown"}}]), "an alert cannot be read"),
        (json.dumps([alert("soon")]), "an alert cannot be read"),
        (json.dumps([alert(topic="\ud800")]), "an alert cannot be read"),
        ('{"status": "success", "data": []}', "it is no array of alerts; save the answer of GET /api/v2/alerts"),
        ("[[]]", "an alert cannot be read"),
        ("[] no", "it is no JSON"),
    ],
)
def test_other_forms_say_what_to_do(text: str, message: str) -> None:
    with pytest.raises(TruthError) as failure:
        exported(text, KINDS, CLUSTERS)
    assert message in str(failure.value)


def test_flags_of_alerts() -> None:
    """Names and clusters may be repeated."""
    given = ("--truth", "alerts.json", "--truth-alert", "NodeDown=broker_down", "--truth-alert", "Slow=slow_follower")
    kinds = {"NodeDown": "broker_down", "Slow": "slow_follower"}
    assert options(JOB, *given, "--truth-cluster", "prod=id").truth == Truth("alerts.json", kinds, {"prod": "id"})
    assert options(JOB).truth is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--truth-alert", "NodeDown"), "--truth-alert NodeDown: expected NAME=VALUE"),
        (("--truth-alert", "NodeDown=fire"), "no rule detects 'fire'; kinds: broker_down, restart"),
        (("--truth-cluster", "=id"), "--truth-cluster =id: expected NAME=VALUE"),
        (("--truth-alert", "NodeDown=broker_down"), "only valid with --truth FILE.json"),
        (("--truth", "folder", "--truth-cluster", "prod=id"), "only valid with --truth FILE.json"),
        (("--truth", "alerts.json"), "give --truth-alert NAME=KIND"),
        (("--truth", "folder", "--end", "2026-05-04"), "--start, --end: not valid with --what-if or --truth"),
        (("--what-if", "out_of_sync_by_time=60", "--start", "2026-05-04"), "--start, --end: not valid with --what-if"),
        (("--truth-cluster", "a=1", "--truth-cluster", "a=2"), "--truth-cluster: a name is given twice: a=1 a=2"),
    ],
)
def test_flags_that_cannot_be_used(given: tuple[str, ...], message: str) -> None:
    """With what would do."""
    with pytest.raises(ConfigError) as failure:
        options(JOB, *given)
    assert message in str(failure.value)
