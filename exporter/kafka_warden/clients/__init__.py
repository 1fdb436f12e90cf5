"""Clients of Kafka and of JMX."""
