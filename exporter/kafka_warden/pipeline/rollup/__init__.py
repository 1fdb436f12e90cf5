"""Minutes and hours of history: the same functions for all of it at once and for hours that a stream has touched."""
