"""The configuration: a YAML file, `KAFKA_WARDEN_...` variables and flags, read strictly into frozen dataclasses.

A flag has precedence over a variable, a variable over the file, the file over the default. docs/reference is for
users.
"""

from kafka_warden.config.load import config_file, load
from kafka_warden.config.types import FLAGS, OPTIONS, Config, JmxConfig

__all__ = ["FLAGS", "OPTIONS", "Config", "JmxConfig", "config_file", "load"]
