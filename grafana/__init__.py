"""Grafana's dashboards as code: `kit` has the shared parts, `boards` the contents, `build` writes the JSON."""
