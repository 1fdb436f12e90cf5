"""What the job `backtest` is made of."""
