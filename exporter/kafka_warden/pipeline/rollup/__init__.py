"""Minutes and hours of history."""
