"""The tables: their rows and columns."""
