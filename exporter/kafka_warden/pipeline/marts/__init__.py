"""Marts, the output of jobs. Tables and docs/pipeline-marts.md follow the descriptions, `MARTS` of each module."""

from kafka_warden.pipeline.marts.mart import Field, Mart, shaped

__all__ = ["Field", "Mart", "shaped"]
