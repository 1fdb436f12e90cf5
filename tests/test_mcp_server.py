"""`kafka-warden mcp`, asked by a client of the official SDK over standard input and output, about a served page."""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from kafka_warden import cli, installed
from kafka_warden.views.plain import plain
from kafka_warden.views.specs import TABLES
from tests.support import status_rows
from tests.support.asking import views_of
from tests.support.scripted import ScriptedCluster
from tests.web.conftest import Served, authority, serve

__all__ = ["authority", "serve"]
"""Fixtures of the web server."""

ROOT = Path(__file__).parents[1]
TOOLS = ["problems", "explain_move", "explain_replica", "table", "runbook", "plan"]
PASSWORD = "canary-Tr0ub4dor"
Use = Callable[[Client], Awaitable[Any]]


def asked(use: Use, *arguments: str) -> Any:
    """Start the command as a client does, and return what `use` makes of it."""
    started = StdioServerParameters(command=sys.executable, args=["-m", "kafka_warden.cli", "mcp", *arguments])

    async def run() -> Any:
        async with Client(started, read_timeout_seconds=120) as client:
            return await use(client)

    return asyncio.run(run())


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


@pytest.fixture
def url(serve: Callable[..., Served]) -> str:
    served = serve()
    served.holder.page = status_rows.troubled()
    return f"http://127.0.0.1:{served.port}"


def test_tools_say_that_they_only_read(url: str) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = asked(use, "--url", url)
    assert [tool.name for tool in tools] == TOOLS
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    described = next(tool for tool in tools if tool.name == "table").description
    assert [spec.name for spec in TABLES if spec.name not in described and spec.name != "problems"] == []


def test_answers_are_the_rows_of_the_page(url: str) -> None:
    views = views_of(status_rows.troubled())

    async def use(client: Client) -> None:
        first = await called(client, "problems")
        assert first["fresh"] is True
        assert first["problems"] == plain(views.tables["problems"].rows)
        assert first["cluster"] == plain(views.cluster)

        move = (await called(client, "explain_move", topic="orders", partition=1))["tables"]
        assert move["moves"]["rows"] == [row for row in plain(views.tables["moves"].rows) if row["partition"] == 1]
        assert move["moves"]["rows"][0]["cause"] == "throttle_below_inbound"
        (row,) = move["moves"]["rows"]
        assert {each["broker"] for each in move["throttles"]["rows"]} == {row["broker"], row["leader"]}
        assert {each["broker"] for each in move["brokers"]["rows"]} == {row["broker"], row["leader"]}

        follower = plain(views.tables["replicas"].rows)[0]
        named = {name: follower[name] for name in ("topic", "partition", "broker")}
        assert (await called(client, "explain_replica", **named))["tables"]["replicas"]["rows"] == [follower]
        assert (await called(client, "explain_replica", topic="none"))["tables"]["replicas"]["rows"] == []

        table = (await called(client, "table", name="moves", limit=1))["tables"]["moves"]
        assert table == {"total": len(views.tables["moves"].rows), "rows": plain(views.tables["moves"].rows[:1])}
        table = await called(client, "table", name="brokers", filters={"broker": "3"})
        assert [each["broker"] for each in table["tables"]["brokers"]["rows"]] == [3]

        as_shown = {"never_ends": "false", "cause": "null", "adding": "true"}
        table = (await called(client, "table", name="moves", filters=as_shown))["tables"]["moves"]
        assert table["rows"] == [row for row in plain(views.tables["moves"].rows) if not row["never_ends"]]
        assert table["total"] == 1

    asked(use, "--url", url)


def test_runbooks_are_those_of_the_package(url: str) -> None:
    async def use(client: Client) -> None:
        text = text_of(await client.call_tool("runbook", {"alert": "KafkaReassignmentStuck"}))
        assert text == (ROOT / "alerts" / "runbooks" / "KafkaReassignmentStuck.md").read_text()
        assert "there are KafkaBroker" in await refused(client, "runbook", alert="../../py.typed")

    asked(use, "--url", url)


def test_mistakes_are_named(url: str) -> None:
    async def use(client: Client) -> None:
        assert "there is no table 'groups'; there are problems, moves, " in await refused(
            client, "table", name="groups"
        )
        assert "moves has no field 'group'" in await refused(client, "table", name="moves", filters={"group": "a"})
        assert "start kafka-warden mcp with --config FILE" in await refused(client, "plan", reassignment={})

    asked(use, "--url", url)


def test_without_an_exporter() -> None:
    async def use(client: Client) -> str:
        return await refused(client, "problems")

    assert "nothing listens there: connection refused" in asked(use, "--url", "http://127.0.0.1:1")


def test_a_plan_comes_from_the_command(url: str, tmp_path: Path, brokers: ScriptedCluster) -> None:
    brokers.topic("orders", [[1, 2]], rate=10.0)
    config = tmp_path / "warden.yml"
    config.write_text(f"kafka: {{bootstrap.servers: '{brokers.bootstrap}'}}\n")
    moved = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 3]}]}

    async def use(client: Client) -> Any:
        return await called(client, "plan", reassignment=moved, measure="2s")

    plan = asked(use, "--url", url, "--config", str(config))
    assert "kafka-reassign-partitions.sh" in json.dumps(plan)
    assert "orders" in json.dumps(plan)


def test_what_a_plan_refuses_is_named(url: str, tmp_path: Path) -> None:
    config = tmp_path / "warden.yml"
    config.write_text("kafka: {bootstrap.servers: '127.0.0.1:1'}\n")
    moved = {"version": 1, "partitions": [{"topic": "orders", "partition": 1, "replicas": [1, 2]}]}

    async def use(client: Client) -> None:
        said = await refused(client, "plan", reassignment=moved, deadline="soon")
        assert "deadline" in said
        said = await refused(client, "plan", reassignment={"version": 1})
        assert "partitions" in said
        said = await refused(client, "plan", reassignment=moved, measure="2s")
        assert "no broker answered" in said

    asked(use, "--url", url, "--config", str(config))


def test_bad_flags_and_a_missing_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["mcp", "--url", "ftp://here"]) == 2
    assert "--url" in capsys.readouterr().err
    monkeypatch.setattr(installed, "find_spec", lambda _: None)
    assert cli.main(["mcp"]) == 2
    said = "mcp: needs mcp, which is not installed: in a checkout pip install '.[mcp]'"
    assert said in capsys.readouterr().err


def test_the_page_names_each_tool() -> None:
    text = (ROOT / "docs" / "reference" / "mcp.md").read_text()
    assert len(text.split()) <= 250
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == TOOLS
