"""The Kafka side of the links: client properties, connections, and the one function that sends."""
