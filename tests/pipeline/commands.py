"""What tests that start the command as a process share."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TIME_LIMIT = 600.0
"""Seconds until a process has come to some step, on a machine that does much else."""
# Plans of tests run once: compiling them takes longer than running them would.
PLAIN = ("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN", "--conf", "spark.sql.codegen.wholeStage=false")
SMALL = (*PLAIN, "--master", "local[1]", "--memory", "1g", "--conf", "spark.sql.shuffle.partitions=1")
"""Flags of a process that a test kills: one core, and one task for each step."""
