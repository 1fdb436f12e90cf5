"""JMX through one long-lived JVM in a child process: `session` is the parent's handle, `child` the child's program."""
