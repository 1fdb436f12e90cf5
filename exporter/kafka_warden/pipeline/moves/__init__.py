"""Samples and lifetimes of moves, for the job `moves`."""
