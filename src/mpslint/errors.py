"""What can go wrong with the user's input, each with one line that names the way out."""

from __future__ import annotations


class MpslintError(Exception):
    """Base of every error that is the input's and not mpslint's; exit code 2."""


class BadSource(MpslintError):
    """A file that cannot be read, decoded or parsed."""

    def __init__(
        self, path: str, reason: str, row: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(path, reason, row, column)
        self.path = path
        self.reason = reason
        self.row = row
        self.column = column

    def __str__(self) -> str:
        place = f"{self.path}:{self.row}:{self.column}" if self.row else self.path
        return f"{place}: {self.reason}"


class BadSettings(MpslintError):
    """A settings file or option that is not understood."""


class CannotWrite(MpslintError):
    """A file that could not be replaced; the file is as it was."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; the file is unchanged"


def reason_of(error: OSError) -> str:
    """What the system said, without the number and the path."""
    return (error.strerror or type(error).__name__).lower()
