"""The command `top`: the status page's content in a terminal."""
