"""The rules, signals, alarms and scores of the job `backtest`."""
