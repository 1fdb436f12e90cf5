"""Minutes and hours of history, with the same functions for the whole history and for a stream."""
