"""Marts, the output of jobs. Files and docs/pipeline-marts.md follow the descriptions, `MARTS` of each module."""

from kafka_warden.pipeline.marts.files import place_of, read, write, write_parts
from kafka_warden.pipeline.marts.mart import Field, Mart

__all__ = ["Field", "Mart", "place_of", "read", "write", "write_parts"]
