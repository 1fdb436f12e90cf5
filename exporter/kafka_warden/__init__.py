"""kafka-warden: a Prometheus exporter and alerting sidecar for Apache Kafka that only ever reads."""
