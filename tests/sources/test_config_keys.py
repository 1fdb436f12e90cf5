"""Every key that is read of a configuration is asked for: DescribeConfigs returns no other."""

from dataclasses import fields, replace
from types import SimpleNamespace

from kafka_warden.model import BrokerConfig, TopicConfig
from kafka_warden.sources.configs import BROKER_KEYS, COPY_LAG_KEYS, TOPIC_KEYS, parse_broker_config, parse_topic_config

OTHER = {"cleanup.policy": "compact"}


def entries(keys: tuple[str, ...]) -> dict[str, SimpleNamespace]:
    """The answer of a broker for these keys: no value is Kafka's default."""
    values = {key: OTHER.get(key, "true" if key.endswith(("enable", "disable")) else "77") for key in keys}
    return {key: SimpleNamespace(value=value, config_source=2, synonyms=()) for key, value in values.items()}


def test_every_field_of_a_broker_is_asked_for() -> None:
    parsed = replace(parse_broker_config(entries(BROKER_KEYS)), kafka_version="4.1")
    assert [
        part.name for part in fields(parsed) if getattr(parsed, part.name) == getattr(BrokerConfig(), part.name)
    ] == []


def test_every_field_of_a_topic_is_asked_for() -> None:
    parsed = parse_topic_config(entries(TOPIC_KEYS + COPY_LAG_KEYS))
    assert [
        part.name for part in fields(parsed) if getattr(parsed, part.name) == getattr(TopicConfig(), part.name)
    ] == []
