"""Beans over HTTP, from agents that run in the brokers: of jmx_exporter in Prometheus format, and Jolokia."""
