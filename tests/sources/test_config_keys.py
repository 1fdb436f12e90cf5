"""Every key that is read of a configuration is asked for: DescribeConfigs returns no other."""

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from kafka_warden.model import BrokerConfig, Limit, Origin, Side, TopicConfig
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


BROKER, DEFAULT, STATIC = 2, 3, 4


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([("5", STATIC)], Limit()),
        ([("5", DEFAULT), ("9", STATIC)], Limit(5.0, Origin.CLUSTER_DEFAULT)),
        ([("7", BROKER), ("5", DEFAULT)], Limit(7.0, Origin.BROKER)),
        ([("0", BROKER), ("5", DEFAULT)], Limit(0.0, Origin.BROKER)),
    ],
)
def test_layers_of_a_limit(layers: list[tuple[str, int]], expected: Limit) -> None:
    """A static line is ignored as brokers do, a cluster default counts, a broker's own wins."""
    found = [SimpleNamespace(value=value, source=source, config_source=source) for value, source in layers]
    entry = SimpleNamespace(value=found[0].value, config_source=found[0].source, synonyms=found)
    assert parse_broker_config({"leader.replication.throttled.rate": entry}).limits[Side.LEADER] == expected
