"""The configurations of docs/how-to, read by the loader of the sidecar."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from kafka_warden.config import load
from kafka_warden.errors import ConfigError
from sandbox.certificates import Authority

ROOT = Path(__file__).parents[2]
CONFIGURATIONS = [
    (page.stem, text)
    for page in (ROOT / "docs" / "how-to").glob("*.md")
    for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if re.match(r"(kafka|jmx):", text)
]


@pytest.mark.parametrize(("page", "text"), CONFIGURATIONS, ids=[page for page, _ in CONFIGURATIONS])
def test_configurations(page: str, text: str, tmp_path: Path) -> None:
    document = yaml.safe_load(text)
    pair = Authority(tmp_path, "authority").issue("client")
    store = tmp_path / "store"
    store.write_text(Path(pair.certificate).read_text() + Path(pair.key).read_text())
    files = {"ssl.certificate.location": pair.certificate, "ssl.key.location": pair.key, "ssl.keystore.location": store}
    kafka = document.setdefault("kafka", {"bootstrap.servers": "broker:9092"})
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret").chmod(0o600)
    for name in kafka:
        if name.endswith((".file", ".keytab")):
            kafka[name] = str(tmp_path / "secret")
        elif name.endswith(".location"):
            kafka[name] = str(files.get(name, tmp_path / "authority.pem"))
    jmx = document.get("jmx", {})
    for section, name in ((jmx, "password_file"), (jmx.get("tls", {}), "ca_file")):
        if name in section:
            section[name] = str(tmp_path / ("secret" if name == "password_file" else "authority.pem"))
    file = tmp_path / "warden.yml"
    file.write_text(yaml.safe_dump(document))
    if kafka.get("sasl.mechanism") == "GSSAPI" and find_spec("gssapi") is None:
        with pytest.raises(ConfigError, match="GSSAPI needs gssapi"):
            load({}, {}, file)
        return
    config = load({}, {}, file)
    assert config.kafka.settings.ignored == ()
    assert config.jmx.enabled == ("jmx" in document), page
