"""One page with the results of the other jobs, from their marts, drawn by matplotlib, without scripts."""
