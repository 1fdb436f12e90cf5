"""The examples of the pipeline for Kubernetes and Airflow: valid, with flags that the command has."""

import runpy
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import kubernetes_validate
import pytest
import yaml

from kafka_warden.pipeline.cli import JOBS, parser
from scripts.images import IMAGES
from tests.deploy.dockerfile import ROOT

EXAMPLES = ROOT / "deploy" / "pipeline"


def jobs_of(arguments: Sequence[str]) -> list[str]:
    command, *others = arguments
    assert command == "pipeline"
    jobs: str = parser(others).parse_args(others).job
    assert set(jobs.split(",")) <= set(JOBS)
    return jobs.split(",")


@pytest.mark.parametrize("version", ["1.27", "1.34"])
def test_cron_job_is_valid(version: str) -> None:
    account, made = yaml.safe_load_all((EXAMPLES / "cronjob.yaml").read_text())
    for each in (account, made):
        kubernetes_validate.validate(each, version, strict=True)
    pod = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["metadata"]["name"]
    (container,) = pod["containers"]
    assert container["image"] == IMAGES["pipeline"]
    assert jobs_of(container["args"])[0] == "ingest"


class Operator:
    """In place of Airflow's operators and DAG: keeps what it was given, and the order of tasks."""

    def __init__(self, name: str = "", **given: Any) -> None:
        self.given = {"name": name, **given}
        self.before: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __rshift__(self, others: list[Self]) -> list[Self]:
        for each in others:
            each.before.append(self)
        return others

    def __rrshift__(self, others: list[Self]) -> Self:
        self.before += others
        return self


def test_dag_runs_the_jobs_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, symbol in (("sdk", "DAG"), ("providers.standard.operators.bash", "BashOperator")):
        module = ModuleType(name)
        setattr(module, symbol, Operator)
        monkeypatch.setitem(sys.modules, f"airflow.{name}", module)
    made = runpy.run_path(str(EXAMPLES / "airflow_dag.py"))
    tasks = [made["ingest"], *made["others"], made["report"]]
    lines = [shlex.split(task.given["bash_command"]) for task in tasks]
    assert {line[0] for line in lines} == {"kafka-warden"}
    done: list[str] = [job for line in lines for job in jobs_of(line[1:])]
    assert done == [job for job in JOBS if job in done]
    assert [task.given["task_id"] for task in made["report"].before] == ["moves", "backtest", "forecast"]
    assert made["dag"].given["max_active_runs"] == 1


def test_examples_are_named_where_users_look() -> None:
    page = (ROOT / "docs" / "pipeline.md").read_text()
    assert all(f"deploy/pipeline/{Path(file).name}" in page for file in EXAMPLES.iterdir() if file.is_file())
