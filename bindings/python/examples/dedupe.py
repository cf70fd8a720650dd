"""Objects that have the same bytes: `python dedupe.py [FOLDER OF ANSWERS]`, or of some files that are made for it."""

import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet as parquet
from hashmill import manifest


def example(folder: Path) -> Path:
    """Answers to an inventory of four files, of which two are the same."""
    for name, text in {"a": "one", "b": "two", "c": "one", "d": "three"}.items():
        (folder / name).write_text(text)
    parquet.write_table(pyarrow.table({"url": [str(folder / name) for name in "abcd"]}), folder / "inventory.parquet")
    assert manifest.hash(folder / "inventory.parquet", folder / "answers").ok
    return folder / "answers"


SAME = """
    SELECT lower(hex(blake3)) AS digest, count(*) AS copies, sum(size) - any_value(size) AS spare, list(url ORDER BY url) AS urls
    FROM read_parquet(?) WHERE blake3 IS NOT NULL
    GROUP BY blake3 HAVING count(*) > 1 ORDER BY spare DESC
"""

with tempfile.TemporaryDirectory() as folder:
    answers = Path(sys.argv[1]) if len(sys.argv) > 1 else example(Path(folder))
    for digest, copies, spare, urls in duckdb.execute(SAME, [f"{answers}/*.parquet"]).fetchall():
        print(f"{digest[:16]} {copies} copies, {spare} bytes to spare:", *urls)
