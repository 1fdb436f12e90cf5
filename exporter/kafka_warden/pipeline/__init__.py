"""Spark jobs over the history of one cluster or of a fleet. Only this package imports pyspark."""
