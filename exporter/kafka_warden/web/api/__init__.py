"""`/api/v1`: the rows of the status page as JSON."""
