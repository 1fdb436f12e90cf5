"""Jars of Kafka, from Maven into the cache."""

import re
from pathlib import Path

import pytest

from sandbox import SandboxError, jars
from sandbox.settings import ClusterSettings

VERSION = ClusterSettings().version


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(jars.CACHE_VARIABLE, str(tmp_path))
    return tmp_path


def test_maven_resolves_a_complete_directory_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = jars.jars(VERSION)
    assert (first / f"kafka_2.13-{VERSION}.jar").exists()
    assert (first / f"kafka-storage-{VERSION}-test.jar").exists()
    assert not [jar for jar in first.iterdir() if "reload4j-" in jar.name and jar.name.startswith("slf4j")]
    monkeypatch.setenv("PATH", "")

    assert first == jars.jars(VERSION)
    assert {f"kafka-{VERSION}", f"kafka-{VERSION}.lock"} == {path.name for path in cache.iterdir()}


@pytest.mark.full_versions
def test_tiered_storage_of_a_release_without_its_test_jar(cache: Path) -> None:
    names = {jar.name for jar in jars.jars("4.4.0").iterdir()}
    assert {"kafka-storage-4.3.1-test.jar", "kafka-storage-4.4.0.jar", "LogContext.jar"} <= names
    assert {name for name in names if "4.3.1" in name} == {"kafka-storage-4.3.1-test.jar"}


def test_what_is_missing_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match="is not a version"):
        jars.jars("4.1")
    with pytest.raises(SandboxError, match=r"could not resolve Kafka 0\.0\.1"):
        jars.jars("0.0.1")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SandboxError, match="install Maven"):
        jars.jars(VERSION)
    assert [path for path in cache.iterdir() if path.is_dir()] == []


def test_tools_have_their_jars(cache: Path) -> None:
    names = {re.sub(r"-[\d.]+\.jar$", "", jar.name) for jar in jars.tools(VERSION).iterdir()}
    assert {"kafka_2.13", "kafka-tools", "slf4j-simple"} <= names
    assert "slf4j-reload4j" not in names
