"""Measures the cost of the sidecar on a real cluster, and compares it with the targets of the design."""
