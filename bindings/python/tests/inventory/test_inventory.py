"""Inventories: files of this machine, shards, restarts, workers, signals."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest
from hashmill.blake3 import blake3
from hashmill.inventory import SPARK_SCHEMA, Hasher, Progress, hash, verify


def read_results(folder: Path) -> list[dict[str, Any]]:
    """In the order of rows."""
    files = sorted(folder.glob("part-*.parquet"))
    return [row for file in files for row in parquet.read_table(file).to_pylist()]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "data").mkdir()
    paths = [tmp_path / "data" / str(number) for number in range(40)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes([number]) * number * 100)
    return paths


@pytest.fixture
def inventory(tmp_path: Path, files: list[Path]) -> Path:
    path = tmp_path / "inventory.parquet"
    parquet.write_table(pyarrow.table({"url": [str(file) for file in files] + ["nothing"]}), path)
    return path


def digests(files: list[Path]) -> list[bytes]:
    return [blake3(file.read_bytes()).digest() for file in files]


def test_each_row_has_a_result(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    summary = hash(inventory, tmp_path / "out", part_rows=7)
    assert (summary.rows, summary.hashed, summary.without_digest["missing"], summary.failed, summary.ok) == (41, 40, 1, 1, False)
    rows = read_results(tmp_path / "out")
    assert [row["blake3"] for row in rows] == [*digests(files), None]
    assert rows[3] == {
        "url": str(files[3]),
        "size": 300,
        "blake3": blake3(b"\3" * 300).digest(),
        "status": "hashed",
        "error": None,
        "matches": None,
        "etag": None,
        "version": None,
    }
    assert rows[40]["status"] == "missing" and rows[40]["error"]
    again = hash(inventory, tmp_path / "out", part_rows=7)
    assert (again.parts, again.skipped, again.rows) == (0, 6, 41)


def test_shards_cover_all_rows(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    for index in range(3):
        shard = (index, 3) if index else "0/3"
        hash(inventory, tmp_path / "out", shard=shard, part_rows=7)
    assert [row["blake3"] for row in read_results(tmp_path / "out")] == [*digests(files), None]


def test_results_of_hash_can_be_verified(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    hash(inventory, tmp_path / "out")
    with pytest.raises(ValueError, match="no column of digests"):
        verify(inventory, tmp_path / "verified")
    files[5].write_bytes(b"x" * 500)
    summary = verify(tmp_path / "out", tmp_path / "verified")
    assert (summary.matched, summary.mismatched, summary.ok) == (39, 1, False)
    rows = read_results(tmp_path / "verified")
    assert [number for number, row in enumerate(rows) if row["matches"] is False] == [5]


def test_rows_without_listed_digest_fail_verification(tmp_path: Path, files: list[Path]) -> None:
    for number, listed in enumerate([pyarrow.array([None, None], pyarrow.binary(32)), pyarrow.nulls(2)]):
        table = pyarrow.table({"url": [str(files[1]), str(files[2])], "blake3": listed})
        parquet.write_table(table, tmp_path / "inventory.parquet")
        summary = verify(tmp_path / "inventory.parquet", tmp_path / f"out{number}")
        assert (summary.hashed, summary.matched, summary.ok) == (2, 0, False)
    done = command(tmp_path / "inventory.parquet", "-o", tmp_path / "out1", "--verify")
    assert done.returncode == 1, done.stderr


def test_wrong_arguments_are_exceptions(tmp_path: Path, inventory: Path) -> None:
    out = tmp_path / "out"
    for shard in ["", "1", "3/3", "x/y", (3, 3)]:
        with pytest.raises(ValueError, match="shard"):
            hash(inventory, out, shard=shard)
    with pytest.raises(ValueError, match="aws_endpiont"):
        hash(inventory, out, store={"aws_endpiont": "x"})
    with pytest.raises(ValueError, match="meaning"):
        hash(inventory, out, columns={"urls": "x"})
    with pytest.raises(ValueError, match="no column x"):
        hash(inventory, out, columns={"url": "x"})
    for wrong in [{"connections": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"part_rows": 0}, {"max_threads": 0}]:
        with pytest.raises(ValueError):
            hash(inventory, out, **wrong)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        hash(tmp_path / "nowhere", out)
    hash(inventory, out)
    with pytest.raises(ValueError, match="another inventory"):
        hash(inventory, out, part_rows=3)
    with pytest.raises(NotADirectoryError):
        hash(inventory, inventory / "out")


def test_hasher_accepts_batches_tables_and_iterators(files: list[Path]) -> None:
    table = pyarrow.table({"path": [str(file) for file in files], "other": range(40)})
    hasher = Hasher()
    pairs = [(table, pyarrow.Table), (table.to_batches()[0], pyarrow.RecordBatch), (table.to_reader(), pyarrow.Table)]
    for batch, kind in pairs:
        answer = hasher(batch)
        assert isinstance(answer, kind)
        assert answer["blake3"].to_pylist() == digests(files)
        assert answer.schema.field("blake3").type == pyarrow.binary(32)
    several = list(hasher(iter(table.to_batches(max_chunksize=9))))
    assert [len(batch) for batch in several] == [9, 9, 9, 9, 4]
    assert several[0].schema.field("blake3").type == pyarrow.binary()
    assert several[0].schema.names == SPARK_SCHEMA.replace(",", "").split()[::2]
    assert hasher(table.slice(0, 0)).num_rows == 0
    for wrong in [pyarrow.array(["x"]), pyarrow.array([{"url": "x"}, None])]:
        with pytest.raises(TypeError):
            hasher(wrong)
    with pytest.raises(ValueError, match="url"):
        hasher(pyarrow.table({"x": [1]}))


def test_hasher_can_be_pickled(files: list[Path]) -> None:
    table = pyarrow.table({"url": [str(file) for file in files], "expected": digests(files)})
    hasher = Hasher(columns={"blake3": "expected"}, store={"aws_region": "secret"})
    assert "secret" not in repr(hasher)
    assert pickle.loads(pickle.dumps(hasher))(table)["matches"].to_pylist() == [True] * 40
    # Also after use, and into a forked process.
    for way in ["fork", "spawn"]:
        with multiprocessing.get_context(way).Pool(2) as pool:
            for batch in pool.map(hasher, table.to_batches(max_chunksize=10)):
                assert batch["matches"].to_pylist() == [True] * 10


def in_child(hasher: Hasher, table: pyarrow.Table) -> bool:
    child = os.fork()
    if child == 0:
        right = False
        try:
            right = hasher(table)["status"].to_pylist() == ["hashed"] * table.num_rows
        finally:
            os._exit(0 if right else 1)
    return os.waitpid(child, 0)[1] == 0


def test_forked_child_starts_its_own_threads(files: list[Path]) -> None:
    table = pyarrow.table({"url": [str(file) for file in files]})
    hasher = Hasher(max_threads=2)
    hasher(table)
    assert in_child(hasher, table)
    assert hasher(table).num_rows == 40


def test_threads_share_a_hasher(files: list[Path]) -> None:
    table = pyarrow.table({"url": [str(file) for file in files]})
    hasher, results = Hasher(), []
    threads = [threading.Thread(target=lambda: results.append(hasher(table)["blake3"].to_pylist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [digests(files)] * 8


def test_import_and_construction_start_no_thread() -> None:
    program = (
        "import hashmill.inventory as m, os, sys; h = m.Hasher()\n"
        "print(len(os.listdir('/proc/self/task')), 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


def test_ctrl_c_ends_the_wait_for_a_server() -> None:
    """With a server that accepts connections and never answers, in a process where no other package handles signals."""
    program = """if True:
        import os, pyarrow, signal, socket, threading
        from hashmill.inventory import Hasher
        signal.signal(signal.SIGINT, signal.default_int_handler)
        server = socket.create_server(("127.0.0.1", 0))
        connections = []

        def interrupt():
            connections.append(server.accept())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            Hasher(timeout=600, only=[url])(pyarrow.table({"url": [url + "/x"]}))
        except KeyboardInterrupt:
            print("ended")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == "ended\n", done.stderr


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hashmill.inventory", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_command_processes_a_shard(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    out = tmp_path / "out"
    first = command(inventory, "-o", out, "--shard", "0/2", "--part-rows", "10")
    assert first.returncode == 0 and json.loads(first.stdout)["rows"] == 20, first.stderr
    second = command(inventory, "-o", out, "--shard", "1/2", "--part-rows", "10")
    assert second.returncode == 1 and json.loads(second.stdout)["without_digest"]["missing"] == 1 and json.loads(second.stdout)["failed"] == 1
    assert len(read_results(out)) == 41
    for wrong in [(inventory, "-o", out), (tmp_path / "nowhere", "-o", out), (inventory, "-o", out, "--shard", "2/2")]:
        done = command(*wrong)
        assert done.returncode == 2 and done.stderr.startswith("hashmill.inventory: ") and not done.stdout
    for wrong in [("--part-rows", "-1"), ("--connections", "0"), ("--retries", "-1"), ("--timeout", "0")]:
        done = command(inventory, "-o", out, *wrong)
        assert done.returncode == 2 and "Traceback" not in done.stderr and not done.stdout, done.stderr
    verify = (out, "-o", tmp_path / "v", "--verify", "--column", "blake3=blake3")
    verified = command(*verify)
    assert json.loads(verified.stdout)["matched"] == 40 and not verified.stderr
    again = command(*verify)
    assert again.stdout != verified.stdout and "nothing was read: all 1 parts exist" in again.stderr
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-m", "hashmill.inventory", inventory, "-o", tmp_path / "full"]
        done = subprocess.run(list(map(str, program)), stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
    assert done.returncode == 2 and done.stderr.startswith("hashmill.inventory: standard output: "), done.stderr
    nowhere = command(tmp_path / "nowhere", "-o", out)
    path = str(tmp_path / "nowhere")
    assert nowhere.stderr == f"hashmill.inventory: [Errno 2] No such file or directory: {path!r}\n"
    refused = command(inventory, "-o", tmp_path / "v", "--part-rows", "10")
    assert refused.returncode == 2 and "take another folder" in refused.stderr


def test_killed_run_leaves_only_complete_parts(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    """The process is killed as soon as it has written a part."""
    table = pyarrow.table({"url": [str(file) for file in files] * 250})
    parquet.write_table(table, inventory)
    out = tmp_path / "out"
    program = [sys.executable, "-m", "hashmill.inventory", inventory, "-o", out, "--part-rows", "100"]
    process = subprocess.Popen(list(map(str, program)))
    while not list(out.glob("part-*")) and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.wait()
    left = len(list(out.glob("part-*")))
    summary = hash(inventory, out, part_rows=100)
    assert (summary.skipped, summary.parts) == (left, 100 - left) and left >= 1
    assert [row["blake3"] for row in read_results(out)] == digests(files) * 250


def test_progress_callback_can_end_a_run(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    told: list[Progress] = []
    hash(inventory, tmp_path / "out", part_rows=7, progress=told.append)
    size = sum(len(file.read_bytes()) for file in files)
    assert told[-1] == Progress(rows=41, done=41, failed=1, bytes=size)
    hash(inventory, tmp_path / "out", part_rows=7, progress=told.append)
    assert told[-1] == Progress(rows=41, done=41, failed=1, bytes=0)
    verify(tmp_path / "out", tmp_path / "verified", progress=told.append, shard="0/1")
    assert told[-1] == Progress(rows=41, done=41, failed=1, bytes=size)


class Enough(Exception):
    pass


def test_exception_of_progress_ends_the_run(tmp_path: Path) -> None:
    """With a server that accepts connections and never answers."""
    told: list[Progress] = []

    def enough(progress: Progress) -> None:
        told.append(progress)
        raise Enough

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        parquet.write_table(pyarrow.table({"url": [url]}), tmp_path / "inventory.parquet")
        with pytest.raises(Enough):
            hash(tmp_path / "inventory.parquet", tmp_path / "out", timeout=600, progress=enough, only=[url.removesuffix("/x")])
    assert len(told) == 1


def on_a_terminal(arguments: list[str | Path], interrupt: bool, **variables: str) -> tuple[int, str]:
    """The exit code, and the output on standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "hashmill.inventory", *map(str, arguments)]
    environment = os.environ | {"TERM": "xterm"} | variables
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    try:
        while True:
            # The other end is closed, which Linux reports as an error.
            try:
                read = os.read(ours, 4096)
            except OSError:
                break
            written += read
            if interrupt and b"40 of 41 rows" in written:
                process.send_signal(signal.SIGINT)
                interrupt = False
            if not read:
                break
        return process.wait(timeout=300), written.decode()
    finally:
        process.kill()
        os.close(ours)


def test_terminal_shows_and_clears_one_progress_line(tmp_path: Path, files: list[Path], inventory: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        waiting = tmp_path / "waiting.parquet"
        parquet.write_table(pyarrow.table({"url": [str(file) for file in files] + [url]}), waiting)
        arguments = [waiting, "-o", tmp_path / "out", "--part-rows", "40", "--timeout", "600"]
        arguments += ["--only", "file", "--only", url.removesuffix("/x")]
        code, written = on_a_terminal(arguments, True)
        shown, _, left = written.rpartition("\r\x1b[K")
        assert code == 130 and "\r40 of 41 rows, 76.2 KiB, " in shown and "\n" not in shown, written
        assert left == "hashmill.inventory: interrupted: run the same command again to continue\r\n"
    # No output for short work.
    assert on_a_terminal([inventory, "-o", tmp_path / "soon"], False) == (1, "")


def test_allow_list(files: list[Path], tmp_path: Path) -> None:
    """The allow-list of servers, buckets and folders; without one, no address of this machine."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.send_header("Last-Modified", "Sat, 28 Nov 2026 00:00:00 GMT")
            self.end_headers()
            self.wfile.write(b"body")

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        table = pyarrow.table({"url": [str(files[1]), f"{root}/x", "s3://bucket/key"]})
        for only, expected in [
            (None, ["hashed", "denied"]),
            ([root], ["denied", "hashed"]),
            ({root, files[1].parent.as_uri()}, ["hashed", "hashed"]),
            (["http", "file"], ["hashed", "denied"]),
            ([], ["denied", "denied"]),
        ]:
            results = Hasher(only=only)(table.slice(0, 2))
            assert results["status"].to_pylist() == expected, only
        assert Hasher(only=[root])(table.slice(2))["status"].to_pylist() == ["denied"]
        other = pickle.loads(pickle.dumps(Hasher(only=[root])))
        assert other(table.slice(0, 2))["status"].to_pylist() == ["denied", "hashed"]
        server.shutdown()
    assert asked == ["/x"] * 3
    with pytest.raises(ValueError, match="an entry is a scheme") as caught:
        Hasher(only=["https://user:secret@host"])(table)
    assert "secret" not in str(caught.value)


def test_secret_store_options_are_in_no_result(tmp_path: Path) -> None:
    store = {
        "aws_endpoint": "http://user:TOPSECRET@127.0.0.1:9",
        "aws_secret_access_key": "TOPSECRET",
        "aws_access_key_id": "me",
        "aws_region": "nowhere",
        "allow_http": "true",
    }
    results = Hasher(store=store, retries=0)(pyarrow.table({"url": ["s3://bucket/key"]}))
    assert results["status"].to_pylist() == ["failed"] and "TOPSECRET" not in str(results.to_pylist())
    with pytest.raises(OSError) as caught:
        hash("s3://bucket/inventory.parquet", tmp_path / "out", store=store, retries=0)
    assert "TOPSECRET" not in str(caught.value)


def test_damaged_file_is_an_error_without_a_panic_message(files: list[Path], tmp_path: Path) -> None:
    """Damaged files never cause a panic message on standard error."""
    program = """
import random, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from hashmill import inventory

whole = Path(sys.argv[1]).read_bytes()
damaged = Path(sys.argv[2])
rng = random.Random(4)
said = set()
for turn in range(400):
    data = bytearray(whole)
    for _ in range(rng.randint(1, 3)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    damaged.write_bytes(data)
    try:
        inventory.hash(damaged, f"{sys.argv[2]}-{turn}", only=[])
    except (ValueError, OSError) as error:
        said.add(str(error).rpartition(": ")[2])
assert "it is damaged" in said, said
print("ended")
"""
    names = [str(file) for file in files] * 5
    inventory = tmp_path / "inventory.parquet"
    parquet.write_table(pyarrow.table({"url": names, "size": range(len(names))}), inventory, use_dictionary=False, column_encoding={"url": "DELTA_BYTE_ARRAY"})
    arguments = [sys.executable, "-c", program, str(inventory), str(tmp_path / "damaged")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)
