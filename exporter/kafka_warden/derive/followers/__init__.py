"""How far each follower is behind, for how long, and in which state (docs/spec/lag.md)."""
