"""The jobs, one module each with a `JOB`; the command loads the one that it runs."""
