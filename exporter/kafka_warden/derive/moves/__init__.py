"""Reassignments and moves between log directories: remaining bytes, rates, ETA, causes (docs/spec/moves.md)."""
