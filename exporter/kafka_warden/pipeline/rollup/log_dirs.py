"""`log_dir_hour`: how much of each log directory's volume is used."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's usual name for it

from kafka_warden.pipeline.rollup.samples import POLL
from kafka_warden.pipeline.rollup.windows import Grain, by_window, last

KEY: Final = ("cluster_id", "start", "broker", "log_dir")


def windows(brokers: DataFrame, grain: Grain) -> DataFrame:
    """Aggregate log directories that are online. `brokers`: rows of the table, each once."""
    online = brokers.select(*POLL, "broker", F.explode("log_dirs").alias("dir")).where("dir.online")
    has_volume = (F.col("dir.total_bytes") >= 0) & (F.col("dir.usable_bytes") >= 0)
    used = F.when(has_volume, F.col("dir.total_bytes") - F.col("dir.usable_bytes")).otherwise(F.col("dir.bytes"))
    sized = online.withColumns(
        {
            "log_dir": F.col("dir.path"),
            "used": used.cast("double"),
            "total": F.when(has_volume, F.col("dir.total_bytes")).cast("double"),
        }
    )
    return by_window(sized, grain, KEY).agg(
        F.count("*").alias("polls"),
        F.max("used").alias("used_bytes_max"),
        last(F.col("total")).alias("total_bytes_last"),
    )
