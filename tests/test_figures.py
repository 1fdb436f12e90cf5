"""Numbers in the documents are those of the code, or of the one document with the measurement."""

import math
import re
from pathlib import Path
from typing import Final

import pytest

from kafka_warden.clients.agents.http import CONNECT_SECONDS
from kafka_warden.clients.agents.session import COST, EVERY
from kafka_warden.clients.jmx.session import MOST_TARGETS
from kafka_warden.clients.kafka.connection import BEFORE_LOGIN, LONGEST_PAUSE, SMALL
from kafka_warden.derive.stuck import stall_limit
from kafka_warden.history.parquet.sink import FILE_ROWS, MOST_ROWS
from kafka_warden.poller import PollerSettings
from kafka_warden.poller.poller import REQUESTS
from kafka_warden.reload import AGAIN
from kafka_warden.rules.thresholds import numbers
from kafka_warden.settings.strict import Address
from kafka_warden.web.file import MOST_COST
from kafka_warden.web.login import WAITING
from kafka_warden.web.rows import MOST_MAKING
from kafka_warden.web.server import WebSettings

ROOT: Final = Path(__file__).parents[1]
SETTINGS: Final = WebSettings(Address("", 0))
RUNS: Final = re.compile(r"^\| ([\d,]+) \| \d+ ms \| \d+ ms \| \d+ ms \| [\d,]+ \| (\d+) MB \|$", re.MULTILINE)
"""Partitions and memory, as `make scale` prints them."""


def memory(partitions: str) -> str:
    measured = dict(RUNS.findall((ROOT / "bench" / "README.md").read_text()))
    return f"{10 * math.ceil(int(measured[partitions]) / 10)} MB"


@pytest.mark.parametrize(
    ("document", "stated"),
    [
        ("alerts/runbooks/KafkaReassignmentStuck.md", f"({stall_limit(PollerSettings().interval):.0f} s, if polls are"),
        (
            "alerts/runbooks/KafkaWardenDown.md",
            f"about {memory('10,005')} for 10,000 partitions, {memory('50,000')} for 50,000, {memory('200,000')} for",
        ),
        ("docs/how-to/what-if.md", f"the exporter needs {memory('200,000')}"),
        ("docs/how-to/what-if.md", f"differ by {numbers()['page_age'] / 60:g} minutes"),
        ("docs/how-to/agents.md", f"asked once in {EVERY:.0f} s, or once in {COST} times the duration"),
        (
            "docs/how-to/agents.md",
            f"the pause is {CONNECT_SECONDS:.0f} s at first, and doubles with each failure up to {EVERY:.0f} s",
        ),
        ("docs/architecture.md", f"a frame before login has at most {BEFORE_LOGIN >> 10} KiB"),
        ("docs/architecture.md", f"may take {REQUESTS} such pauses longer than `poll.deadline`, at most {REQUESTS} s"),
        ("docs/architecture.md", f"A pause above {LONGEST_PAUSE:.0f} s is a protocol fault"),
        ("docs/reference/configuration.md", f"the exporter tries again every {AGAIN:.0f} s"),
        ("docs/how-to/secure.md", f"The cost is at most {MOST_COST}, with which a check takes some 4 s"),
        ("docs/how-to/secure.md", f"While {WAITING} run or wait"),
        ("docs/threat-model.md", f"The limit is {SETTINGS.connections:,} connections"),
        ("docs/threat-model.md", f"no request comes for {SETTINGS.idle_timeout:g} s"),
        ("docs/threat-model.md", f"reads nothing of a response for {SETTINGS.answer_timeout:g} s"),
        ("docs/history.md", f"when a table has {FILE_ROWS:,} rows"),
        ("docs/reliability.md", f"above {MOST_ROWS:,} of a table the oldest are dropped"),
        ("docs/threat-model.md", f"At most {MOST_MAKING} different responses wait"),
        ("docs/threat-model.md", f"a frame has at most {SMALL >> 10} KiB"),
        ("docs/threat-model.md", f"{MOST_TARGETS} processes are asked at most"),
    ],
)
def test_a_number_is_that_of_the_code(document: str, stated: str) -> None:
    assert stated in " ".join((ROOT / document).read_text().split())


def test_sample_of_check_counts_its_lines() -> None:
    text = (ROOT / "docs" / "reference" / "check.md").read_text()
    lines = str(len(re.findall(r"^ok +KW-", text, re.MULTILINE)))
    assert re.findall(r"^(\d+) ok, ", text, re.MULTILINE) == [lines]
