"""History as Parquet files. The only place that imports pyarrow."""
