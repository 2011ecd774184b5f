"""`visible`: makes text from files safe to print in a terminal."""

from __future__ import annotations

import unicodedata

__all__ = [
    "visible",
]

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters (C0, C1), format characters (including changes of text direction), lone surrogates, and
separators of lines and paragraphs."""


def visible(text: object, keep: str = "") -> str:
    r"""`text` with control characters as escapes: a red name becomes `\x1b[31mred`.

    Names of agents and files, option values and contents of logs can contain anything, including codes that move the cursor, rename the
    window or reverse the reading direction.

    Args:
        text: text to print.
        keep: characters to leave unchanged, such as line ends.
    """
    return "".join(
        char if char in keep or unicodedata.category(char) not in _HIDDEN else _escape(char) for char in str(text)
    )


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
