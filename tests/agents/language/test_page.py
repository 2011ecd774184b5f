"""The examples of docs/language_models.md run as they stand, one after another."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "language_models.md").read_text(encoding="utf-8")


def test_examples_run_in_order(capsys):
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for number, block in enumerate(blocks):
        exec(compile(block, f"language_models.md, example {number}", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 3
    assert "WM 10 <state> # P" in printed[0]
