"""Planning: the throttle for a reassignment, and whether what is planned fits. Pure; it prints and changes nothing.

KIP-73's goals X and Y, KIP-578's limits. Behind `kafka-warden plan`, and for any source of a `Snapshot` and of rates.
"""
