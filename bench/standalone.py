"""Spark's own cluster manager on loopback, for as long as it is needed."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark


@contextmanager
def standalone(scratch: Path) -> Iterator[tuple[str, Sequence[int]]]:
    """Start a master and two workers with a core each, on loopback; give its address and the workers' process ids."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    surroundings = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(scratch / "work")}
    package = "org.apache.spark.deploy"
    with ExitStack() as stack:

        def start(*arguments: str) -> subprocess.Popen[str]:
            log = stack.enter_context((scratch / f"{arguments[0]}.log").open("a+"))
            process = subprocess.Popen([program, *arguments], env=surroundings, stdout=log, stderr=log, text=True)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        master = f"{package}.master.Master"
        start(master, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = scratch / f"{master}.log"
        deadline = time.monotonic() + 120
        while "Starting Spark master at " not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        address = log.read_text().partition("Starting Spark master at ")[2].split()[0]
        worker = [f"{package}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1500m"]
        workers = [start(*worker, "--webui-port", "0", address).pid for _ in range(2)]
        yield address, workers
