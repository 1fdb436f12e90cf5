"""Marts: what jobs write. One description each, which files, reading, and docs/pipeline-marts.md are made from.

Those of a job stand in the module of its name here, as `MARTS`.
"""

from kafka_warden.pipeline.marts.files import place_of, read, write, write_parts
from kafka_warden.pipeline.marts.mart import Field, Mart

__all__ = ["Field", "Mart", "place_of", "read", "write", "write_parts"]
