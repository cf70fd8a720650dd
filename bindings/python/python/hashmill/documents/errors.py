"""Exceptions of documents without a built-in class."""


class DocumentError(Exception):
    """Base class of errors of documents."""


class FormatError(DocumentError, ValueError):
    """Bytes or JSON that are not a document, change or message."""


class ApplyError(DocumentError, ValueError):
    """A change that contradicts the history it builds on."""


class LimitError(DocumentError):
    """An input requests more than the limits allow, or a document would exceed them."""


class UnknownChangeError(DocumentError, LookupError):
    """A hash of no change of this document."""


class StaleError(DocumentError):
    """An object whose change was rolled back, or a change that has ended."""


class ChangeOpenError(DocumentError):
    """An open change has to end first."""


class ReadOnlyError(DocumentError, TypeError):
    """A view of the history is read-only: write to a fork of it."""
