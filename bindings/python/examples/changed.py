"""The differences between two results of inventories: `python changed.py [BEFORE AFTER]`; without arguments it creates example files."""

import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet as parquet
from hashmill import inventory


def hash_inventory(folder: Path, name: str, texts: dict[str, str]) -> Path:
    """Results of an inventory of files with these contents."""
    for file, text in texts.items():
        (folder / file).write_text(text)
    listed = pyarrow.table({"url": [str(folder / file) for file in texts]})
    parquet.write_table(listed, folder / f"{name}.parquet")
    assert inventory.hash(folder / f"{name}.parquet", folder / name).ok
    return folder / name


# A row without a digest cannot be compared, so it is reported as unknown.
CHANGED = """
    SELECT url, CASE
        WHEN before.url IS NULL THEN 'new'
        WHEN after.url IS NULL THEN 'gone'
        WHEN before.blake3 IS NULL OR after.blake3 IS NULL THEN 'unknown'
        ELSE 'changed' END AS what
    FROM read_parquet($before) before FULL JOIN read_parquet($after) after USING (url)
    WHERE before.blake3 IS DISTINCT FROM after.blake3 OR before.blake3 IS NULL
    ORDER BY url
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    if len(sys.argv) > 2:
        before, after = map(Path, sys.argv[1:3])
    else:
        before = hash_inventory(folder, "before", {"a": "same", "b": "old", "c": "gone soon"})
        after = hash_inventory(folder, "after", {"a": "same", "b": "other", "d": "new"})
    both = {"before": f"{before}/*.parquet", "after": f"{after}/*.parquet"}
    for url, what in duckdb.execute(CHANGED, both).fetchall():
        print(f"{what:8}{url}")
