"""Files with equal bytes below a folder: `python duplicates.py [FOLDER]`."""

import sys
from collections import defaultdict
from pathlib import Path

from hashmill.blake3 import AUTO, hash_many

folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
paths = [path for path in folder.rglob("*") if path.is_file()]
groups = defaultdict(list)
for path, digest in zip(paths, hash_many(paths, max_threads=AUTO), strict=True):
    groups[digest].append(path)
copies = [group for group in groups.values() if len(group) > 1]
print(f"{len(paths)} files, {len(groups)} different")
for group in copies:
    print("same bytes:", *group)
