"""Snapshots and derived values as tables, in Parquet files, a Kafka topic, or both. docs/history.md is for users.

Libraries of extras are imported only by the sinks that need them.
"""
