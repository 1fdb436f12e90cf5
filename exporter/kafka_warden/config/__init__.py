"""The configuration: a YAML file, `KAFKA_WARDEN_...` variables and flags, read strictly into frozen dataclasses.

A flag wins over a variable, a variable over the file, the file over the default. docs/configuration.md is for users.
"""

from kafka_warden.config.load import load
from kafka_warden.config.options import FLAGS, OPTIONS
from kafka_warden.config.types import (
    Config,
    ControllersConfig,
    HistoryConfig,
    JmxConfig,
    JmxController,
    KafkaConfig,
    LimitsConfig,
    LogConfig,
    MovesConfig,
    ParquetConfig,
    PollConfig,
    TopicsConfig,
    WebConfig,
)

__all__ = [
    "FLAGS",
    "OPTIONS",
    "Config",
    "ControllersConfig",
    "HistoryConfig",
    "JmxConfig",
    "JmxController",
    "KafkaConfig",
    "LimitsConfig",
    "LogConfig",
    "MovesConfig",
    "ParquetConfig",
    "PollConfig",
    "TopicsConfig",
    "WebConfig",
    "load",
]
