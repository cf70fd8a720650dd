"""Tests of `hashmill.blake3`: results of the package `blake3`, and functions for many inputs."""

from __future__ import annotations

import array
import gc
import hashlib
import io
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import blake3 as theirs
import pytest
from hashmill import blake3 as ours
from hashmill.blake3 import blake3, hash_file, hash_many, hash_tree

KEY = bytes(range(32))
MODES: list[dict[str, Any]] = [{}, {"key": KEY}, {"derive_key_context": "hashmill test 2026-11-26"}]
# Lengths around blocks, chunks, lanes, the release of the interpreter, and the use of several threads.
LENGTHS = [0, 1, 63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2049, 16384, 16385, 131073, 1 << 20]


def painted(length: int) -> bytes:
    return (bytes(range(251)) * (length // 251 + 1))[:length]


@pytest.mark.parametrize("mode", MODES, ids=["plain", "keyed", "derived"])
@pytest.mark.parametrize("threads", [1, 2, 3, ours.AUTO])
def test_digests_equal_those_of_blake3(mode: dict[str, Any], threads: int) -> None:
    for length in LENGTHS:
        data = painted(length)
        hasher = blake3(data, max_threads=threads, **mode)
        other = theirs.blake3(data, **mode)
        assert hasher.digest() == other.digest(), length
        assert hasher.hexdigest(70, seek=33) == other.hexdigest(70, seek=33)
        assert hasher.digest(5000, seek=(1 << 63) - 1) == other.digest(5000, seek=(1 << 63) - 1)
        pieces = blake3(max_threads=threads, **mode)
        for start in range(0, length, 70001):
            assert pieces.update(data[start : start + 70001]) is pieces
        assert pieces.digest() == other.digest()


@pytest.mark.parametrize("mode", MODES, ids=["plain", "keyed", "derived"])
@pytest.mark.parametrize("threads", [1, 2, ours.AUTO])
def test_hash_many_equals_single_hashes(mode: dict[str, Any], threads: int) -> None:
    lengths = [*LENGTHS, *random.Random(7).choices(range(3000), k=3000)]
    data = [painted(length) for length in lengths]
    expected = [theirs.blake3(one, **mode).digest() for one in data]
    assert hash_many(data, max_threads=threads, **mode) == expected
    mixed = [bytearray(one) if index % 2 else memoryview(one) for index, one in enumerate(data)]
    assert hash_many(iter(mixed), max_threads=threads, **mode) == expected
    assert hash_many([]) == []


def test_files_have_the_digest_of_their_contents(tmp_path: Path) -> None:
    paths = []
    for length in LENGTHS:
        paths.append(tmp_path / f"{length}")
        paths[-1].write_bytes(painted(length))
    for mode in MODES:
        expected = [theirs.blake3(path.read_bytes(), **mode).digest() for path in paths]
        assert hash_many(paths, **mode) == expected
        assert hash_many([str(path) for path in paths], max_threads=2, **mode) == expected
        assert [hash_file(path, **mode) for path in paths] == expected
        for path, digest in zip(paths, expected, strict=True):
            with path.open("rb") as file:
                assert hash_file(file, **mode) == digest
            with path.open("rb", buffering=0) as raw:
                assert hash_file(raw, **mode) == digest
            memory = io.BytesIO(path.read_bytes())
            assert hash_file(memory, **mode) == digest
            assert memory.read() == b""


def test_file_is_read_from_its_current_position(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"head and rest")
    for file in (io.BytesIO(b"head and rest"), (tmp_path / "file").open("rb")):
        with file:
            file.seek(9)
            assert hash_file(file) == blake3(b"rest").digest()


def test_tree_digest_follows_the_specification(tmp_path: Path) -> None:
    """`docs/tree-digest.md`, in five lines."""
    (tmp_path / "b").write_bytes(b"bytes")
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("b")

    def entry(kind: bytes, name: bytes, digest: bytes) -> bytes:
        return kind + len(name).to_bytes(8, "little") + name + digest

    def directory(entries: bytes) -> bytes:
        return blake3(entries, derive_key_context="hashmill tree digest v1: directory").digest()

    children = [
        entry(b"d", b"a", directory(b"")),
        entry(b"f", b"b", blake3(b"bytes").digest()),
        entry(b"l", b"link", blake3(b"b").digest()),
    ]
    assert hash_tree(tmp_path) == directory(b"".join(children))
    assert hash_tree(str(tmp_path), max_threads=1) == hash_tree(tmp_path)


def test_unreadable_files_have_exceptions_with_their_paths(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    paths = [tmp_path / "file", tmp_path / "none", tmp_path]
    with pytest.raises(FileNotFoundError) as caught:
        hash_many(paths)
    assert caught.value.filename == str(tmp_path / "none")
    digest, missing, folder = hash_many(paths, return_exceptions=True)
    assert digest == blake3(b"x").digest()
    assert isinstance(missing, FileNotFoundError)
    assert isinstance(folder, IsADirectoryError)
    for call in (hash_file, hash_tree, lambda path: blake3().update_mmap(path)):
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        hash_tree(tmp_path)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: blake3("text"), TypeError),
        (lambda: blake3(array.array("i", [1])), BufferError),
        (lambda: blake3(memoryview(bytes(1)).cast("?")), BufferError),
        (lambda: blake3(memoryview(bytes(8))[::2]), (BufferError, ValueError)),
        (lambda: blake3(key=b"short"), ValueError),
        (lambda: blake3(key=KEY, derive_key_context=""), ValueError),
        (lambda: blake3(derive_key_context="\ud800"), UnicodeEncodeError),
        (lambda: blake3(max_threads=0), ValueError),
        (lambda: blake3(max_threads=1 << 70), OverflowError),
        (lambda: blake3().digest(-1), OverflowError),
        (lambda: blake3().digest(1 << 62), (OverflowError, MemoryError)),
        (lambda: blake3().hexdigest(1 << 62), (OverflowError, MemoryError)),
        (lambda: blake3().digest(1, seek=(1 << 64) - 1), OverflowError),
        (lambda: blake3().digest(seek=1 << 64), OverflowError),
        (lambda: hash_many([b"a", "b"]), TypeError),
        (lambda: hash_many([b"a", None]), TypeError),
        (lambda: hash_many(["a", b"b"]), TypeError),
        (lambda: hash_many(["a\0b"]), (ValueError, OSError)),
        (lambda: hash_many(5), TypeError),
        (lambda: hash_many([], max_threads=-2), ValueError),
        (lambda: hash_file(5), TypeError),
        (lambda: hash_file(io.StringIO("text")), TypeError),
        (lambda: hash_tree(b"\xff\0"), (TypeError, ValueError, OSError)),
        (lambda: ours.hash_arrow([b"a"]), TypeError),
        (lambda: ours.hash_arrow(None), TypeError),
    ],
)
def test_bad_input_is_an_exception(call: Callable[[], object], error: Any) -> None:
    with pytest.raises(error):
        call()


