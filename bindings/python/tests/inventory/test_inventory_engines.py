"""Schedulers that call a hasher: real installations of Ray and Spark, on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import pytest
from hashmill.blake3 import blake3
from hashmill.inventory import SPARK_SCHEMA, Hasher


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """An inventory of 30 files and a missing one."""
    paths = [tmp_path / str(number) for number in range(30)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]) * 1000)
    listed = pyarrow.table({"url": [str(path) for path in paths] + ["nothing"]})
    parquet.write_table(listed, tmp_path / "inventory.parquet", row_group_size=10)
    return tmp_path / "inventory.parquet"


DIGESTS = sorted(blake3(bytes([number]) * 1000).digest() for number in range(30))


def check(out: Path) -> None:
    rows = parquet.read_table(out).to_pylist()
    assert sorted(row["blake3"] for row in rows if row["blake3"]) == DIGESTS
    assert [row["status"] for row in rows if not row["blake3"]] == ["missing"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_ray(tmp_path: Path, inventory: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray: no wheel of it for this system and version of Python")
    import ray.data

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        rows = ray.data.read_parquet(str(inventory))
        rows.map_batches(Hasher(), batch_format="pyarrow", batch_size=8).write_parquet(str(tmp_path / "out"))
    finally:
        ray.shutdown()
    check(tmp_path / "out")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_spark(tmp_path: Path, inventory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="Spark: pyspark is not installed, and is 330 MB")
    from pyspark.sql import SparkSession

    # Workers use this environment, not the `python3` of the path.
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        rows = spark.read.parquet(str(inventory)).repartition(3)
        rows.mapInArrow(Hasher(), SPARK_SCHEMA).write.parquet(str(tmp_path / "out"))
    finally:
        spark.stop()
    check(tmp_path / "out")
