"""`kafka-warden check`: looks at everything that the sidecar needs, and names what is wrong before the first run."""
