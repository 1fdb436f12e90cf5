"""Client quotas: bytes, request time and controller mutations (KIP-546, KIP-599)."""

from collections.abc import Iterable, Mapping

from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from sandbox.admin_base import Asker, check

DEFAULT = "<default>"
Entity = tuple[str | None, str | None]
"""User and client id; `DEFAULT` is the default entity, None is no part of it."""


class QuotaAdmin(Asker):
    """The part of Admin that knows client quotas."""

    def set_client_quota(
        self,
        user: str | None = None,
        client_id: str | None = None,
        values: Mapping[str, float | None] | None = None,
    ) -> None:
        """Set quotas of one entity, as {"controller_mutation_rate": 5}; None deletes, `DEFAULT` is a default entity."""
        entity = {"user": user, "client-id": client_id}
        self._alter_quotas([{kind: name for kind, name in entity.items() if name is not None}], values or {})

    def set_client_quotas(self, client_ids: Iterable[str], values: Mapping[str, float | None]) -> None:
        """Set the same quotas of many client ids by one request."""
        self._alter_quotas([{"client-id": name} for name in client_ids], values)

    def _alter_quotas(self, entities: Iterable[Mapping[str, str]], values: Mapping[str, float | None]) -> None:
        entry = AlterClientQuotasRequest.EntryData
        ops = [
            entry.OpData(key=key, value=0.0 if value is None else float(value), remove=value is None)
            for key, value in values.items()
        ]
        entries = [
            entry(
                entity=[
                    entry.EntityData(entity_type=kind, entity_name=None if name == DEFAULT else name)
                    for kind, name in entity.items()
                ],
                ops=ops,
            )
            for entity in entities
        ]
        for result in self.ask(AlterClientQuotasRequest(entries=entries, validate_only=False)).entries:
            names = {part.entity_type: part.entity_name for part in result.entity}
            check(f"set quota of {names}", result.error_code, result.error_message)

    def client_quotas(self) -> dict[Entity, dict[str, float]]:
        """Every client quota by (user, client id)."""
        reply = self.ask(DescribeClientQuotasRequest(components=[], strict=False))
        check("describe client quotas", reply.error_code, reply.error_message)
        found: dict[Entity, dict[str, float]] = {}
        for entry in reply.entries or []:
            names = {part.entity_type: part.entity_name or DEFAULT for part in entry.entity}
            if set(names) <= {"user", "client-id"}:
                found[names.get("user"), names.get("client-id")] = {value.key: value.value for value in entry.values}
        return found

    def clear_client_quotas(self) -> None:
        """Delete every client quota."""
        for (user, client_id), values in self.client_quotas().items():
            self.set_client_quota(user, client_id, dict.fromkeys(values))
