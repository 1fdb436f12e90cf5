"""Grafana's dashboards as code: `kit` is how they look, `boards` is what they show, `build` writes the JSON."""
