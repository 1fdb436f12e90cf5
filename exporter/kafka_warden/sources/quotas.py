"""Client quotas as configured: DescribeClientQuotas, which a broker answers from its own copy of the metadata."""

from typing import Any

from kafka_warden.clients.kafka.faults import error_code_fault
from kafka_warden.clients.kafka.link import BrokerLink
from kafka_warden.clients.kafka.requests import DescribeClientQuotasRequest
from kafka_warden.model import DEFAULT, QuotaEntity


async def read_quotas(link: BrokerLink, timeout_at: float) -> tuple[QuotaEntity, ...]:
    """Ask one broker for every configured client quota.

    Raises:
        SourceError: it did not answer, or may not.
    """
    reply = await link.ask(DescribeClientQuotasRequest(components=[], strict=False), timeout_at)
    if fault := error_code_fault(reply.error_code, reply.error_message, link.address):
        raise fault
    return parse_quotas(reply)


def parse_quotas(reply: Any) -> tuple[QuotaEntity, ...]:
    """Turn a DescribeClientQuotasResponse into entities by name; those of other types (`ip`) are left out.

    Values that no quota has, negative ones and NaN, are left out, too.
    """
    entities = []
    for entry in reply.entries or ():
        # The wire has a null name for a default entity.
        names = {part.entity_type: DEFAULT if part.entity_name is None else part.entity_name for part in entry.entity}
        if names.keys() <= {"user", "client-id"}:
            values = {value.key: value.value for value in entry.values if value.value >= 0}
            entities.append(QuotaEntity(names.get("user"), names.get("client-id"), values))
    # Brokers differ in their order, and `limits.series` keeps the first ones.
    return tuple(sorted(entities, key=lambda entity: (entity.user or "", entity.client_id or "")))
