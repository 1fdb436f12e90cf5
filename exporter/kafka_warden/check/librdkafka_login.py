"""The login of librdkafka, which sends the history: a second opinion on the same properties."""

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient


def connects(properties: Mapping[str, str], within: float) -> str | None:
    """Connect with librdkafka's properties and ask for the metadata; return why that failed."""
    errors: list[str] = []
    silent = logging.getLogger("kafka_warden.check.librdkafka")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    settings: dict[str, Any] = {**properties, "error_cb": lambda error: errors.append(str(error))}
    try:
        AdminClient(settings, logger=silent).list_topics(timeout=within)
    except KafkaException as failure:
        return errors[0] if errors else str(failure)
    return None
