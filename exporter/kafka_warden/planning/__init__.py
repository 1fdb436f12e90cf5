"""Plans for a reassignment or a new topic: the throttle, and whether it fits. Changes nothing.

KIP-73's goals X and Y, KIP-578's limits. Used by `kafka-warden plan`, and by any source of a `Snapshot` and of rates.
All is pure except `command` and `files`.
"""
