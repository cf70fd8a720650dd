"""Documents on several threads, in forks, and while Python ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hashmill.documents import Counter, Document, StaleError, SyncState, Text

THREADS = 8


def at_once(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Runs `work` on `count` threads. Raises their exceptions; a hang is reported."""
    wrong: list[BaseException] = []
    start = threading.Barrier(threads)

    def one(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            wrong.append(error)

    running = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(120)
        assert not thread.is_alive(), "a thread hangs"
    if wrong:
        raise wrong[0]


def test_edits_of_all_threads_are_kept() -> None:
    doc = Document({"n": Counter(0), "l": [], "t": Text()})

    def work(number: int) -> None:
        for each in range(50):
            doc.increment("n")
            doc["l"].append(number)
            doc["t"].append(str(number))
            doc[f"{number} {each}"] = each
            len(doc), list(doc["l"]), str(doc["t"]), doc.get("n"), doc.to_python()

    at_once(work)
    assert doc["n"] == THREADS * 50 == len(doc["l"]) == len(doc["t"]) and len(doc) == THREADS * 50 + 3


def test_changes_of_threads_are_serialized() -> None:
    doc = Document({"l": []})

    def work(number: int) -> None:
        for _ in range(20):
            try:
                with doc.change(str(number)):
                    doc["l"].append(number)
                    doc["l"].append(number)
                    doc["x"] = {"by": number}
                    assert doc["x"]["by"] == number
                    if len(doc["l"]) % 3 == 0:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                pass
            doc.save(), doc.heads, doc.fork()

    at_once(work)
    pairs = list(doc["l"])
    assert pairs[::2] == pairs[1::2]
    assert all(len(change) == 2 or change.message is not None for change in doc.changes()[1:])


def test_concurrent_merges_and_syncs() -> None:
    docs = [Document({"n": number}, actor=f"{number:02x}") for number in range(THREADS)]

    def work(number: int) -> None:
        for each in range(10):
            mine, other = docs[number], docs[(number + each) % THREADS]
            mine[f"{number} {each}"] = each
            if other is not mine:
                mine.merge(other)
                other.merge(mine)
            mine.merge(mine)
            Document.load(mine.save()).diff([])

    at_once(work)
    for doc in docs:
        docs[0].merge(doc)
    assert len(docs[0]) == THREADS * 10 + 1


def test_signal_ends_the_wait_for_a_change() -> None:
    doc = Document({"a": 1})
    opened, end = threading.Event(), threading.Event()

    def hold() -> None:
        with doc.change():
            opened.set()
            end.wait(300)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert opened.wait(300)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            doc["a"] = 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert doc["a"] == 1, "reading does not wait"
    end.set()
    holder.join(300)
    doc["a"] = 2


def test_objects_of_a_change_on_other_threads() -> None:
    doc = Document()
    seen: list[Any] = []
    try:
        with doc.change():
            doc["m"] = {"l": [1]}
            thread = threading.Thread(target=lambda: seen.append(doc["m"]["l"]))
            thread.start()
            thread.join(300)
            1 / 0
    except ZeroDivisionError:
        pass
    with pytest.raises(StaleError):
        len(seen[0])


def in_child(saved: bytes, answer: Any) -> None:
    doc = Document.load(saved)
    doc["child"] = True
    answer.put((len(doc["l"]), len(doc.save()) > len(saved) // 2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_after_threads_were_used() -> None:
    doc = Document({"l": [f"{number} and more" for number in range(20_000)]})
    saved = doc.save()
    assert Document.load(saved) is not None
    context: Any = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=in_child, args=(saved, answer), daemon=True)
    child.start()
    assert answer.get(timeout=300) == (20_000, True)
    child.join(300)
    assert child.exitcode == 0


def raises_fork_error_in_child(*works: Callable[[], object]) -> bool:
    """Checks that each work ends in a child forked now, and one of them with the error about forks."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(300)
            code = 0
            for work in works:
                try:
                    work()
                except RuntimeError as error:
                    code = 3 if "forked" in str(error) else 1
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 3), "a child hangs, or fails otherwise"
    return os.WEXITSTATUS(status) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_forked_during_an_edit_does_not_hang() -> None:
    doc = Document({"l": [f"{number} and more" for number in range(50_000)]})
    state, events = SyncState(), doc.events()
    end = threading.Event()

    def work() -> None:
        while not end.is_set():
            doc.save()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        works: list[Callable[[], object]] = [
            lambda: doc.update(a=1),
            lambda: doc["l"],
            events.news,
            lambda: doc.generate_sync_message(state),
        ]
        assert any(raises_fork_error_in_child(*works) for _ in range(50))
    finally:
        end.set()
        thread.join(300)
    assert not raises_fork_error_in_child(*works), "a child of a moment without work goes on with the document"
    doc["a"] = 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_does_not_wait_for_a_change_of_the_parent() -> None:
    doc = Document({"a": 1})
    opened, end = threading.Event(), threading.Event()

    def hold() -> None:
        with doc.change():
            opened.set()
            end.wait(300)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert opened.wait(300)
    assert raises_fork_error_in_child(lambda: doc.update(a=2)) and raises_fork_error_in_child(doc.save)
    end.set()
    holder.join(300)
    with doc.change():
        assert not raises_fork_error_in_child(lambda: doc.update(a=2)), "the thread that forks has its change with it"


def test_interpreter_ends_with_an_open_change() -> None:
    program = """
import threading, time
from hashmill.documents import Document
doc = Document({"a": [1]})
change = doc.change(); change.__enter__(); doc["b"] = 1
threading.Thread(target=lambda: doc.update(c=1), daemon=True).start()
time.sleep(0.1)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_import_starts_no_thread() -> None:
    program = "import os, hashmill.documents as d; d.Document({'a': 1}).save(); print(len(os.listdir('/proc/self/task')))"
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("needs /proc")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "1\n"
