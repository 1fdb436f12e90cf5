"""The links to the brokers: connections, secrets, and the one function that sends."""
