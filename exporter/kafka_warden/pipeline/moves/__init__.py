"""What the job `moves` is made of."""
