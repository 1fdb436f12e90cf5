"""When growing values reach their limits: a model of a history of days, in numpy (docs/pipeline-forecast.md)."""
