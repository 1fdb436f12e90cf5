"""kafka-warden: a Prometheus exporter with alerts for Apache Kafka that only reads."""
