"""`kafka-warden pipeline jars`: what is fetched, and that nothing else gets into the folder. Without a network."""

import hashlib
import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from kafka_warden import cli
from kafka_warden.errors import ConfigError
from kafka_warden.pipeline import jars, session
from kafka_warden.pipeline.jars import Jar, fetch, listed, notices

# As Maven, it takes a relative path from the folder of the pom.
MAVEN = """#!/bin/sh
for given; do case $given in -DoutputDirectory=*) to=${given#*=};; esac; done
echo "$@" >> "$CALLS"
[ -z "$FAILS" ] || { echo '[ERROR] no such artifact'; exit 1; }
pom=$(realpath "$5") && cd "$(dirname "$pom")" && mkdir -p "$to"
grep -o '<artifactId>[a-z]*</artifactId><version>1' "$pom" | sed 's/<[^>]*>/ /g' | while read -r name version; do
    printf %s "$CONTENT" > "$to/$name-$version.jar"
done
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven that makes every jar of the pom, and notes how it was called."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mvn").write_text(MAVEN)
    (tmp_path / "bin" / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("CONTENT", "right")
    return tmp_path / "calls"


def jar(name: str, content: str = "right") -> Jar:
    return Jar("delta", "group", name, "1", hashlib.sha256(content.encode()).hexdigest())


def test_list_is_complete() -> None:
    found = listed()
    assert len({each.file for each in found}) == len(found)
    assert all(len(each.sha256) == 64 for each in found)
    assert {f"{each.artifact}:{each.version}" for each in found if each.of == "delta"} == {
        "delta-spark_2.13:4.0.0",
        "delta-storage:4.0.0",
    }
    assert "spark-sql-kafka-0-10_2.13:4.0.0" in {f"{each.artifact}:{each.version}" for each in found}


def test_only_missing_jars_are_fetched(calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call does not start Maven, and a jar with another content is replaced. The path may be relative."""
    monkeypatch.chdir(tmp_path)
    folder = Path("jars")
    fetch([jar("a"), jar("b")], folder)
    fetch([jar("a"), jar("b")], folder)
    (folder / "b-1.jar").write_text("cut")
    fetch([jar("a"), jar("b")], folder)
    assert len(calls.read_text().splitlines()) == 2
    assert sorted(file.name for file in folder.iterdir()) == ["a-1.jar", "b-1.jar"]
    assert (folder / "b-1.jar").read_text() == "right"


def test_wrong_jar_is_not_kept(calls: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^b-1\.jar: not the file with the SHA-256"):
        fetch([jar("a"), jar("b", "other")], tmp_path / "jars")
    assert list((tmp_path / "jars").iterdir()) == []


def test_failure_of_maven_is_reported(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "listed", lambda: [jar("a")])
    monkeypatch.setenv("FAILS", "1")
    command = ["pipeline", "jars", "--to", str(tmp_path / "jars")]
    assert cli.main(command) == cli.BAD_CONFIGURATION
    assert "[ERROR] no such artifact" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(command) == cli.BAD_CONFIGURATION
    assert "mvn is not on the PATH" in capsys.readouterr().err


def test_compiler_that_does_not_end_is_reported(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (calls.parent / "bin" / "java").write_text("#!/bin/sh\nexec sleep 60\n")
    (calls.parent / "bin" / "java").chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jars, "listed", list)
    monkeypatch.setattr(jars, "TIMEOUT", 0.1)
    (tmp_path / "jars").mkdir()
    assert cli.main(["pipeline", "jars", "--s3", "--to", str(tmp_path / "jars")]) == cli.BAD_CONFIGURATION
    assert "java took more than 0.1 s" in capsys.readouterr().err


def test_notices_are_passed_on(tmp_path: Path) -> None:
    with ZipFile(tmp_path / jar("a").file, "w") as made:
        made.writestr("META-INF/NOTICE", "Made by someone")
        made.writestr("a/license.class", "no notice")
    text = "\n".join(notices([jar("a")], tmp_path))
    assert "a-1.jar: group:a:1, licence Apache-2.0" in text
    assert text.endswith("META-INF/NOTICE:\nMade by someone")


def test_session_gets_all_jars_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jar").touch()
    (tmp_path / "b.jar").touch()
    assert session.jar_list(tmp_path) == f"{tmp_path / 'a.jar'},{tmp_path / 'b.jar'}"
    with pytest.raises(ConfigError, match="kafka-warden pipeline jars --to"):
        session.jar_list(tmp_path / "nowhere")
