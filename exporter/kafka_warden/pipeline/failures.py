"""What Spark's failures are, and their messages without stack traces."""

from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

SPARK_FAILURES: Final = (PySparkException, Py4JError)
"""PySpark has classes, and conditions, for some exceptions of the JVM only. The others are errors of Py4J."""


def error_text(failure: Exception) -> str:
    """Return the first two lines of Spark's message, and the last cause that it names."""
    lines = [line.strip() for line in str(failure).splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([*lines[:2], *causes[-1:]])
