"""History as Parquet files. Outside the pipeline, only these modules import pyarrow."""
