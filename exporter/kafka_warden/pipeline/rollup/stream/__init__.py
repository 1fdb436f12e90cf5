"""The roll-up of what arrives, while it arrives: from files or from a topic."""
