"""A directive that writes Markdown, and the parts of Markdown that the others share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class MarkdownDirective(SphinxDirective):
    """A directive whose result is a piece of Markdown, made when the manual is built."""

    required_arguments = 1
    optional_arguments = 20
    final_argument_whitespace = False

    def markdown(self) -> str:
        """The text that takes the place of the directive."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Parse the text as if it stood in the page."""
        return self.parse_text_to_nodes(self.markdown())


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell(one) for one in line) + " |" for line in lines) + "\n"


def cell(value: object) -> str:
    """A value as one line of a table."""
    return " ".join(str(value).split()).replace("|", r"\|")


def code(value: object) -> str:
    """A value as code; nothing for nothing."""
    text = cell(value)
    return f"`` {text} ``" if "`" in text else f"`{text}`" if text else ""
