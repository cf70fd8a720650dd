"""Presence of users: two and more that exchange payloads, heartbeats, expiry, and payloads that cannot be read."""

from __future__ import annotations

import math
import os
import random
import threading
from collections import UserDict
from datetime import datetime, timezone
from typing import Any

import pytest
from hashmill.documents import Counter, Document, FormatError, LimitError, Text, Timestamp, Unknown
from hashmill.documents.presence import Left, OtherPayload, Peer, Presence, Updated

# Starts of clocks: a process, a machine, and 1970, where a float is too coarse for a nanosecond.
STARTS = [0.0, 86_400.123456789, 1.8e9 + 0.1]


def sent(presence: Presence, now: float) -> list[bytes]:
    """All payloads of a user at this time."""
    payloads = []
    while (payload := presence.next_payload(now)) is not None:
        payloads.append(payload)
        assert len(payloads) < 1_000, "payloads without end"
    return payloads


def test_users_see_each_other_until_they_leave() -> None:
    ada, ben = Presence({"name": "Ada", "cursor": 3}), Presence()
    assert ada.next_deadline() == 0 and ada.next_deadline(connected=False) is None
    [snapshot] = sent(ada, 1)
    assert ben.receive("ada", snapshot, 1) == Updated("ada", ("cursor", "name"), is_new=True)
    assert ben.peers() == ["ada"] and ben.peer("ada") == Peer({"cursor": 3, "name": "Ada"}, 1.0, 1.0)
    assert ben.peer("eve") is None and ada.peers() == []
    ada.set("cursor", {"line": 4})
    ada.set("cursor", {"line": 5})
    [update] = sent(ada, 2)
    assert ben.receive("ada", update, 2) == Updated("ada", ("cursor",), is_new=False)
    peer = ben.peer("ada")
    assert peer is not None and peer.channels == ada.ours == {"cursor": {"line": 5}, "name": "Ada"}
    # The first payload after a pause repeats all channels; then there are heartbeats.
    assert sent(ada, 16.999) == [] and ada.next_deadline() == 17
    assert ben.receive("ada", sent(ada, 17)[0], 17) == Updated("ada", ("cursor", "name"), is_new=False)
    assert ben.receive("ada", sent(ada, 32)[0], 32) is None
    peer = ben.peer("ada")
    assert peer is not None and (peer.last_seen, peer.last_active) == (32, 17)
    ada.leave()
    [goodbye] = sent(ada, 33)
    assert ben.receive("ada", goodbye, 33) == Left("ada") and ben.peers() == []
    assert ben.receive("ada", goodbye, 33) is None
    assert ada.has_left and not ben.has_left and sent(ada, 99) == []


def test_reconnecting_users_are_told_of_everything() -> None:
    ada, ben = Presence({"name": "Ada"}), Presence()
    for payload in sent(ada, 0):
        ben.receive("ada", payload, 0)
    ada.reconnect()
    said = [ben.receive("ada", payload, 1) for payload in sent(ada, 1)]
    assert said == [Left("ada"), Updated("ada", ("name",), is_new=True)]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(("heartbeat", "expiry"), [(15.0, 45.0), (0.1, 0.3), (1 / 3, 1e9)])
def test_deadlines_are_reached(start: float, heartbeat: float, expiry: float) -> None:
    """A program that wakes exactly at each deadline has something to do then, whatever the rounding."""
    ada, ben = Presence(heartbeat=heartbeat, expiry=expiry), Presence({"x": 1})
    ada.receive("ben", sent(ben, start)[0], start)
    now, expired = start, []
    for _ in range(100):
        deadline = ada.next_deadline()
        assert deadline is not None
        now = max(now, deadline)
        done = [*ada.expire(now), *sent(ada, now)]
        assert done, f"nothing to do at {now!r}"
        expired += [each for each in done if each == "ben"]
        after = ada.next_deadline()
        assert after is not None and after > now
    assert bool(expired) == (expiry < 100 * heartbeat) and (ada.peers() == []) == bool(expired)


@pytest.mark.parametrize("start", STARTS)
def test_silent_users_expire(start: float) -> None:
    ada, other = Presence(expiry=30), Presence({"x": 1})
    [snapshot], [heartbeat] = sent(other, 0), sent(other, 15)
    ada.receive("one", snapshot, start)
    ada.receive("two", snapshot, start + 10)
    assert ada.next_deadline(connected=False) == pytest.approx(start + 30)
    assert ada.expire(start + 29) == [] and ada.expire(start + 31) == ["one"] and ada.peers() == ["two"]
    assert ada.receive("two", heartbeat, start + 35) is None
    assert ada.expire(start + 64) == [] and ada.expire(start + 66) == ["two"] and ada.peers() == []
    assert ada.receive("two", heartbeat, start + 70) is None and ada.peers() == []


