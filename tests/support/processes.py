"""Programs that a test runs to their end."""

import subprocess


def run(*command: object, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program, with `given` on its standard input, and keep what it printed."""
    return subprocess.run(
        [str(part) for part in command], input=given, capture_output=True, text=True, timeout=120, check=False
    )
