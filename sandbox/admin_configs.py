"""Configs of topics and brokers, with their layers."""

from collections.abc import Mapping, Sequence

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from sandbox.admin_base import Asker, check

TOPIC = 2
BROKER = 4
DYNAMIC_TOPIC = 1
DYNAMIC_BROKER = 2
"""ConfigSource.DYNAMIC_BROKER_CONFIG."""
SET = 0
DELETE = 1


class ConfigAdmin(Asker):
    """The part of Admin that knows configs."""

    def alter_topic_config(self, topic: str, values: Mapping[str, object | None]) -> None:
        """Set topic configs; None deletes."""
        self._alter(TOPIC, topic, values)

    def alter_broker_config(self, broker: int | str, values: Mapping[str, object | None]) -> None:
        """Set dynamic configs of one broker, or of the cluster's default with the broker ""; None deletes.

        A broker takes only its own, so the one that is named must run.
        """
        self._alter(BROKER, str(broker), values, int(broker) if str(broker) else None)

    def topic_config(self, topic: str, keys: Sequence[str] | None = None) -> dict[str, str | None]:
        """Configs of a topic as they apply, all or the named ones."""
        return self._describe(TOPIC, topic, keys, None)

    def dynamic_topic_config(self, topic: str) -> dict[str, str | None]:
        """Return what is set on that one topic."""
        return self._describe(TOPIC, topic, None, None, DYNAMIC_TOPIC)

    def broker_config(self, broker: int, keys: Sequence[str] | None = None) -> dict[str, str | None]:
        """Configs of a broker as they apply, asked of that broker; the replication throttles are absent while unset."""
        return self._describe(BROKER, str(broker), keys, broker)

    def dynamic_broker_config(self, broker: int) -> dict[str, str | None]:
        """What is set dynamically on that one broker; the values of secrets are None."""
        return self._describe(BROKER, str(broker), None, broker, DYNAMIC_BROKER)

    def default_broker_config(self, asked: int | None = None) -> dict[str, str | None]:
        """The dynamic defaults of the whole cluster, as one broker knows them; without `asked`, any one."""
        return self._describe(BROKER, "", None, asked)

    def _alter(self, kind: int, name: str, values: Mapping[str, object | None], node: int | None = None) -> None:
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource
        configs = [
            resource.AlterableConfig(
                name=key,
                config_operation=DELETE if value is None else SET,
                value=None if value is None else (str(value).lower() if isinstance(value, bool) else str(value)),
            )
            for key, value in values.items()
        ]
        request = IncrementalAlterConfigsRequest(
            resources=[resource(resource_type=kind, resource_name=name, configs=configs)], validate_only=False
        )
        for response in self.ask(request, node).responses:
            check(f"alter configs of {name or 'the brokers'}", response.error_code, response.error_message)

    def _describe(
        self, kind: int, name: str, keys: Sequence[str] | None, node: int | None, source: int | None = None
    ) -> dict[str, str | None]:
        resource = DescribeConfigsRequest.DescribeConfigsResource
        wanted = resource(
            resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
        )
        request = DescribeConfigsRequest(resources=[wanted], include_synonyms=False, include_documentation=False)
        result = self.ask(request, node).results[0]
        check(f"describe configs of {name or 'the brokers'}", result.error_code, result.error_message)
        return {config.name: config.value for config in result.configs if source in {None, config.config_source}}
