"""What an engineer on call expects of the alerts, also while scrapes fail, exporters restart, or labels are wrong."""
