"""Prometheus rules made from templates at a scale of time."""
