"""Spark's error messages, without stack traces."""


def error_text(failure: Exception) -> str:
    """Return the first two lines of Spark's message, and the last cause that it names."""
    lines = [line.strip() for line in str(failure).splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([*lines[:2], *causes[-1:]])
