"""Measures what the sidecar costs, on a real cluster, against the targets of the design."""
