"""The machine of the measurements."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from bench.procfs import load_average
from sandbox import ClusterSettings

LIBRARIES = ("kafka-python", "numpy", "uvicorn", "JPype1")


def describe(settings: ClusterSettings) -> dict[str, str]:
    """Name the machine, the programs, and how busy the machine was when the run began."""
    return {
        "processor": f"{os.cpu_count()} x {_first('/proc/cpuinfo', 'model name')}",
        "memory": f"{int(_first('/proc/meminfo', 'MemTotal').split()[0]) / (1 << 20):.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "Java": _java(),
        "Kafka": f"{settings.version}, {settings.brokers} brokers with {settings.broker_heap} MiB of heap each,"
        f" {settings.controllers} controller, all on this machine",
        "load average before": f"{load_average():.2f}",
    }


def _first(path: str, key: str) -> str:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "unknown")


def _java() -> str:
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    return (done.stderr or done.stdout).splitlines()[0]
