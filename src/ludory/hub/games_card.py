"""The card of recorded games, by which `datasets.load_dataset` finds their files."""

from __future__ import annotations

from pathlib import Path

from ludory.checkpoints.hub import SHARDS
from ludory.data.dataset import TrajectoryDataset
from ludory.data.header import TrajectoryHeader
from ludory.data.shards import read_manifest

from .page import CHECKED, code, codes, front_matter, pairs, table, without_folders

COLUMNS = {
    "game, seed": "number of the game, whose rows are consecutive; seed of its random draws",
    "step, seat": "number of the move in the game; the seat that decides",
    "observation": "what the seat sees: {observation}",
    "mask": "legal values of all heads in turn, {actions} bits",
    "action_HEAD, log_prob_HEAD": "the value chosen, and its log-probability where it is known; heads: {heads}",
    "reward": "of the seat, from this decision to its next one or to the end",
    "terminated, truncated": "how the game ended, on a seat's last decision",
}


def games_card(folder: Path, repo: str, license: str | None) -> str:
    """The card of a folder of `ludory record`.

    Args:
        folder: of the games; all of it is checked.
        repo: owner/name.
        license: as the hub writes it; None: not stated.

    Raises:
        DataError: the games are damaged or incomplete.
    """
    header, games, rows = read_manifest(folder).header, *_sizes(folder)
    name = repo.partition("/")[2]
    top = front_matter(
        {
            "license": license,
            "tags": ["ludory", "reinforcement-learning", header.game],
            "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": SHARDS}]}],
        }
    )
    return "\n".join(
        [
            top,
            f"# {name}",
            "",
            f"{games:,} games of {code(header.game)}, {rows:,} decisions, recorded with Ludory {header.library_version}.",
            "",
            f'```bash\npip install "ludory[hub,lightning]"\nludory train bc --data hf://datasets/{repo}\n```',
            "",
            f'```python\nfrom datasets import load_dataset\n\nrows = load_dataset("{repo}", split="train")\n```',
            "",
            CHECKED,
            "",
            _facts(header),
            "",
            "## Columns",
            "",
            _columns(header),
            "",
        ]
    )


def _sizes(folder: Path) -> tuple[int, int]:
    found = TrajectoryDataset(folder)
    return found.num_games, len(found)


def _facts(header: TrajectoryHeader) -> str:
    agents = without_folders(header.agents)
    return table(
        {
            "game": code(header.game),
            "options of the game": pairs(header.options),
            "agents, by seat": codes(agents),
            "SHA-256 of checkpoints": pairs(without_folders(header.checkpoints)),
            "search": pairs(without_folders(header.search)),
            "seed": None if header.seed is None else code(header.seed),
            "rules": code(header.package) if header.package else None,
        }
    )


def _columns(header: TrajectoryHeader) -> str:
    spec = header.observation
    shape = f"{spec.name!r}, shape {'x'.join(map(str, spec.shape))}"
    told = {
        "observation": f"{shape}, {'bits' if spec.bits else 'float32'}",
        "actions": str(header.num_actions),
        "heads": ", ".join(f"{head.name} ({head.size})" for head in header.heads),
    }
    rows = {code(name): meaning.format(**told) for name, meaning in COLUMNS.items()}
    extras = {code(one.name): f"{one.kind}{f', {one.size} values' if one.size else ''}" for one in header.extra_columns}
    how = "Bits are in the order of `numpy.unpackbits(numpy.frombuffer(value, 'uint8'))`."
    return f"{table(rows | extras)}\n\n{how}"