def test_messages_contain_the_values() -> None:
    with pytest.raises(ValueError, match="a key of 5 bytes: 32"):
        blake3(key=b"short")
    with pytest.raises(OverflowError, match="no 2 bytes of output from 18446744073709551614"):
        blake3().digest(2, seek=(1 << 64) - 2)
    assert len(blake3().digest(1, seek=(1 << 64) - 2)) == 1


class Odd(io.RawIOBase):
    """A file with a given `readinto`."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        super().__init__()
        self.answer = answer

    def readinto(self, buffer: Any) -> Any:
        return self.answer(buffer)


def test_errors_of_file_objects_are_raised() -> None:
    def fails(_: Any) -> int:
        raise ZeroDivisionError("mine")

    for answer, error in [
        (fails, ZeroDivisionError),
        (lambda buffer: len(buffer) + 1, ValueError),
        (lambda _: -1, ValueError),
        (lambda _: None, BlockingIOError),
        (lambda _: "1", TypeError),
    ]:
        with pytest.raises(error):
            hash_file(Odd(answer))


class Lender:
    """A buffer implemented in Python, from 3.12 on."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __buffer__(self, _: int) -> memoryview:
        raise self.error


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no buffers written in Python before 3.12")
def test_buffer_protocol_exception_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        hash_many([b"a", Lender(ZeroDivisionError())])


def test_buffer_cannot_shrink_during_a_call() -> None:
    data = bytearray(200 << 20)
    refused = 0
    stopped = threading.Event()

    def shrink() -> None:
        nonlocal refused
        while not stopped.is_set():
            try:
                data.pop()
            except BufferError:
                refused += 1

    thread = threading.Thread(target=shrink)
    thread.start()
    hasher = blake3()
    while refused == 0:
        hasher.update(data)
    stopped.set()
    thread.join()
    data.clear()


def test_buffers_are_released_after_errors() -> None:
    data, key = bytearray(9), bytearray(9)
    bad: list[Any] = [data, "text"]
    for call in (lambda: hash_many(bad), lambda: blake3(data, key=key), lambda: blake3(array.array("i"))):
        with pytest.raises((TypeError, ValueError, BufferError)):
            call()
    data.append(1)
    key.append(1)


def test_buffer_may_change_during_a_call() -> None:
    data = bytearray(64 << 20)
    hasher = blake3(max_threads=ours.AUTO)
    thread = threading.Thread(target=lambda: [hasher.update(data) for _ in range(4)])
    thread.start()
    while thread.is_alive():
        data[random.randrange(len(data))] ^= 1
    thread.join()
    assert len(hasher.digest()) == 32


