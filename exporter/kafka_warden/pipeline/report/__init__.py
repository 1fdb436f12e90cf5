"""HTML pages with the results of the other jobs, from their marts. Plots are drawn by matplotlib."""
