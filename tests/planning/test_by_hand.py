"""Throttles that kafka-reassign-partitions cannot set: the commands set them with kafka-configs."""

import subprocess
from collections.abc import Sequence

import pytest

from kafka_warden.model import Side, Snapshot
from kafka_warden.planning.commands import move_commands
from kafka_warden.planning.during_move import ALL, LONGEST_LIST, by_hand, throttled_lists
from kafka_warden.planning.findings import warnings
from kafka_warden.planning.moving import resolve
from tests.building import known
from tests.planning.printed import WHERE, lines
from tests.support.planned import GB, MB, cluster, plan, rates, sized, to, without

CONFIGS = "kafka-configs.sh --bootstrap-server a:9092 --alter --entity-type"
EXECUTE = "kafka-reassign-partitions.sh --bootstrap-server a:9092 --execute"


DEAD = without(
    cluster({"t": [sized([2, 3], GB, out=[3]), sized([2, 1], GB)], "u": [sized([1, 3], GB, out=[3])]}, more=[4]), 3
)


def test_a_move_away_from_a_broker_that_is_down() -> None:
    """The tool would ask it for its rate. The lists are those of the tool, and the rate of the others is set."""
    found = plan(DEAD, to("t", 0, 2, 4), to("u", 0, 1, 4))
    rate = f"leader.replication.throttled.rate={found.limit},follower.replication.throttled.rate={found.limit}"

    listed = "leader.replication.throttled.replicas=[0:{},0:3],follower.replication.throttled.replicas=[0:4]"
    assert lines(found, "rates", "lists", "begin") == [
        f'for name in 1 2 4; do {CONFIGS} brokers --add-config {rate} --entity-name "$name"; done',
        f"for name in t; do {CONFIGS} topics --add-config '{listed.format(2)}' --entity-name \"$name\"; done",
        f"for name in u; do {CONFIGS} topics --add-config '{listed.format(1)}' --entity-name \"$name\"; done",
        f"{EXECUTE} --reassignment-json-file 'move it.json'",
    ]
    assert lines(found, "throttle") == [lines(found, "rates")[0].replace(str(found.limit), "BYTES")]
    assert (
        "broker 3: down, and --execute --throttle would wait for it and start no move (KAFKA-13392). The commands set"
        " the throttle of the others with kafka-configs"
    ) in warnings(found)
    assert "broker 3 is down: start it first" in found.rollback_problem
    assert lines(found, "roll_back") == []


def test_the_tool_asks_only_brokers_of_moves() -> None:
    """Partitions that do not move may have a replica on a broker that is down; those that move already count."""
    going = cluster({"t": [sized([1, 2], GB)], "u": [sized([1, 3], GB, adding=[3])]}, more=[4])
    still = plan(DEAD, to("t", 1, 2, 4))
    other = plan(without(going, 3), to("t", 0, 1, 4))

    assert (still.by_hand, len(lines(still, "rates", "lists"))) == (None, 0)
    assert known(other.by_hand).down == (3,)
    assert "--additional" in lines(other, "begin")[0]


def test_a_move_that_copies_nothing_needs_no_throttle() -> None:
    found = plan(DEAD, to("t", 0, 2))
    assert (found.by_hand, lines(found, "rates", "lists")) == (None, [])
    assert lines(found, "begin") == [f"{EXECUTE} --reassignment-json-file 'move it.json'"]


@pytest.mark.parametrize(("partitions", "fits"), [(1718, True), (1719, False)])
def test_the_longest_list_of_the_tool(partitions: int, fits: bool) -> None:
    """Three replicas and ids of one digit."""
    seen = cluster({"t": [sized([1, 2, 3], GB)] * partitions}, more=[4])
    moving = resolve(seen, [to("t", number, 1, 2, 4) for number in range(partitions)], rates(seen))

    lists = throttled_lists(moving)["t"]

    assert (lists[Side.LEADER] != ALL) is (by_hand(seen, moving) is None) is fits
    assert len(lists[Side.LEADER]) <= LONGEST_LIST
    assert lists[Side.FOLLOWER].startswith("0:4,1:4,")


def many(partitions: int = 2000, replicas: Sequence[int] = (1, 2, 3)) -> Snapshot:
    """Make a topic whose throttled list is too long for the tool."""
    return cluster({"big": [sized(replicas, GB)] * partitions, "t": [sized([1, 2], GB)]}, more=[4])


def test_a_list_that_is_too_long_has_all_replicas() -> None:
    """Only the list of leaders is; then in-sync followers of partitions that stay count on that side, too."""
    seen = many()
    moved = [to("big", number, 1, 2, 4) for number in range(1999)]
    found = plan(seen, *moved, bytes_in={"big": MB})
    by_the_tool = plan(seen, *moved[:1000], bytes_in={"big": MB})

    assert lines(found, "lists")[0].startswith(
        f"for name in big; do {CONFIGS} topics --add-config 'leader.replication.throttled.replicas=[*],follower"
    )
    assert "--throttle" not in lines(found, "begin")[0]
    assert {load.floor for load in found.loads if load.side is Side.LEADER} == {4000 * MB}
    assert {load.floor for load in by_the_tool.loads if load.side is Side.LEADER} == {2000 * MB}
    assert (
        "big: a throttled list has more than 32767 bytes: --execute --throttle cannot set it (KAFKA-17993)."
        " The commands set * with kafka-configs: all replicas of the topic count"
    ) in warnings(found)


def test_the_rollback_may_be_the_one_that_needs_it() -> None:
    """Two of three replicas go: nothing is copied, but the rollback copies them all."""
    found = plan(many(4000), *(to("big", number, 1) for number in range(4000)))

    assert (found.by_hand, lines(found, "rates", "lists")) == (None, [])
    assert [command.purpose for command in move_commands(found, WHERE)][-4:] == [
        "roll_back_rates",
        "roll_back_lists",
        "roll_back",
        "verify_roll_back",
    ]
    assert "follower.replication.throttled.replicas=[*]" in lines(found, "roll_back_lists")[0]
    assert any(warning.startswith("the rollback: big: a throttled list has") for warning in warnings(found))


@pytest.mark.process
def test_a_shell_runs_the_lines_as_they_are() -> None:
    found = plan(DEAD, to("t", 0, 2, 4), to("u", 0, 1, 4))
    shell = 'function kafka-configs.sh { printf "%s|" "$@"; echo; }\n' + "\n".join(lines(found, "rates", "lists"))

    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)

    head = "--bootstrap-server|a:9092|--alter|--entity-type"
    rate = f"leader.replication.throttled.rate={found.limit},follower.replication.throttled.rate={found.limit}"
    listed = "leader.replication.throttled.replicas=[0:{},0:3],follower.replication.throttled.replicas=[0:4]"
    assert done.stdout.splitlines() == [
        *(f"{head}|brokers|--add-config|{rate}|--entity-name|{broker}|" for broker in (1, 2, 4)),
        *(f"{head}|topics|--add-config|{listed.format(b)}|--entity-name|{topic}|" for topic, b in (("t", 2), ("u", 1))),
    ]