def test_eight_threads_share_a_hasher() -> None:
    hasher = blake3(max_threads=2)
    small, large = bytes(100), bytes(100_000)

    def work() -> None:
        for _ in range(50):
            hasher.update(small)
            hasher.update(large)
            hasher.copy().digest()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # All bytes are zeroes, so that only their number matters, not their order.
    assert hasher.digest() == theirs.blake3(bytes(8 * 50 * 100_100)).digest()


def test_other_threads_run_during_a_hash() -> None:
    data = bytes(64 << 20)
    counted = 0
    hashing = threading.Thread(target=lambda: [blake3(data) for _ in range(8)])
    hashing.start()
    while hashing.is_alive():
        counted += 1
    hashing.join()
    assert counted > 100


def _digest_in_child(data: bytes) -> tuple[bytes, bytes, bytes]:
    return (
        blake3(data, max_threads=ours.AUTO).digest(),
        blake3(data, max_threads=3).digest(),
        hash_many([data], max_threads=2)[0],
    )


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing(method: str) -> None:
    data = painted(3 << 20)
    expected = _digest_in_child(data)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_digest_in_child, [data] * 4) == [expected] * 4


def test_child_forked_during_an_update_does_not_hang() -> None:
    hasher = blake3()
    data = bytes(256 << 20)
    thread = threading.Thread(target=lambda: [hasher.update(data) for _ in range(8)])
    thread.start()
    children = []
    while thread.is_alive():
        child = os.fork()
        if child == 0:
            code = 1
            try:
                blake3(data[:1000], max_threads=ours.AUTO).digest()
                try:
                    hasher.update(b"x")
                    code = 0
                except RuntimeError as error:
                    code = 0 if "forked" in str(error) else 1
            finally:
                os._exit(code)
        children.append(os.waitpid(child, 0)[1])
    thread.join()
    assert children
    assert set(children) == {0}


def interrupted(call: str) -> None:
    """Checks that a long-running call ends at the first Ctrl-C, whenever it comes."""
    program = (
        "import signal, sys\n"
        "from hashmill.blake3 import *\n"
        "from hashmill.argon2 import *\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "data = bytes(1 << 28)\n"
        "try:\n"
        "    print('begun', flush=True)\n"
        f"    {call}\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    # Most likely during the call.
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 7
    process.stdout.close()


@pytest.mark.parametrize(
    "call",
    [
        "[blake3(data) for _ in range(10**6)]",
        "hash_many([data] * 10**6)",
        "hash_many(['/dev/zero'])",
        "hash_file('/dev/zero')",
    ],
)
def test_ctrl_c(call: str) -> None:
    interrupted(call)


def test_no_memory_leaks() -> None:
    data = [painted(100)] * 20

    def once() -> None:
        hash_many(data)
        blake3(data[0], key=KEY).copy().hexdigest(100)
        for bad in (lambda: hash_many([b"a", 5]), lambda: blake3(key=b"x"), lambda: hash_file(5)):
            try:
                bad()
            except (TypeError, ValueError):
                pass

    for _ in range(100):
        once()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    resident = _resident()
    for _ in range(20_000):
        once()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100_000, "five bytes a call; the smallest object has sixteen"
    assert _resident() - resident < 8 << 20


def _resident() -> int:
    """Memory of this process in bytes, on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_hashlib_file_digest(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"bytes")
    with (tmp_path / "file").open("rb") as file:
        digest = hashlib.file_digest(file, blake3)  # type: ignore[arg-type]
    assert digest.digest() == blake3(b"bytes").digest()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and limits of memory that count")
def test_caller_hashes_if_no_thread_can_be_started() -> None:
    program = """
import resource
from hashmill.blake3 import AUTO, blake3, hash_many
data = [bytes([number]) * (1 << 20) for number in range(16)]
expected = [blake3(each).digest() for each in data]
assert hash_many(data) == expected
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 20),) * 2)
assert hash_many(data, max_threads=AUTO) == expected
import threading
try:
    threading.Thread(target=print).start()
except RuntimeError:
    print("no threads")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "no threads\n"), done.stderr


@pytest.mark.parametrize("name", ["missing", "folder", "looped"])
def test_file_errors_equal_those_of_open(tmp_path: Path, name: str) -> None:
    """Class, number, message and file name of errors, for each function that reads the file."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "looped").symlink_to("looped")
    path = tmp_path / name
    with pytest.raises(OSError) as expected:
        path.read_bytes()
    for call in (hash_file, lambda path: blake3().update_mmap(path), lambda path: hash_many([path]), lambda path: hash_file(str(path))):
        with pytest.raises(OSError) as caught:
            call(path)
        assert type(caught.value) is type(expected.value)
        assert (caught.value.errno, caught.value.strerror) == (expected.value.errno, expected.value.strerror)
        assert caught.value.filename == str(path)
