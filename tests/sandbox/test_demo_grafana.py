"""Grafana for a run of the demo: what it would load is there, what it is told it knows, and the README says so."""

import json
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

from grafana.boards import BOARDS
from grafana.kit.links import BASE, uid
from sandbox import demo_grafana, wait_for
from sandbox.demo_folder import FOLDER_VARIABLE, Run, default_folder
from sandbox.demo_grafana import SOURCE, Place, in_lines
from sandbox.demo_keep import PROMETHEUS_PORT
from sandbox.demo_look import GRAFANA_PORT, grafana_files, make_parser
from sandbox.monitoring import ALERTS
from tests.sandbox.demo_looking import LAST_LINE, ROOT, Looking, get
from tests.support.processes import run

README: Final = (ROOT / "README.md").read_text()
KNOWN: Final = {
    "paths": {"data", "logs", "plugins", "provisioning"},
    "server": {"domain", "http_addr", "http_port"},
    "auth.anonymous": {"enabled", "org_role"},
    "analytics": {"reporting_enabled", "check_for_updates", "check_for_plugin_updates"},
    "plugins": {"preinstall_disabled"},
}
"""Section to keys, out of Grafana's conf/defaults.ini: the part of it that is used."""
PLACE: Final = Place(Path("/left/demo/grafana"), Path("/scratch/it's here"), GRAFANA_PORT)

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


def provisioned(looking: Looking) -> Path:
    """The provisioning folder that it printed."""
    found = re.search(r"GF_PATHS_PROVISIONING=(\S+)", looking.printed)
    assert found
    return Path(found[1])


def stand_in(directory: Path, program: str) -> Path:
    """The home directory of a program in Grafana's place."""
    for name, text in (("bin/grafana", program), ("conf/defaults.ini", "")):
        file = directory / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    return directory


def test_dashboards_open_at_the_time_of_the_run(looking: Looking, kept: tuple[Path, Run]) -> None:
    """Each dashboard has a link over the whole run, and the moves one that ends just after the alert."""
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


def test_the_data_source_is_what_is_served(looking: Looking, kept: tuple[Path, Run]) -> None:
    """The data source is at the printed address, and the dashboards' choices of source and cluster find it."""
    files = provisioned(looking).parent
    (source,) = yaml.safe_load((files / "provisioning/datasources/kafka-warden.yaml").read_text())["datasources"]
    assert source["url"] == looking.prometheus
    assert not source["isDefault"]
    assert source["jsonData"] == {"httpMethod": "POST", "timeInterval": "2s"}
    (provider,) = yaml.safe_load((files / "provisioning/dashboards/kafka-warden.yaml").read_text())["providers"]
    pages = [json.loads(file.read_text()) for file in Path(provider["options"]["path"]).glob("*.json")]
    assert {page["uid"] for page in pages} == {uid(board.name) for board in BOARDS}
    run = kept[1]
    for page in pages:
        variables = {variable["name"]: variable for variable in page["templating"]["list"]}
        assert variables["datasource"]["query"] == source["type"]
        assert variables["datasource"]["current"]["value"] == source["uid"]
        query = re.fullmatch(r"label_values\((\w+), (\w+)\)", variables["cluster"]["query"])
        assert query
        metric, label = query.groups()
        series = looking.ask("series", **{"match[]": metric, "start": run.began, "end": run.ended})
        assert {labels[label] for labels in series} == {"demo"}
        asked = {query["datasource"]["uid"] for panel in page["panels"] for query in panel.get("targets", ())}
        assert asked <= {"${datasource}"}
        assert page["refresh"] == ""
        assert {mark["step"] for mark in page["annotations"]["list"]} == {"4s"}
        assert page["time"]["from"] < page["time"]["to"]


