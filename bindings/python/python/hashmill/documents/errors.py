"""What can go wrong with a document, where Python has no name for it."""


class DocumentError(Exception):
    """Whatever is wrong with a document."""


class FormatError(DocumentError, ValueError):
    """Bytes or JSON that are no document, change or message."""


class ApplyError(DocumentError, ValueError):
    """A change that contradicts the history it builds on."""


class LimitError(DocumentError):
    """An input asks for more, or a document would become more, than the limits allow."""


class UnknownChangeError(DocumentError, LookupError):
    """A hash that names no change of this document."""


class StaleError(DocumentError):
    """An object whose change was taken back, or a change that has ended."""


class ChangeOpenError(DocumentError):
    """A change is open that has to end first."""


class ReadOnlyError(DocumentError, TypeError):
    """A document as it was is not written: a fork of it is."""
