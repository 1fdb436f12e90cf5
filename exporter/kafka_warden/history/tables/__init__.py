"""The tables, one a file: what a row is of, and where each column comes from."""