def test_dashboards_are_else_those_of_the_repository(kept: tuple[Path, Run]) -> None:
    """Only time, refresh, the chosen data source, the marks' step and the address of the runbooks differ."""
    for file in (ROOT / "grafana" / "dashboards").glob("*.json"):
        ours, theirs = (json.loads(each.read_text()) for each in (kept[0] / "grafana" / "dashboards" / file.name, file))
        for page in (ours, theirs):
            for name in ("time", "refresh"):
                del page[name]
            for mark in page["annotations"]["list"]:
                del mark["step"]
            for variable in page["templating"]["list"]:
                if variable["name"] in {"datasource", BASE}:
                    variable |= {"current": None, "query": None}
        assert ours == theirs


def test_runbooks_are_served(looking: Looking) -> None:
    """The dashboards' links to runbooks lead to the pages of the repository, beside the data."""
    page = json.loads((provisioned(looking).parent / "dashboards" / "kafka-warden-moves.json").read_text())
    (base,) = [variable["query"] for variable in page["templating"]["list"] if variable["name"] == BASE]
    assert base.startswith(looking.prometheus + "/")
    for runbook in (ALERTS / "runbooks").glob("KafkaReassignment*.md"):
        assert get(f"{base}alerts/runbooks/{runbook.name}") == runbook.read_bytes()


def test_grafana_knows_its_settings() -> None:
    """Every variable is GF_SECTION_KEY of a setting that Grafana has, all of them absolute where they are paths."""
    names = {f"GF_{section}_{key}".upper().replace(".", "_") for section, keys in KNOWN.items() for key in keys}
    assert PLACE.local_settings.keys() == names
    assert PLACE.settings.keys() < names
    for name, value in PLACE.local_settings.items():
        assert not name.startswith("GF_PATHS_") or Path(value).is_absolute()


def test_commands_can_be_typed() -> None:
    """The printed commands are the words that would be run, whatever is in a path, with a setting on each line."""
    for command in (PLACE.local_command(Path("/usr/share/grafana")), PLACE.container_command()):
        done = run("bash", given=f"printf '%s\\n' {in_lines(command)}")
        assert done.stdout.splitlines() == list(command), done.stderr
        assert max(len(re.findall("GF_", line)) for line in in_lines(command).splitlines()) == 1


def test_the_container_sees_the_files_and_prometheus() -> None:
    """A container has the files at the same path, the machine's own network, and the image of compose.yaml."""
    command = list(PLACE.container_command())
    mount = command[command.index("--volume") + 1]
    assert mount.split(":") == ["/left/demo/grafana", "/left/demo/grafana", "ro"]
    assert PLACE.settings["GF_PATHS_PROVISIONING"].startswith("/left/demo/grafana/")
    assert "--network=host" in command
    assert command[-1] == yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["grafana"]["image"]
    given = dict(word.split("=", 1) for word in command if word.startswith("GF_"))
    assert given == PLACE.settings


def test_a_path_with_a_dollar_is_no_variable(kept: tuple[Path, Run], tmp_path: Path) -> None:
    """Grafana replaces $NAME in provisioning files; a path that has one is escaped as Grafana wants it."""
    demo_grafana.write(tmp_path, Path("/a$b"), "http://127.0.0.1:1", kept[1])
    (provider,) = yaml.safe_load((tmp_path / "provisioning/dashboards/kafka-warden.yaml").read_text())["providers"]
    assert provider["options"]["path"] == "/a$$b/dashboards"


def test_grafana_of_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home directory is that of the program on the PATH, also behind a link, else that of the package."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(demo_grafana, "PACKAGED", tmp_path / "packaged")
    assert demo_grafana.home() is None
    packaged = stand_in(tmp_path / "packaged", STAND_IN)
    assert demo_grafana.home() == packaged
    unpacked = stand_in(tmp_path / "grafana-12", STAND_IN)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "grafana").symlink_to(unpacked / "bin" / "grafana")
    assert demo_grafana.home() == unpacked


