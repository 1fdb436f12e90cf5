"""Spark jobs over the history of one cluster or of a fleet. Only here is pyspark, and only the command loads it."""
