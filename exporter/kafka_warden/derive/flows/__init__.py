"""Flows of moving data: what one broker fetches from another under the same limits (throttle-law.md)."""
