"""Shared parts of all dashboards: queries, panels, tables, links, and the layout."""
