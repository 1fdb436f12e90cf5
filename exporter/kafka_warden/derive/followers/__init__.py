"""How far each follower is behind, for how long, and in which state (judgement.md 1 to 3)."""
