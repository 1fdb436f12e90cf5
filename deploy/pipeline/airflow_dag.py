"""The jobs of the pipeline as a DAG of Airflow 3. Replace STORE, the landing zone and the folder of jars.

The worker needs `pip install kafka-warden[spark]` with `kafka-warden` on the PATH, Java 17, the jars of
`kafka-warden pipeline jars --s3`, and in its environment AWS_REGION and credentials.
"""

from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

STORE = "s3a://bucket/store"
COMMAND = "kafka-warden pipeline {jobs} --store " + STORE + " --jars /opt/kafka-warden/jars --memory 4g"

with DAG(
    "kafka_warden_pipeline",
    schedule="0 3 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    # A run takes all that is new, so missed nights need no runs of their own.
    catchup=False,
    # Two runs damage nothing, but one of them ends with an error.
    max_active_runs=1,
    # Each task has a Spark with 4 GB that uses all cores.
    max_active_tasks=1,
    # Each attempt continues where the last one ended.
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
) as dag:
    ingest = BashOperator(
        task_id="ingest", bash_command=COMMAND.format(jobs="ingest,rollup") + " --input s3a://bucket/landing"
    )
    # They need not wait for each other: each has its own tables.
    others = [
        BashOperator(task_id=name, bash_command=COMMAND.format(jobs=name)) for name in ("moves", "backtest", "forecast")
    ]
    report = BashOperator(task_id="report", bash_command=COMMAND.format(jobs="report"))
    ingest >> others >> report
