"""`kafka-warden check`: looks at everything that the exporter needs, and names what is wrong before the first run."""
