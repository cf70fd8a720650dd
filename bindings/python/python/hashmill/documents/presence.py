"""Presence: what each user of a document shows the others, such as a cursor; never stored.

>>> from hashmill.documents.presence import Presence
>>> ada, ben = Presence({"name": "Ada", "cursor": 3}), Presence({"name": "Ben"})
>>> ben.receive("ada", ada.next_payload(now=0), now=0)
Updated(peer='ada', channels=('cursor', 'name'), is_new=True)
>>> ben.peer("ada").channels
{'cursor': 3, 'name': 'Ada'}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hashmill._hashmill.documents import Presence

__all__ = ["Left", "OtherPayload", "Peer", "Presence", "Received", "Updated"]


@dataclass(frozen=True, slots=True)
class Peer:
    """The presence of another user: the values of its channels, and the times of its last message and of the last one that was no
    heartbeat."""

    channels: dict[str, Any]
    last_seen: float
    last_active: float


@dataclass(frozen=True, slots=True)
class Updated:
    """Channels of a user have new values. ``is_new`` tells whether the user was unknown before."""

    peer: str
    channels: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True, slots=True)
class Left:
    """A user left."""

    peer: str


@dataclass(frozen=True, slots=True)
class OtherPayload:
    """The payload is no presence, but a message of the program."""


Received = Updated | Left | OtherPayload
