"""Reassignments and moves between log directories: remaining bytes, rates, ETA, stuck causes (judgement.md 5)."""
