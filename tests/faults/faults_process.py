"""The sidecar itself: a full disk, signals, another configuration."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

from kafka_warden.history.parquet.reader import polls
from tests.alerts.stage import Fired, fired
from tests.cluster.page import Page
from tests.faults.faults_brokers import VICTIM, without
from tests.faults.witness import Witness
from tests.support.small_disks import small_disk

DISK: Final = 4 * 1024
"""Kilobytes."""
STOPS_WITHIN: Final = 5.0
KILLS: Final = 5
FILES_OF_POLLS: Final = "polls/**/*.parquet"
LIMIT: Final = 12_345


def disk_full(witness: Witness) -> Iterator[set[Fired]]:
    """F21: while the disk is full rows of history wait in memory, later every poll is in a complete file."""
    with small_disk(witness.stage.sidecar.directory / "history", DISK) as folder, ExitStack() as stack:
        stack.callback(witness.restart, history={"parquet": None})
        witness.restart(history={"parquet": {"path": str(folder), "roll": "1s"}})
        witness.until(lambda page: page.get("sink_rows_total", sink="parquet"), "rows are written")
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4096)):
                pass
        page = witness.until(lambda page: page.one("sink_up", sink="parquet") == 0, "it is full")
        assert not page.down()
        yield {fired("KafkaWardenHistoryLost", sink="parquet")}
        filler.unlink()
        page = witness.until(lambda page: page.one("sink_up", sink="parquet") == 1, "it writes again")
        assert not page.all("sink_dropped_total", sink="parquet")
        witness.assert_recovered()
        witness.restart(history={"parquet": None})
        seen = [tables["polls"]["sequence"][0] for tables in polls(folder)]
        assert sorted(seen) == list(range(len(seen)))
        assert not list(folder.rglob("*.tmp"))


def ended_while_hung(witness: Witness) -> Iterator[set[Fired]]:
    """F23: SIGTERM ends the sidecar in time while a broker hangs."""
    witness.cluster.pause(VICTIM)
    witness.until(lambda page: VICTIM in page.silent("offsets"), "it hangs")
    with witness.unwatched():
        began = time.monotonic()
        assert witness.stage.sidecar.end(signal.SIGTERM) == 0
        assert time.monotonic() - began < STOPS_WITHIN
        witness.stage.sidecar.restart()
    yield without(VICTIM)
    witness.cluster.resume(VICTIM)
    witness.cluster.wait_ready(VICTIM)
    witness.cluster.wait_in_sync()


def _has_more(folder: Path, files: int, _: Page) -> bool:
    return len(list(folder.glob(FILES_OF_POLLS))) > files


def killed_while_writing(witness: Witness) -> Iterator[set[Fired]]:
    """F23: after SIGKILL at any time every visible file of history is complete, and the next sidecar goes on."""
    folder = witness.stage.sidecar.directory / "killed"
    for number in range(KILLS):
        witness.restart(history={"parquet": {"path": str(folder), "roll": "1s"}})
        before = len(list(folder.glob(FILES_OF_POLLS)))
        witness.until(partial(_has_more, folder, before), "a file of polls is written")
        time.sleep(number / KILLS)  # at another point of a poll each time
        with witness.unwatched():
            witness.stage.sidecar.kill()
            witness.stage.sidecar.restart()
    witness.restart(history={"parquet": None})
    runs = {tables["polls"]["run"][0] for tables in polls(folder)}
    assert len(runs) >= KILLS
    yield set()


def reloaded(witness: Witness) -> Iterator[set[Fired]]:
    """F24: SIGHUP with a bad configuration keeps the old one and shows that; with a good one it is in force at once."""
    sidecar = witness.stage.sidecar
    before = witness.page.one("cluster_partition_limit")
    sidecar.configure(limits={"max_partitions": LIMIT, "max_partitons": LIMIT})
    sidecar.reload()
    witness.until(lambda page: page.get("config_last_reload_successful") == 0, "it is refused")
    assert witness.page.one("cluster_partition_limit") == before
    yield {fired("KafkaWardenConfigurationNotUsed")}
    sidecar.configure(limits={"max_partitons": None})
    sidecar.reload()
    witness.until(lambda page: page.get("config_last_reload_successful") == 1, "it is accepted")
    witness.until(lambda page: page.one("cluster_partition_limit") == LIMIT, "it is in force")
    sidecar.configure(limits={"max_partitions": None})
    sidecar.reload()
    witness.until(lambda page: page.one("cluster_partition_limit") == before, "the old one is back")
