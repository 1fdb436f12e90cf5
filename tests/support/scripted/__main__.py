"""The process of the scripted brokers: one JSON object per line on standard input, one answer per line on output.

It ends when its standard input does.
"""

import asyncio
import copy
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from tests.support.scripted.broker import Brokers
from tests.support.scripted.description import Broker, Topic, spread
from tests.support.scripted.encoder import FORWARDED
from tests.support.scripted.rules import Rule
from tests.support.scripted.sasl import Accounts

ROUNDS = 5
"""Turns of the event loop without anything moving, after which the brokers are idle."""


class Commands:
    """What a test may ask for, by method name."""

    def __init__(self) -> None:
        self._brokers = Brokers()

    async def brokers(self, brokers: list[dict[str, Any]]) -> Mapping[int, int]:
        """Add brokers or change them; return the port of each."""
        return await self._nodes(self._brokers.cluster.brokers, brokers)

    async def controllers(self, controllers: list[dict[str, Any]]) -> Mapping[int, int]:
        self._brokers.cluster.controller = controllers[-1]["id"]
        return await self._nodes(self._brokers.cluster.controllers, controllers)

    async def _nodes(self, known: dict[int, Broker], changed: list[dict[str, Any]]) -> Mapping[int, int]:
        for each in changed:
            before, node = known.get(each["id"]), Broker(**each)
            if before is not None and before.host == node.host:
                node.port = before.port
            else:
                await self._brokers.refuse(node.id)
            known[node.id] = node
            await self._brokers.listen(node.id)
        self._brokers.cluster.revision += 1
        return {each["id"]: known[each["id"]].port for each in changed}

    async def remove_brokers(self, brokers: list[int]) -> None:
        for broker in brokers:
            await self._brokers.refuse(broker)
            self._brokers.release(broker)
            del self._brokers.cluster.brokers[broker]
        self._brokers.cluster.revision += 1

    async def topics(self, topics: list[dict[str, Any]]) -> None:
        self._brokers.cluster.add_topics(Topic(**topic) for topic in topics)

    async def spread(self, topics: int, **given: Any) -> None:
        """Add many topics whose partitions are spread over all brokers, as `spread` does."""
        brokers = list(self._brokers.cluster.brokers)
        self._brokers.cluster.add_topics(
            spread(f"topic-{number:05}", brokers=brokers, first=number, **given) for number in range(topics)
        )

    async def churn(self, number: int, leaders: float) -> None:
        """Give a part of the partitions their next replica as leader, and replace the topic of the last call."""
        cluster, chance = self._brokers.cluster, random.Random(number)
        topics = list(cluster.topics.values())
        for topic in topics:
            for partition, replicas in enumerate(topic.replicas):
                if chance.random() < leaders:
                    topic.leaders[partition] = replicas[(replicas.index(topic.leader(partition)) + 1) % len(replicas)]
        old = cluster.topics.pop(topics[-1].name)
        cluster.add_topics([replace(old, name=f"churn-{number}", leaders={})])

    async def remove_topics(self, topics: list[str]) -> None:
        for topic in topics:
            del self._brokers.cluster.topics[topic]
        self._brokers.cluster.index()

    async def quotas(self, quotas: list[dict[str, Any]]) -> None:
        self._brokers.cluster.quotas = quotas
        self._brokers.cluster.revision += 1

    async def deny(self, rights: list[str]) -> None:
        """Set the rights that the clients lack, as in `Description.denied`."""
        self._brokers.cluster.denied = set(rights)
        self._brokers.cluster.revision += 1

    async def zookeeper(self, controller: int) -> None:
        """Be a cluster in ZooKeeper mode with this broker as its active controller, -1 for none."""
        self._brokers.cluster.zookeeper = controller
        self._brokers.cluster.revision += 1

    async def isolate(self, broker: int) -> None:
        """Cut a broker off from the controllers: it answers from the image that it has, and forwards nothing."""
        cluster = self._brokers.cluster
        cluster.images[broker] = copy.deepcopy(cluster)
        self._brokers.rules[:0] = [Rule(broker=broker, request=name, hang=True) for name in FORWARDED]
        cluster.revision += 1

    async def quorum_ages(self, ages: dict[str, float]) -> None:
        """Have the active controller report when these brokers caught up with it."""
        self._brokers.cluster.quorum_ages = {int(broker): age for broker, age in ages.items()}
        self._brokers.cluster.revision += 1

    async def controller_epoch(self, epoch: int) -> None:
        self._brokers.cluster.controller_epoch = epoch
        self._brokers.cluster.revision += 1

    async def rejoin(self, broker: int) -> None:
        """Give a broker that was cut off its controllers back, and remove all rules."""
        del self._brokers.cluster.images[broker]
        self._brokers.rules.clear()
        self._brokers.cluster.revision += 1

    async def skew(self, seconds: float) -> None:
        """Have the active controller report its time, which is ahead by so many seconds."""
        self._brokers.cluster.skew = seconds
        self._brokers.cluster.revision += 1

    async def advertise(self, broker: int, host: str, port: int) -> None:
        """Show another address of a broker in the metadata, or of a controller with the quorum."""
        cluster = self._brokers.cluster
        (cluster.brokers | cluster.controllers)[broker].advertised = (host, port)
        cluster.revision += 1

    async def rule(self, **rule: Any) -> None:
        self._brokers.rules.insert(0, Rule(**rule))

    async def clear(self) -> None:
        self._brokers.rules.clear()

    async def versions(self, broker: int, versions: dict[str, tuple[int, int]]) -> None:
        """Set which versions of some requests a broker knows."""
        self._brokers.versions[broker] = versions

    async def accounts(self, **accounts: Any) -> None:
        """Ask for a login on every new connection."""
        self._brokers.accounts = Accounts(**accounts)

    async def refuse(self, broker: int) -> None:
        await self._brokers.refuse(broker)

    async def accept(self, broker: int) -> None:
        await self._brokers.listen(broker)

    async def disconnect(self, broker: int) -> None:
        self._brokers.disconnect(broker)

    async def time(self, now: float) -> None:
        """Set the server's clock; from then on it stands still until it is set again."""
        self._brokers.time.set(now)

    async def idle(self) -> float | None:
        """Wait until nothing moves; return the time at which something will."""
        still, before = 0, -1
        while still < ROUNDS:
            await asyncio.sleep(0)
            still = still + 1 if self._brokers.moved == before and not self._brokers.busy else 0
            before = self._brokers.moved
        return self._brokers.time.next()

    async def seen(self) -> list[dict[str, Any]]:
        """Return the requests since the last call of `forget`."""
        return [asdict(each) for each in self._brokers.seen]

    async def forget(self) -> None:
        self._brokers.seen.clear()

    async def reset(self) -> None:
        await self._brokers.stop()
        self._brokers = Brokers()

    async def problems(self) -> list[str]:
        problems, self._brokers.problems = self._brokers.problems, []
        return problems

    async def received(self) -> Mapping[str, int]:
        return dict(self._brokers.received)


async def main() -> None:
    loop, commands = asyncio.get_running_loop(), Commands()
    lines = asyncio.StreamReader(limit=1 << 28)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        command = json.loads(line)
        try:
            answer = {"answer": await getattr(commands, command.pop("do"))(**command)}
        except Exception as problem:  # noqa: BLE001  # the test raises it
            answer = {"problem": repr(problem)}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
