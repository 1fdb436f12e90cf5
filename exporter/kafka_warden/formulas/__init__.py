"""The formulas of the five documents: small pure functions on the standard library and numpy, time as an argument."""
