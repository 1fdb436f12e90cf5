"""One page with what the other jobs found: out of their marts, drawn by matplotlib, without a script."""
