"""Objects with equal bytes: `python dedupe.py [OUTPUT FOLDER]`; without an argument it creates example files."""

import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet as parquet
from hashmill import inventory


def example(folder: Path) -> Path:
    """The output folder of an inventory of four files, two of them equal."""
    for name, text in {"a": "one", "b": "two", "c": "one", "d": "three"}.items():
        (folder / name).write_text(text)
    parquet.write_table(pyarrow.table({"url": [str(folder / name) for name in "abcd"]}), folder / "inventory.parquet")
    assert inventory.hash(folder / "inventory.parquet", folder / "results").ok
    return folder / "results"


SAME = """
    SELECT lower(hex(blake3)) AS digest, count(*) AS copies, sum(size) - any_value(size) AS spare, list(url ORDER BY url) AS urls
    FROM read_parquet(?) WHERE blake3 IS NOT NULL
    GROUP BY blake3 HAVING count(*) > 1 ORDER BY spare DESC
"""

with tempfile.TemporaryDirectory() as folder:
    results = Path(sys.argv[1]) if len(sys.argv) > 1 else example(Path(folder))
    for digest, copies, spare, urls in duckdb.execute(SAME, [f"{results}/*.parquet"]).fetchall():
        print(f"{digest[:16]} {copies} copies, {spare} bytes to spare:", *urls)
