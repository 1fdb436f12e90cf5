"""Flows of moving data: what one broker fetches from another under the same limits (docs/spec/throttle-law.md)."""
