"""History that cannot be written to its destination."""

from collections.abc import Iterator
from typing import Final

from sandbox import wait_for
from tests.alerts.fault import fault
from tests.alerts.stage import Fired, Stage, fired

SMALLEST: Final = 100
"""Bytes of a message, too few for a row."""


@fault("history-unwritable", "The folder of history is replaced by a file")
def folder_unwritable(stage: Stage) -> Iterator[set[Fired]]:
    """A file is written with every poll, until even root cannot write."""
    folder = stage.sidecar.directory / "history"
    stage.restart_sidecar(history={"parquet": {"path": str(folder), "roll": "1s"}})
    written, up = 'kafka_warden_sink_rows_total{sink="parquet"} > 0', 'kafka_warden_sink_up{sink="parquet"}'
    wait_for(lambda: stage.value(written), 60, "there is history")
    aside = folder.rename(folder.with_name("aside"))
    folder.touch()
    wait_for(lambda: stage.value(up) == 0, 60, "the sidecar has noticed")
    yield {fired("KafkaWardenHistoryLost", sink="parquet")}
    folder.unlink()
    aside.rename(folder)
    wait_for(lambda: stage.value(up) == 1, 60, "it writes again")
    stage.restart_sidecar(history={"parquet": None})


@fault("history-refused", "The topic of history takes no message")
def topic_refuses(stage: Stage) -> Iterator[set[Fired]]:
    """Every message is larger than the topic accepts, so every row is lost."""
    stage.cluster.admin.create_topic("kept", config={"max.message.bytes": SMALLEST})
    stage.restart_sidecar(history={"kafka": {"topic": "kept"}})
    refused = 'kafka_warden_sink_dropped_total{sink="kafka",reason="too_large"} > 0'
    wait_for(lambda: stage.value(refused), 60, "rows are lost")
    yield {fired("KafkaWardenHistoryLost", sink="kafka")}
    stage.restart_sidecar(history={"kafka": None})
