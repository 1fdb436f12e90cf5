"""What is wrong with a throttle, by broker and side, and for how long (docs/spec/throttles.md#problems)."""
