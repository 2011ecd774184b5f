"""`visible`: text from files and names as characters that a terminal only shows."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: control characters (C0, C1), format characters (also those that change the direction of text), lone surrogates,
separators of lines and paragraphs."""


def visible(text: object, keep: str = "") -> str:
    r"""`text` with control characters written as escapes: a red name becomes `\x1b[31mred`.

    Names of agents and files, option values and contents of logs can hold anything, also what moves the cursor, renames the window
    or turns the reading direction around.

    Args:
        text: to be printed.
        keep: characters that stay as they are, e.g. line ends.
    """
    return "".join(
        char if char in keep or unicodedata.category(char) not in _HIDDEN else _escape(char) for char in str(text)
    )


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
