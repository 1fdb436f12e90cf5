"""Programs that a test runs to their end."""

import subprocess


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it printed."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, check=False)
