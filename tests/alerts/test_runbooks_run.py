"""Every command of every runbook, on a secured cluster in the situation of its alert.

RUNBOOK_VERSION in the environment is another version of Kafka than the default one; RUNBOOK_EXITS=write writes the exit
codes into `alerts/runbook-exits.md`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import eq
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox import ClusterSettings, Security, wait_for
from sandbox.admin_moves import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from sandbox.admin_topics import Partition
from sandbox.ports import LOOPBACK
from tests.alerts import exits
from tests.alerts.fault import Fault
from tests.alerts.runbook import PAGES, Block, Kind, read_blocks
from tests.alerts.shell import Shell
from tests.alerts.situations import end_moves, settings, situation
from tests.alerts.stage import QUOTAS, Fired, Stage, usual_cluster

VERSION: Final = os.environ.get("RUNBOOK_VERSION", ClusterSettings().version)
WRITING: Final = os.environ.get("RUNBOOK_EXITS") == "write"
RATES: Final = {"controller_mutation_rate": "3"}
RATE: Final = "1100000"
"""Low: moves must still run when the next command looks for them."""
SETTING: Final = re.compile(r"--(add|delete)-config \"?([\w.]+)(?:=\[?([^\]\"]*)\]?)?")
ENTITY: Final = re.compile(r"--entity-type (\S+) --entity-(?:name (\S+)|default)")
THROTTLE: Final = {LEADER_RATE, FOLLOWER_RATE, LEADER_REPLICAS, FOLLOWER_REPLICAS}
State = Mapping[tuple[str, str], Mapping[Any, Any]]
"""Settings by kind and name of an entity; `moves` has the replicas to be by partition."""


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage | None]:
    """A cluster of these settings; None where no situation is known."""
    if request.param is None:
        yield None
        return
    with (
        usual_cluster(replace(request.param, version=VERSION, security=Security.SASL_SSL_SCRAM)) as cluster,
        Stage(tmp_path_factory.mktemp("stage"), cluster) as running,
    ):
        yield running


def scenes() -> Iterator[Any]:
    """Each page with commands, its situation and its cluster; pages on one cluster follow each other."""
    found = [(page, situation(page)) for page in PAGES if read_blocks(page)]
    for page, cause in sorted(found, key=lambda each: (repr(each[1] and settings(each[1])), each[0])):
        yield pytest.param(cause and settings(cause), page, cause, id=page.stem)


@pytest.mark.cluster
@pytest.mark.full_alerts
@pytest.mark.parametrize(("stage", "page", "cause"), list(scenes()), indirect=["stage"], scope="module")
def test_commands_do_what_the_page_says(stage: Stage | None, page: Path, cause: Fault | None, tmp_path: Path) -> None:
    """Each command exits as promised, each action has its effect, and its undo leaves what was there before."""
    assert stage is not None, f"no fault brings {page.stem}: add one to tests/alerts/situations.py"
    assert cause is not None
    try:
        with cause.happen(stage) as brought:
            run = Run(stage, page, min(each for each in brought if each.alert == page.stem), tmp_path)
            run.everything()
    finally:
        stage.cluster.reset()
        for client, rate in QUOTAS.items():
            stage.cluster.admin.set_client_quota(client_id=client, values={"controller_mutation_rate": rate})
    if WRITING:
        record = exits.read()
        for text, code in run.exits.items():
            record.setdefault((page.stem, text), {})[VERSION] = code
        exits.write(record)


class Run:
    """One page on a stage.

    Args:
        stage: The cluster and the sidecar, in the situation of the alert.
        page: The page.
        alert: Its labels are values of placeholders.
        directory: Where the commands run.

    Attributes:
        exits: The exit code of each command that has run.
    """

    def __init__(self, stage: Stage, page: Path, alert: Fired, directory: Path) -> None:
        self._admin = stage.cluster.admin
        self._stage, self._page = stage, page
        values = {name.upper(): value for name, value in alert.labels}
        running = self._admin.running()
        # Without a controller nothing is known of moves, and its page changes nothing.
        acts = any(block.kind is Kind.ACT for block in read_blocks(page))
        moving = {name for name, _ in self._admin.reassignments()} if running and acts else set()
        if running and "TOPIC" not in values:
            values["TOPIC"] = next(iter(sorted(moving or self._admin.topics())), "")
        if running and values["TOPIC"] and "BROKER" not in values:
            values["BROKER"] = str(self._admin.describe(values["TOPIC"])[0].leader)
        broker = int(values.setdefault("BROKER", "1"))
        follows = broker in running and FOLLOWER_RATE in self._admin.dynamic_broker_config(broker)
        self._values = {
            "BYTES": "8388608",
            "CLIENT": values.get("CLIENT_ID", "batch"),
            "FETCHERS": "2",
            "FILE": os.fspath(stage.sidecar.directory / "web.pem"),
            "FOLDER": os.fspath(stage.sidecar.directory),
            "HOST": LOOPBACK,
            "LIST": "0:2",
            "MINIMUM": "1",
            "PARTITION": "0",
            "PID": str(stage.cluster.pids().get(broker)),
            "PORT": str(stage.sidecar.port),
            "RETENTION": "86400000",
            "SIDE": "follower" if follows else "leader",
            "TARGET": str(broker),
            "THREADS": "20",
            **values,
        }
        self._topics = moving | {values["TOPIC"]} - {""} if running else set()
        self._shell = Shell(directory, stage, broker)
        self.exits: dict[str, str] = {}

    def everything(self) -> None:
        """Run each block: an action, then its undo; actions without an undo at the end, when no move runs."""
        blocks = read_blocks(self._page)
        last = [block for block in blocks if block.kind is Kind.ACT and not block.has_undo]
        before: State = {}
        if any(block.kind is Kind.ACT for block in blocks):
            self._shell.write_plan(self._moves())
        for block in blocks:
            if block.kind is Kind.LOOK:
                self._execute(block)
            elif block.kind is Kind.UNDO:
                self._undo(block, before)
            elif block.has_undo:
                before = self._state()
                self._execute(block)
        for block in last:
            if "--execute" not in block.commands[0].text:
                end_moves(self._stage)
            self._execute(block)

    def _execute(self, block: Block) -> None:
        """Run its commands, and check their exit codes and the effect of an action."""
        for command in block.commands:
            setting = SETTING.search(command.text)
            text = command.filled({**self._values, "RATE": RATES.get(setting[2], RATE) if setting else RATE})
            ran = self._shell.run(text)
            self.exits[command.text] = exits.NOT_RUN if ran.code is None else str(ran.code)
            assert ran.code in {None, 0, *command.exits}, f"{text}: exit code {ran.code}\n{ran.output}"
            if "plan --current" in text and ran.code:
                self._shell.write_plan(self._shell.plan)
            if block.kind is not Kind.LOOK:
                wait_for(partial(self._is_done, text), 60, f"the effect of {text}")

    def _undo(self, block: Block, before: State) -> None:
        """Undo an action with the values from before it, and compare."""
        (command,) = block.commands
        if names := re.findall(r"\bOLD_\w+", command.text):
            old = _old(command.filled({**self._values, **dict.fromkeys(names, "")}), before)
            self._values |= dict.fromkeys(names, old)
            if not old:
                assert "`--delete-config" in block.before, f"no undo where the setting was not there: {command.text}"
                text = re.sub(r'--add-config "?([\w.]+)=\S+', r"--delete-config \1", command.text)
                block = replace(block, commands=(replace(command, text=text),))
        self._execute(block)
        self.exits[command.text] = self.exits.pop(block.commands[0].text)
        # The tool sets both rates of all brokers of a move, and a move that is cancelled keeps its throttle.
        same = _contains if re.search(r"--(preserve-)?throttle", command.text) else eq
        if "--cancel" in command.text:
            before = {
                entity: {key: value for key, value in settings.items() if key not in THROTTLE}
                for entity, settings in before.items()
            }
        wait_for(lambda: same(self._state(), before), 60, f"{command.text} restores {before}, not {self._state()}")

    def _is_done(self, text: str) -> bool:
        """Whether an action has had its effect."""
        if setting := SETTING.search(text):
            now = _text(self._state()[_entity(text)].get(setting[2]))
            return now == (_text(setting[3]) if setting[1] == "add" else "")
        if "--execute" in text:
            return self._moves() == self._shell.plan
        if "--cancel" in text:
            return not self._admin.reassignments().keys() & self._shell.plan
        if "--verify" in text:
            return not any(THROTTLE & settings.keys() for settings in self._state().values())
        if "kafka-leader-election" in text:
            state = self._admin.describe(self._values["TOPIC"])[int(self._values["PARTITION"])]
            return state.leader >= 0 if "unclean" in text else state.leader == state.replicas[0]
        raise AssertionError(f"no check of the effect of {text}")

    def _state(self) -> State:
        """What commands can change."""
        admin = self._admin
        return {
            ("brokers", ""): admin.default_broker_config(),
            **{("brokers", str(broker)): admin.dynamic_broker_config(broker) for broker in admin.running()},
            **{("topics", topic): admin.dynamic_topic_config(topic) for topic in self._topics},
            **{("clients", client or ""): values for (_, client), values in admin.client_quotas().items()},
            ("moves", ""): self._moves(),
        }

    def _moves(self) -> dict[Partition, tuple[int, ...]]:
        """The replicas of each partition, those to be where it moves."""
        moves = self._admin.reassignments()
        return {
            (topic, number): tuple(
                broker
                for broker in state.replicas
                if (topic, number) not in moves or broker not in moves[topic, number].removing
            )
            for topic in self._topics
            for number, state in self._admin.describe(topic).items()
        }


def _old(text: str, before: State) -> str:
    """What the setting of a command was; for a throttle of the tool the rate of any broker."""
    if setting := SETTING.search(text):
        return _text(before.get(_entity(text), {}).get(setting[2]))
    rates = (settings[key] for settings in before.values() for key in (LEADER_RATE, FOLLOWER_RATE) if key in settings)
    return _text(next(rates))


def _entity(text: str) -> tuple[str, str]:
    found = ENTITY.search(text)
    assert found, text
    return found[1], found[2] or ""


def _text(value: object) -> str:
    """A value as text, a number without its fraction where that is 0."""
    text = "" if value is None else str(value)
    return text.removesuffix(".0")


def _contains(now: State, before: State) -> bool:
    """Whether everything that was set is set as it was."""
    return all(settings.items() <= now[entity].items() for entity, settings in before.items())
