"""The form of the runbooks: four parts, at most 400 words, what to do in numbered steps with their undo."""

import re
from pathlib import Path

import pytest

from kafka_warden.derive.replica_state import ReplicaState
from kafka_warden.derive.stuck import Cause
from kafka_warden.errors import REASONS, SinkReason
from kafka_warden.model import Source
from sandbox.monitoring import ALERTS
from tests.alerts import exits
from tests.alerts.runbook import PAGES, PLACEHOLDER, commands, unwrapped
from tests.support.rules import alerting_rules

PARTS = ["Is it bad?", "Do this", "If that did not help", "Why"]
MOST_WORDS = 400
SETS = {"B": r"B=[\w-]+:\d+", "W": "W=http://warden:10073", "CC": 'CC="--command-config admin\\.properties"'}
"""The variables that the first line of commands sets, if the page uses them."""
KINDS = ("sh", "promql")
CERTIFICATES = {"web", "web_client_ca", "kafka_client", "jmx_client"}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def to_do(page: Path) -> str:
    return page.read_text().split(f"## {PARTS[1]}\n")[1].split("\n## ")[0]


@pages
def test_page_has_its_form(page: Path) -> None:
    """A page is named after its alert, begins with what is wrong, and has its four parts in order.

    The first sentence is short: the table of alerts has it. No page only leads to another one: each has commands.
    """
    title, meaning, rest = page.read_text().split("\n\n", 2)
    assert title == f"# {page.stem}"
    assert re.match(r"[^|\n]{20,100}\.(?=\s|$)", meaning)
    assert len(meaning) < 240, len(meaning)
    assert not meaning.startswith(("#", "|", "`"))
    assert re.findall(r"^##+ (.*)$", rest, re.MULTILINE) == PARTS
    assert rest.startswith(f"## {PARTS[0]}\n")


@pages
def test_page_is_short(page: Path) -> None:
    assert len(page.read_text().split()) <= MOST_WORDS


@pages
def test_whether_it_is_bad_takes_one_command_and_one_query(page: Path) -> None:
    """The first block sets the used variables and has one command; one query; then what is bad and what is not."""
    text = page.read_text()
    part = text.split(f"## {PARTS[1]}\n")[0]
    commands, queries = (re.findall(rf"^```{kind}\n(.*?)^```$", part, re.DOTALL | re.MULTILINE) for kind in KINDS)
    assert (len(commands), len(queries)) == (1, 1)
    used = " ".join(value for name, value in SETS.items() if re.search(rf"\$\{{?{name}\b", text))
    assert re.match(rf"{used}(   # .*)?\n", commands[0])
    assert commands[0].count("\n") == 2
    assert queries[0].count("\n") == 1
    bad = part.rpartition("```")[2]
    assert re.search(r"\bBad: |\bAlways bad, except: ", bad)
    assert "Not bad: " in bad or "except: " in bad


@pages
def test_what_to_do_is_numbered_and_has_an_undo(page: Path) -> None:
    steps = to_do(page)
    numbers = [int(number) for number in re.findall(r"^(\d)\. ", steps, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 1
    assert re.search(r"\bundo\b", steps, re.IGNORECASE)


@pages
def test_a_change_of_a_topic_goes_to_its_operator(page: Path) -> None:
    """An operator (Strimzi, for example) reverts what it did not write; the page says so beside such a command."""
    changes = [
        given
        for tool, given in commands(page)
        if re.search(r"--(alter|delete)\b", given) and ("--entity-type topics" in given or tool == "kafka-topics")
    ]
    owned = re.search(r"[Aa]n operator owns this topic[?.] (Change it|Delete it) there\.", unwrapped(page))
    assert bool(owned) or not changes


@pages
def test_commands_of_the_exporter_name_its_configuration(page: Path) -> None:
    """Without it they do not know the brokers: exit code 2."""
    for given in re.findall(r"\bkafka-warden (?:plan|check|run) [^`\n]+", unwrapped(page)):
        assert "--config /etc/kafka-warden/warden.yml" in given


def test_every_command_was_run_on_each_version() -> None:
    """The recorded exit code is 0, or one that the page names."""
    recorded, known = exits.read(), exits.known_commands()
    assert recorded.keys() == known.keys(), "run test_runbooks_run.py with RUNBOOK_EXITS=write on each version"
    for key, codes in recorded.items():
        assert set(codes.values()) <= {exits.NOT_RUN, "0", *map(str, known[key].exits)}, key


def test_every_page_has_an_alert() -> None:
    assert {page.stem for page in PAGES} == {rule["alert"] for rule in alerting_rules()}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any("RATE" in PLACEHOLDER.findall(given) for _, given in commands(page))],
    ids=lambda page: page.stem,
)
def test_a_rate_has_a_source_and_a_unit(page: Path) -> None:
    text = unwrapped(page)
    assert re.search(r"RATE,? (is )?(in )?(bytes|partitions) per second|RATE, in bytes per second", text)
    assert re.search(r"is in the alert|gives (the throttle )?RATE|/ 0\.8|double it|below its? normal rate", text)


def test_no_copy_of_a_whole_broker_is_unthrottled() -> None:
    """The replicas of a lost broker: those at min ISR first, all with a throttle."""
    page = ALERTS / "runbooks" / "KafkaReplicasOutOfSync.md"
    executed = [given for _, given in commands(page) if "--execute" in given]
    assert executed
    assert [given for given in executed if "--throttle RATE" not in given] == []
    assert "those at min ISR first" in unwrapped(page)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("KafkaReassignmentStuck", set(Cause)),
        ("KafkaReplicasOutOfSync", set(ReplicaState) - {"moving"}),
        ("KafkaWardenDown", set(REASONS)),
        ("KafkaWardenHistoryLost", {*SinkReason, "stopped"}),
        ("KafkaWardenBlind", {Source.REASSIGNMENTS, Source.LOG_DIRS, Source.CONFIGS}),
        ("KafkaWardenCertificateExpiring", CERTIFICATES),
    ],
)
def test_every_value_has_an_answer(name: str, values: set[str]) -> None:
    steps = to_do(ALERTS / "runbooks" / f"{name}.md")
    before = re.findall(r"(?:^ *- |[.;] )((?:`[a-z_]+`(?:, | and )?)+)[^:.`]*:", steps, re.MULTILINE)
    answered = {value for words in before for value in re.findall(r"`([a-z_]+)`", words)}
    assert values <= answered, values - answered