def test_users_agree_after_lost_payloads() -> None:
    """Users set channels while payloads get lost or come twice. After a new connection they agree."""
    for seed in range(20):
        rng = random.Random(seed)
        users = {name: Presence({"name": name}) for name in ("ada", "ben", "eve")}
        now = 0.0
        for step in range(80):
            now += rng.random() * 4
            if step == 40:
                for user in users.values():
                    user.reconnect()
            if step < 40:
                users[rng.choice(list(users))].set(rng.choice("ab"), [step, {"at": now}])
            lines: list[tuple[str, str, bytes]] = []
            for name, user in users.items():
                for payload in sent(user, now):
                    lines += [(name, other, payload) for other in users if other != name]
            if step < 40:
                lines = [line for line in lines for _ in range(rng.choice([0, 1, 1, 2]))]
            for name, other, payload in lines:
                users[other].receive(name, payload, now)
            for user in users.values():
                user.expire(now)
        for name, user in users.items():
            assert user.peers() == sorted(users.keys() - {name}), seed
            for other in user.peers():
                peer = user.peer(other)
                assert peer is not None and peer.channels == users[other].ours, (seed, name, other)


def test_values_are_those_of_documents() -> None:
    doc = Document({"text": Text("a text"), "list": [1, {"a": None}], "votes": Counter(3)})
    noon = datetime(2026, 11, 30, 12, 0, 0, 250_000, tzinfo=timezone.utc)
    values: dict[str, tuple[Any, Any]] = {
        "none": (None, None),
        "truth": (True, True),
        "integers": ([0, -1, 2**32, -(2**40), 2**53, 2**63, -(2**63), 2**64 - 1],) * 2,
        "floats": ([1.5, -1e300, math.inf], [1.5, -1e300, math.inf]),
        "whole": ([2.0, 2.0**60], [2, 2.0**60]),
        "bytes": ([b"\x00\xff", bytearray(b"x"), memoryview(b"y")], [b"\x00\xff", b"x", b"y"]),
        "text": ("é😀\0", "é😀\0"),
        "tuple": ((1, (2,)), [1, [2]]),
        "map": ({"": {"__proto__": 1}}, {"": {"__proto__": 1}}),
        "time": (noon, noon),
        "far": (Timestamp(10**15), Timestamp(10**15)),
        "counter": (Counter(7), 7),
        "document": (doc, {"text": "a text", "list": [1, {"a": None}], "votes": 3}),
    }
    ada, ben = Presence({name: value for name, (value, _) in values.items()}), Presence()
    ben.receive("ada", sent(ada, 0)[0], 0)
    peer = ben.peer("ada")
    expected = {name: value for name, (_, value) in values.items()}
    assert peer is not None and peer.channels == ada.ours == expected
    assert isinstance(peer.channels["whole"][0], int) and isinstance(peer.channels["integers"][2], int)
    assert peer.channels["time"].tzinfo is not None and type(peer.channels["truth"]) is bool


def test_values_that_no_user_could_read_are_refused() -> None:
    presence = Presence({"x": 1})
    deep: list[Any] = [1]
    for _ in range(61):
        deep = [deep]
    itself: list[Any] = []
    itself.append(itself)
    for value, error in [
        (object(), TypeError),
        ({1: 2}, TypeError),
        (2**64, OverflowError),
        (datetime(2026, 1, 1), ValueError),
        (Unknown(12, b"x"), ValueError),
        (Timestamp(2**62), ValueError),
        (deep, LimitError),
        (itself, RecursionError),
        ("x" * 65_536, LimitError),
        ("\ud800", UnicodeEncodeError),
    ]:
        with pytest.raises(error):
            presence.set("x", value)
        with pytest.raises(error):
            Presence({"x": value})
        assert presence.ours == {"x": 1}
    presence.set("x", deep[0])
    with pytest.raises(TypeError):
        Presence("x")  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="256 channels"):
        Presence({str(number): 0 for number in range(257)})


