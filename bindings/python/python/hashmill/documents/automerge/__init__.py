"""The names of the package ``automerge`` 1.0.0rc1, with the same behaviour.

``import hashmill.documents.automerge as automerge``; ``from hashmill.documents.automerge import core``.
"""

from .core import ROOT, ObjType, ScalarType
from .document import Document, ImmutableString, MutableText, Text

__all__ = ["ROOT", "Document", "ImmutableString", "MutableText", "ObjType", "ScalarType", "Text"]
