"""`kafka-warden plan`: its flags, its files and the command. Planning itself is in `planning/`."""
