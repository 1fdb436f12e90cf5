"""The alert and recording rules for Prometheus: templates, the numbers in them, and what makes rule files of both."""
