"""Fuzzing with seeds: a few thousand cases in `make test`, without an end by `make fuzz`.

It is part of the tests, since it uses their scripted brokers and recorded replies, and fails like a test does.
"""
