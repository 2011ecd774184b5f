"""`LineTable`: many texts that share most of their lines, each line kept once."""

from __future__ import annotations


class LineTable:
    """Numbers the lines of texts; `lines[n]` is line n."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[str, int] = {}

    def add(self, text: str) -> list[int]:
        """The numbers of the lines of `text`."""
        return [self._number(line) for line in text.split("\n")]

    def _number(self, line: str) -> int:
        number = self._numbers.setdefault(line, len(self.lines))
        if number == len(self.lines):
            self.lines.append(line)
        return number
