"""The source root, no package: `import kafka_warden`."""

raise ImportError("exporter/ is the source root: import kafka_warden")
