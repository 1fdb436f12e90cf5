"""A simulated fleet: seeded histories of clusters with growth, moves, bursts and faults, and the truth about them.

For tests, benchmarks and demonstrations of the pipeline. Nothing of the sidecar imports it.
"""