def test_grafana_is_started_and_ended(kept: tuple[Path, Run], tmp_path: Path) -> None:
    """A Grafana on the PATH is started with the settings of the run, and is gone afterwards with its files."""
    home = stand_in(tmp_path / "grafana", STAND_IN)
    free = ("--port", "0", "--grafana-port", "0")
    with Looking(kept[0], tmp_path / "scratch", *free, path=str(home / "bin")) as looking:
        looking.until(LAST_LINE)
        arguments, given = json.loads((home / "bin" / "started.json").read_text())
        assert arguments == ["server", f"--homepath={home}"]
        assert (
            f"http://{given['GF_SERVER_HTTP_ADDR']}:{given['GF_SERVER_HTTP_PORT']}/d/kafka-warden-moves?"
            in looking.printed
        )
        (provisioning, *_) = Path(given["GF_PATHS_PROVISIONING"]).glob("datasources/*")
        assert looking.prometheus in provisioning.read_text()
        assert given["GF_PATHS_DATA"].startswith(str(looking.scratch))
        assert "docker" not in looking.printed
        assert len(looking.processes()) == 5
        assert looking.end() == 0
    wait_for(lambda: not looking.processes(), 20, "no process is left")
    assert list(looking.scratch.iterdir()) == []


def test_a_grafana_that_fails_leaves_prometheus(kept: tuple[Path, Run], tmp_path: Path) -> None:
    """When Grafana does not start its last words are printed, with the commands, and Prometheus is served."""
    home = stand_in(tmp_path / "grafana", "#!/bin/sh\necho no database >&2\nexit 1\n")
    free = ("--port", "0", "--grafana-port", "0")
    with Looking(kept[0], tmp_path / "scratch", *free, path=str(home / "bin")) as looking:
        looking.until(LAST_LINE)
        assert f"{home} did not start" in looking.printed
        assert "no database" in looking.printed
        assert "docker run" in looking.printed
        assert looking.ask("status/runtimeinfo")
        assert looking.end() == 0


def test_the_folders_own_files_are_for_the_usual_port(kept: tuple[Path, Run], tmp_path: Path) -> None:
    """On the usual port Grafana gets the folder's own files, which name it; for another they are made elsewhere."""
    folder = kept[0]
    assert grafana_files(folder, tmp_path, PROMETHEUS_PORT) == folder / "grafana"
    assert grafana_files(folder, tmp_path, 0) == grafana_files(folder, tmp_path, 9090) == tmp_path / "grafana"
    (file,) = (folder / "grafana" / "provisioning" / "datasources").iterdir()
    (source,) = yaml.safe_load(file.read_text())["datasources"]
    assert source["url"] == f"http://127.0.0.1:{PROMETHEUS_PORT}"
    (file,) = (folder / "grafana" / "provisioning" / "dashboards").iterdir()
    (provider,) = yaml.safe_load(file.read_text())["providers"]
    assert provider["options"]["path"] == str(folder / "grafana" / "dashboards")


def test_readme_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folder, variable, ports and flags that the README names for it are those of the code."""
    section = README.partition("## See it work")[2].partition("\n## ")[0]
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert f"`{default_folder().relative_to(ROOT)}/`" in section
    assert f"`{FOLDER_VARIABLE}`" in section
    assert set(re.findall(r"http://127\.0\.0\.1:(\d+)", section)) == {str(PROMETHEUS_PORT), str(GRAFANA_PORT)}
    defaults = make_parser().parse_args([])
    assert (defaults.port, defaults.grafana_port) == (PROMETHEUS_PORT, GRAFANA_PORT)
    (arguments,) = re.findall(r"`ARGS='([^']+)'`", section)
    given = make_parser().parse_args(arguments.split())
    assert (given.port, given.grafana_port) == (0, 0)
    assert "make demo-look" in section
    assert "python -m sandbox.demo_look $(ARGS)" in (ROOT / "Makefile").read_text()


def test_readme_names_folders_that_are_left(kept: tuple[Path, Run]) -> None:
    """Every folder of a run that the README names is in one."""
    named = re.findall(r"`demo/([\w/]+)`", README)
    assert named
    assert [name for name in named if not (kept[0] / name).is_dir()] == []
