"""Grafana for a run of the demo: its files, the commands that start it, and the README."""

import json
import re
from pathlib import Path
from typing import Final

import yaml

from grafana.boards import BOARDS
from grafana.kit.links import BASE, uid
from sandbox.demo_folder import Run
from sandbox.demo_grafana import SOURCE, Place, in_lines
from sandbox.demo_look import GRAFANA_PORT
from sandbox.monitoring import ALERTS
from tests.sandbox.demo_looking import LAST_LINE, ROOT, Looking, get
from tests.support.processes import processes_with, run

PLACE: Final = Place(Path("/left/demo/grafana"), Path("/scratch/it's here"), GRAFANA_PORT)
FREE: Final = ("--port", "0", "--grafana-port", "0")

# Listens and answers as Grafana's health check does; a file of it beside it says how it was started.
STAND_IN: Final = """#!/usr/bin/env python3
import http.server, json, os, pathlib, sys
given = {name: value for name, value in os.environ.items() if name.startswith("GF_")}
pathlib.Path(sys.argv[0]).with_name("started.json").write_text(json.dumps([sys.argv[1:], given]))
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()
address = (given["GF_SERVER_HTTP_ADDR"], int(given["GF_SERVER_HTTP_PORT"]))
http.server.HTTPServer(address, Health).serve_forever()
"""


def stand_in(directory: Path, program: str) -> Path:
    """Write the home directory of a program in Grafana's place."""
    for name, text in (("bin/grafana", program), ("conf/defaults.ini", "")):
        file = directory / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    return directory


def test_dashboards_open_at_the_time_of_the_run(looking: Looking, kept: tuple[Path, Run]) -> None:
    run = kept[1]
    found = looking.links("/d/")
    whole = {path.removeprefix("/d/") for path, query in found if float(query["to"]) == run.ended * 1000}
    assert whole == {uid(board.name) for board in BOARDS}
    (until,) = [(path, query) for path, query in found if float(query["to"]) < run.ended * 1000]
    assert until[0] == f"/d/{uid('moves')}"
    assert run.alerted is not None
    assert run.alerted * 1000 < float(until[1]["to"])
    for _, query in found:
        assert float(query["from"]) == run.began * 1000
        assert (query["var-datasource"], query["var-cluster"]) == (SOURCE, "demo")


def test_files_are_those_of_the_repository_for_this_run(looking: Looking) -> None:
    """The data source is at the printed address; dashboards differ in time, refresh, marks and addresses only."""
    found = re.search(r"GF_PATHS_PROVISIONING=(\S+)", looking.printed)
    assert found
    provisioning = Path(found[1])
    (source,) = yaml.safe_load((provisioning / "datasources/kafka-warden.yaml").read_text())["datasources"]
    assert (source["uid"], source["url"], source["isDefault"]) == (SOURCE, looking.prometheus, False)
    assert source["jsonData"] == {"httpMethod": "POST", "timeInterval": "2s"}
    (provider,) = yaml.safe_load((provisioning / "dashboards/kafka-warden.yaml").read_text())["providers"]
    folder = Path(provider["options"]["path"])
    assert {json.loads(file.read_text())["uid"] for file in folder.glob("*.json")} == {uid(b.name) for b in BOARDS}
    for file in folder.glob("*.json"):
        ours, theirs = (json.loads((at / file.name).read_text()) for at in (folder, ROOT / "grafana" / "dashboards"))
        assert ours["time"]["from"] < ours["time"]["to"]
        assert ours["refresh"] == ""
        assert {mark["step"] for mark in ours["annotations"]["list"]} <= {"4s"}
        chosen = {variable["name"]: variable for variable in ours["templating"]["list"]}
        assert chosen["datasource"]["current"]["value"] == SOURCE
        runbook = next((ALERTS / "runbooks").glob("KafkaReassignment*.md"))
        assert get(f"{chosen[BASE]['query']}alerts/runbooks/{runbook.name}") == runbook.read_bytes()
        for page in (ours, theirs):
            page["time"] = page["refresh"] = None
            for mark in page["annotations"]["list"]:
                del mark["step"]
            for variable in page["templating"]["list"]:
                if variable["name"] in {"datasource", BASE}:
                    variable |= {"current": None, "query": None}
        assert ours == theirs


def test_commands_can_be_typed() -> None:
    """A shell reads the printed commands as the words that would run; the container has the files and the settings."""
    container = PLACE.container_command()
    for command in (PLACE.local_command(Path("/usr/share/grafana")), container):
        done = run("bash", given=f"printf '%s\\n' {in_lines(command)}")
        assert done.stdout.splitlines() == list(command), done.stderr
        assert max(len(re.findall("GF_", line)) for line in in_lines(command).splitlines()) == 1
    assert "/left/demo/grafana:/left/demo/grafana:ro" in container
    assert dict(word.split("=", 1) for word in container if word.startswith("GF_")) == PLACE.settings
    assert container[-1] == yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["grafana"]["image"]


def test_grafana_is_started_and_ended(kept: tuple[Path, Run], tmp_path: Path) -> None:
    home = stand_in(tmp_path / "grafana", STAND_IN)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "grafana").symlink_to(home / "bin" / "grafana")
    with Looking(kept[0], tmp_path / "scratch", *FREE, path=str(tmp_path / "bin")) as looking:
        looking.until(LAST_LINE)
        arguments, given = json.loads((home / "bin" / "started.json").read_text())
        assert arguments == ["server", f"--homepath={home}"]
        address = f"http://{given['GF_SERVER_HTTP_ADDR']}:{given['GF_SERVER_HTTP_PORT']}"
        assert f"{address}/d/kafka-warden-moves?" in looking.printed
        (provisioning, *_) = Path(given["GF_PATHS_PROVISIONING"]).glob("datasources/*")
        assert looking.prometheus in provisioning.read_text()
        assert given["GF_PATHS_DATA"].startswith(str(looking.scratch))
        assert "docker" not in looking.printed
        assert len(processes_with(looking.mark)) == 5
        looking.require_end()


def test_a_grafana_that_fails_leaves_prometheus(kept: tuple[Path, Run], tmp_path: Path) -> None:
    home = stand_in(tmp_path / "grafana", "#!/bin/sh\necho no database >&2\nexit 1\n")
    with Looking(kept[0], tmp_path / "scratch", *FREE, path=str(home / "bin")) as looking:
        looking.until(LAST_LINE)
        assert f"{home} did not start" in looking.printed
        assert "no database" in looking.printed
        assert "docker run" in looking.printed
        assert looking.ask("status/runtimeinfo")
        assert looking.end() == 0
