"""What Spark says when it gives up, without its stacks."""


def told(failure: Exception) -> str:
    """Take the first lines of Spark's message, and what that says of the cause."""
    lines = [line.strip() for line in str(failure).splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return " ".join([*lines[:2], *causes[-1:]])