def test_times_are_checked() -> None:
    presence = Presence()
    for wrong in (-1.0, math.nan, math.inf, 1e300):
        for call in (
            lambda: presence.next_payload(wrong),
            lambda: presence.expire(wrong),
            lambda: presence.receive("x", b"", wrong),
            lambda: Presence(heartbeat=wrong),
            lambda: Presence(expiry=wrong),
        ):
            with pytest.raises(ValueError, match="must be a number of seconds from 0 on"):
                call()
    for no_time in (0.0, 1e-12):
        with pytest.raises(ValueError, match="more than 0"):
            Presence(heartbeat=no_time)


def presence_payload(message: bytes) -> bytes:
    return b"\xa1\x6a__presence" + message


def test_payloads_that_cannot_be_read_change_nothing() -> None:
    ben = Presence()
    sent(ben, 0)
    assert ben.receive("ada", sent(Presence({"x": 1}), 0)[0], 0) == Updated("ada", ("x",), is_new=True)
    before, deadline = ben.peer("ada"), ben.next_deadline()
    # Messages of the program, a message of a later version, and what is no CBOR.
    no_unicode = presence_payload(b"\xa1\x64type\x61\xff")
    for other in (b"", b"\xa0", b"\x01", b"\xff", b"text", b"\xa1\x61x\x01", presence_payload(b"\xa1\x64type\x63new"), no_unicode):
        assert ben.receive("ada", other, 1) == OtherPayload(), other
    for wrong in (
        b"\xa0",
        b"\x05",
        b"\xa1\x64type\x68snapshot",
        b"\xa2\x64type\x66update\x65value\x01",
        # Values that documents cannot hold: a simple value, and a key that is no text.
        b"\xa3\x64type\x66update\x67channel\x61x\x65value\xe5",
        b"\xa3\x64type\x66update\x67channel\x61x\x65value\xa1\xf5\x01",
    ):
        with pytest.raises(FormatError, match="presence that cannot be read: "):
            ben.receive("ada", presence_payload(wrong), 1)
    large = b"\xa3\x64type\x66update\x67channel\x61x\x65value\x5a\x00\x01\x00\x00" + bytes(1 << 16)
    with pytest.raises(LimitError):
        ben.receive("ada", presence_payload(large), 1)
    with pytest.raises(LimitError, match="id"):
        ben.receive("i" * 1_025, sent(Presence(), 0)[0], 1)
    assert ben.peer("ada") == before and ben.peers() == ["ada"] and ben.next_deadline() == deadline


def test_damaged_payloads_never_crash() -> None:
    rng = random.Random(3)
    ada = Presence({"list": [1, 2.5, "text", b"bytes", None, {"key": Timestamp(5)}], "name": "Ada"})
    payloads = sent(ada, 0)
    ada.set("name", {"first": "Ada"})
    payloads += sent(ada, 0)
    ben, read = Presence(), 0
    for _ in range(5_000):
        payload = bytearray(rng.choice(payloads))
        for _ in range(rng.randrange(1, 4)):
            payload[rng.randrange(len(payload))] ^= 1 << rng.randrange(8)
        try:
            ben.receive("ada", bytes(payload[: rng.choice([None, rng.randrange(len(payload))])]), 0)
        except (FormatError, LimitError):
            pass
        else:
            read += 1
        peer = ben.peer("ada")
        # What was accepted can be shown and set again.
        if peer is not None:
            assert len(Presence(peer.channels).ours) == len(peer.channels)
            ben.expire(50)
            ben = Presence()
    assert read > 100


def test_threads_share_a_presence() -> None:
    """Conversion of a value runs code of the program, which may use the same presence."""
    presence = Presence()

    class Calling(UserDict[str, int]):
        def __getitem__(self, key: str) -> int:
            presence.set("inner", 1)
            return super().__getitem__(key)

    presence.set("outer", [Calling(a=1)])
    assert presence.ours == {"inner": 1, "outer": [{"a": 1}]}
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(300):
                presence.set(name, {"number": number})
                presence.receive(name, sent(Presence({"x": number}), 0)[0], number)
                presence.next_payload(number)
                presence.expire(number)
                assert presence.ours[name] == {"number": number}
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_processes_have_their_own_presence() -> None:
    presence = Presence({"x": 1})
    child = os.fork()
    if child == 0:
        presence.set("x", 2)
        os._exit(0 if presence.ours == {"x": 2} and presence.next_payload(0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and presence.ours == {"x": 1}
