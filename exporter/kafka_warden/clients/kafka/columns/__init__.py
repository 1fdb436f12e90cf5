"""Large replies read as columns, and large requests written so: docs/architecture.md#replies-as-columns."""
