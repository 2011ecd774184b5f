"""The examples of docs/engines.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "engines.md"


def test_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block.replace("workers=4", "workers=1"), f"{PAGE.name}, example {number}", "exec"), names)
    assert 1 < float(capsys.readouterr().out.strip("[]\n")) < 2
    names["engine"].close()
