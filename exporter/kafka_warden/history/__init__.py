"""What the sidecar saw and judged, kept as tables: Parquet files, a Kafka topic, or both. docs/history.md is for users.

Nothing here imports a library that an extra brings before a sink that needs it is opened.
"""
