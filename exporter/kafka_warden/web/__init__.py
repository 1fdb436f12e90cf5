"""HTTP: serves the page of the latest poll from memory. A request renders nothing and asks Kafka nothing."""
