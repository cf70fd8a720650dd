"""Benchmark of inventories against plain loops: `python bench_inventory.py [SESSIONS]`. A ratio is the median of sessions, with minimum
and maximum.

Files are in a folder in memory; objects are on moto's server in a separate process, which limits their speed.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import blake3
import boto3
import pyarrow
import pyarrow.parquet as parquet
from botocore.config import Config
from hashmill import inventory

FILES, FILE, OBJECTS, OBJECT = 20_000, 4096, 500, 64 << 10
KEYS = {"aws_access_key_id": "who", "aws_secret_access_key": "secret"}


def session(theirs: Callable[[], None], ours: Callable[[], None]) -> tuple[float, float]:
    times = []
    for work in (theirs, ours):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times[0], times[1]


def compare(name: str, sessions: int, theirs: Callable[[], None], ours: Callable[[], None]) -> None:
    session(theirs, ours)
    pairs = [session(theirs, ours) for _ in range(sessions)]
    theirs_time, ours_time = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
    ratios = sorted(theirs / ours for theirs, ours in pairs)
    ratio = f"{statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]"
    print(f"| {name} | {theirs_time:.0f} ms | {ours_time:.0f} ms | {ratio} |", flush=True)


def write_results(urls: list[str], digests: list[bytes], out: Path) -> None:
    parquet.write_table(pyarrow.table({"url": urls, "blake3": pyarrow.array(digests, pyarrow.binary(32))}), out)


def main(sessions: int) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        listed, out = folder / "inventory.parquet", folder / "out"

        def ours(**options: object) -> None:
            shutil.rmtree(out, ignore_errors=True)
            assert inventory.hash(listed, out, **options).ok  # type: ignore[arg-type]

        paths = [str(folder / str(number)) for number in range(FILES)]
        for number, path in enumerate(paths):
            Path(path).write_bytes(number.to_bytes(4, "little") * (FILE // 4))
        parquet.write_table(pyarrow.table({"url": paths}), listed)

        def loop() -> None:
            urls = parquet.read_table(listed)["url"].to_pylist()
            write_results(urls, [blake3.blake3(Path(url).read_bytes()).digest() for url in urls], folder / "theirs")

        compare("20,000 files of 4 KiB, a loop over the package blake3", sessions, loop, ours)

        program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            found = None
            while found is None:
                found = re.search(r"http://127\.0\.0\.1:(\d+)", server.stderr.readline())
            # Its log of requests would fill the pipe.
            with ThreadPoolExecutor(1) as drain:
                drain.submit(server.stderr.read)
                try:
                    endpoint = f"http://127.0.0.1:{found[1]}"
                    config = Config(max_pool_connections=64)
                    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=config, **KEYS)
                    client.create_bucket(Bucket="bucket")
                    keys = [str(number) for number in range(OBJECTS)]
                    for key in keys:
                        client.put_object(Bucket="bucket", Key=key, Body=key.encode() * (OBJECT // len(key)))
                    parquet.write_table(pyarrow.table({"bucket": ["bucket"] * OBJECTS, "key": keys}), listed)
                    store = KEYS | {"aws_endpoint": endpoint, "aws_region": "us-east-1", "allow_http": "true"}

                    def get(key: str) -> bytes:
                        body = client.get_object(Bucket="bucket", Key=key)["Body"].read()
                        return blake3.blake3(body).digest()

                    def one_by_one() -> None:
                        write_results(keys, list(map(get, keys)), folder / "theirs")

                    def threads() -> None:
                        with ThreadPoolExecutor(16) as pool:
                            write_results(keys, list(pool.map(get, keys)), folder / "theirs")

                    def objects() -> None:
                        ours(store=store, connections=16)

                    compare("500 objects of 64 KiB, a loop over boto3 and blake3", sessions, one_by_one, objects)
                    compare("the same by 16 threads", sessions, threads, objects)
                finally:
                    server.kill()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
