"""Tests of `engine=`: the processor by name, devices where there are some, errors where there are none."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import NoReturn

import pytest
from hashmill import EngineError
from hashmill.argon2 import Parameters, Passwords, Type
from hashmill.blake3 import AUTO, hash_file, hash_many

CHEAP = Parameters(Type.ID, 19, 16, 32, 1, 64, 1)
NAMES = [f"password {number}" for number in range(9)]


MISSING = re.compile(
    r"(cuda|wgpu): (no driver of NVIDIA, or one that is too old: |no device: no driver offers one"
    r"|this build has no devices)"
)


def skip_without_device(error: EngineError) -> NoReturn:
    """Skips the test where there is no such device. Other errors of engines are failures."""
    if MISSING.match(str(error)) is None:
        raise error
    pytest.skip(str(error))


def opened(engine: str) -> Passwords:
    """Passwords on this engine; skips the test where there is no such device."""
    try:
        return Passwords(CHEAP, secret=b"pepper", engine=engine)
    except EngineError as error:
        skip_without_device(error)


@pytest.mark.parametrize("engine", ["cpu", "auto", "wgpu", "cuda", "cpu,wgpu"])
def test_batches_are_those_of_the_processor(engine: str) -> None:
    ours, plain = opened(engine), Passwords(CHEAP, secret=b"pepper")
    hashes = ours.hash_many(NAMES)
    logins = [(stored, name) for stored, name in zip(hashes, NAMES, strict=True)]
    wrong = [(stored, name + "!") for stored, name in logins]
    mixed = [*logins, *wrong, ("no hash", "x")]
    for passwords in [ours, plain]:
        assert passwords.verify_many(logins) == [True] * len(NAMES)
        verdicts = passwords.verify_many(mixed, return_exceptions=True)
        assert verdicts[:-1] == [True] * len(NAMES) + [False] * len(NAMES)
        assert isinstance(verdicts[-1], Exception) and not isinstance(verdicts[-1], EngineError)
    assert ours.verify_many([(stored, name) for stored, name in zip(plain.hash_many(NAMES), NAMES, strict=True)]) == [True] * 9
    assert ours.verify(ours.hash("one"), "one") is True


@pytest.mark.parametrize("engine", ["cpu", "wgpu", "cuda"])
def test_files_are_those_of_the_processor(engine: str, tmp_path: Path) -> None:
    paths = []
    for number, length in enumerate([0, 1000, 20 << 20]):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(bytes(range(251)) * (length // 251 + 1))
    try:
        found = hash_many(paths, engine=engine, max_threads=AUTO)
    except EngineError as error:
        skip_without_device(error)
    assert found == hash_many(paths)
    assert hash_many(paths, key=b"k" * 32, engine=engine) == hash_many(paths, key=b"k" * 32)
    assert hash_file(paths[2], engine=engine) == found[2]
    absent = tmp_path / "absent"
    results = hash_many([absent, paths[1]], engine=engine, return_exceptions=True)
    assert isinstance(results[0], FileNotFoundError) and results[1] == found[1]


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("cuad:1", "no engine is called \"cuad:1\": did you mean cuda"),
        ("", "an engine without a name"),
        ("cpu:0", "only cuda and wgpu have devices"),
        ("cpu,cpu", "twice"),
    ],
)
def test_a_wrong_name_is_a_value_error(engine: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"bytes")
    with pytest.raises(ValueError, match=words):
        Passwords(CHEAP, engine=engine)
    with pytest.raises(ValueError, match=words):
        hash_many([file], engine=engine)


def test_a_device_that_is_not_there_is_an_engine_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"bytes")
    for engine in ["cuda:no such device", "wgpu:no such device"]:
        with pytest.raises(EngineError, match=engine.split(":")[0]):
            Passwords(CHEAP, engine=engine)
        with pytest.raises(EngineError, match=engine.split(":")[0]):
            hash_file(file, engine=engine)
    assert issubclass(EngineError, RuntimeError)


def test_engines_are_for_paths_and_files_have_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"bytes")
    with pytest.raises(ValueError, match="paths"):
        hash_many([b"bytes"], engine="cpu")
    with file.open("rb") as readable, pytest.raises(ValueError, match="path"):
        hash_file(readable, engine="cpu")
    assert hash_many([], engine="cpu") == []


def test_copies_and_pickles_have_the_engine() -> None:
    passwords = Passwords(CHEAP, engine="cpu")
    assert "engine='cpu'" in repr(passwords)
    assert copy.copy(passwords) is passwords
    again = pickle.loads(pickle.dumps(passwords))
    assert repr(again) == repr(passwords)
    assert again.verify_many([(passwords.hash("x"), "x")]) == [True]
