"""The provisioning files load, and what they point to is there."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
PROVISIONING: Final = ROOT / "grafana" / "provisioning"
PAGE: Final = (ROOT / "docs" / "how-to" / "dashboards.md").read_text()


def loaded(kind: str) -> dict[str, Any]:
    (file,) = (PROVISIONING / kind).iterdir()
    decoded: dict[str, Any] = yaml.safe_load(file.read_text())
    assert decoded.pop("apiVersion") == 1
    return decoded


def mounts() -> dict[str, str]:
    """Path that Grafana reads to the folder of this repository that belongs there, as the page says."""
    return {there: here for here, there in re.findall(r"^\| `([\w/]+)` \| `(/[\w./-]+)` \|", PAGE, re.MULTILINE)}


def test_grafana_loads_the_dashboards() -> None:
    (provider,) = loaded("dashboards")["providers"]
    folder = ROOT / mounts()[provider["options"]["path"]]
    assert provider["type"] == "file"
    assert folder == ROOT / "grafana" / "dashboards"
    assert list(folder.glob("*.json"))


def test_every_folder_to_mount_exists() -> None:
    assert len(mounts()) == 3
    assert [here for here in mounts().values() if not (ROOT / here).is_dir()] == []


def test_data_sources() -> None:
    prometheus, alertmanager = loaded("datasources")["datasources"]
    assert (prometheus["type"], alertmanager["type"]) == ("prometheus", "alertmanager")
    assert prometheus["jsonData"]["alertmanagerUid"] == alertmanager["uid"]
    assert not prometheus["isDefault"]
    for source in (prometheus, alertmanager):
        assert source["access"] == "proxy"
        assert re.fullmatch(r"http://[a-z]+:\d+", source["url"])
