"""`push` and `pull`: an agent, or a folder of recorded games, and its repository on the Hugging Face hub."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from ludory.atomic import atomic_file, atomic_folder
from ludory.checkpoints.file_list import LIST, Files, StoredFile, as_json
from ludory.checkpoints.hub import AGENT, CARD, GAMES, SHARDS, Fetched, HubAddress, answered, fetch, parse_address
from ludory.errors import HubError, OptionError, OutputError
from ludory.paths import as_path
from ludory.plugins.spec import CHECKPOINT_SUFFIX, FOLDER_HEADER

from .page import with_folders, without_folders

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_log = logging.getLogger(__name__)
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.-]*")


class Pushed(NamedTuple):
    """What a push made."""

    address: HubAddress
    """With the commit."""
    url: str
    """Of the commit, for a browser."""
    files: Files


def card(path: str | Path, name: str = "owner/name", *, license: str | None = None, score_games: int = 0) -> str:
    """The card that `push` writes with the same arguments.

    Raises:
        As `push`, but for what concerns the hub.
    """
    address = _to_push(path, name, license, score_games)
    if address.kind == "model":
        from .agent_card import agent_card

        return agent_card(Path(path), address.repo, license, score_games)
    from .games_card import games_card

    return games_card(Path(path), address.repo, license)


def push(
    path: str | Path,
    name: str,
    *,
    private: bool = False,
    message: str | None = None,
    revision: str | None = None,
    license: str | None = None,
    score_games: int = 0,
) -> Pushed:
    """Write an agent or recorded games to the hub, with a card and a list of the SHA-256 of all files, in one commit.

    Args:
        path: checkpoint, or folder of `ludory record`.
        name: owner/name, with hf:// or without. The repository is made if there is none.
        private: only you, and those whom you let, can read it.
        message: of the commit.
        revision: branch, which is made if there is none; None: main.
        license: for the card, as the hub writes it, such as "mit"; None: the card states none.
        score_games: games in which an agent is scored for the card; 0: not measured.

    Returns:
        The address with its commit.

    Raises:
        CheckpointError, DataError: the file or folder is damaged, or of another kind.
        HubError: the hub cannot be reached, or refuses; no file was changed there.
        OptionError: an argument is wrong.
        PluginError: the extra `hub` is not installed.
    """
    address = _to_push(path, name, license, score_games, revision)
    with answered(address):  # before a score takes its time
        from huggingface_hub import HfApi
    with _ready(Path(path), address) as place:
        files = {place.name: place} if address.kind == "model" else {one.name: one for one in _files_of_games(place)}
        page = card(place, name, license=license, score_games=score_games).encode()
        listed = {one: StoredFile.of(file) for one, file in files.items()}
        listing = f"{json.dumps({'files': as_json(listed)}, indent=1)}\n".encode()
        with answered(address, writes=True):
            url, commit = _commit(
                HfApi(library_name="ludory"), address, {**files, LIST: listing, CARD: page}, private, message
            )
    return Pushed(address._replace(revision=commit), url, listed)


def pull(name: str, to: str | Path | None = None, *, revision: str | None = None, force: bool = False) -> Path:
    """Copy an agent's checkpoint, or a folder of recorded games, out of the hub; it appears when it is whole.

    Args:
        name: owner/name, or datasets/owner/name for recorded games; with hf:// or without, and with @revision or without.
        to: file or folder; None: `name.ludory`, or the folder `name`, in the current folder.
        revision: branch, tag or commit; None: main.
        force: replace a file, or a folder of recorded games, that is another one.

    Returns:
        The file or folder.

    Raises:
        HubError: the hub cannot be reached or refuses, or a file is damaged or missing.
        OutputError: there is something else at `to`, or it cannot be written to.
        PluginError: the extra `hub` is not installed.
    """
    address = _address(name, revision)
    base = address.repo.partition("/")[2]
    if address.kind == "dataset":
        target = as_path(base if to is None else to)
        _copy_games(fetch(address, CARD), target, force)
        return target
    file = f"{base}{CHECKPOINT_SUFFIX}"
    target = as_path(file if to is None else to)
    if target.is_dir():
        target = target / file
    found = fetch(address)
    if not target.exists() or (not _is_same(target, found.files[AGENT]) and force):
        with atomic_file(target) as handle, (found.folder / AGENT).open("rb") as source:
            shutil.copyfileobj(source, handle)
    elif not _is_same(target, found.files[AGENT]):
        raise _taken(target)
    return target


def _copy_games(found: Fetched, target: Path, force: bool) -> None:
    if target.is_dir() and all(_is_same(target / name, one) for name, one in found.files.items()):
        return
    empty = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    # a folder of anything else is never replaced: all that is in it would be lost
    if not empty and not (target / GAMES).is_file():
        raise OutputError(f"{target}: exists, and holds no recorded games; name another folder with --to")
    if not empty and not force:
        raise _taken(target)
    with atomic_folder(target) as fresh:
        for name in (*found.files, CARD):
            if (found.folder / name).exists():
                shutil.copyfile(found.folder / name, fresh / name)


def _is_same(file: Path, one: StoredFile) -> bool:
    return file.is_file() and StoredFile.of(file) == one


def _taken(target: Path) -> OutputError:
    return OutputError(f"{target}: exists, and differs from what the hub has; name another with --to, or type --force")


def _address(name: str, revision: str | None) -> HubAddress:
    address = parse_address(name)
    if revision is not None and address.revision is not None:
        raise OptionError(f"{name}: names a revision, and so does --revision {revision}; leave one out")
    return address._replace(revision=revision or address.revision)


def _to_push(
    path: str | Path, name: str, license: str | None, score_games: int, revision: str | None = None
) -> HubAddress:
    """The repository, after a look at what is to be pushed.

    Raises:
        OptionError: an argument is wrong, or the path is of neither kind.
    """
    place, address = as_path(path), _address(name, revision)
    if license is not None and not _LICENCE.fullmatch(license):
        raise OptionError(f"--license {license}: must be the hub's word for one, such as mit, apache-2.0 or cc-by-4.0")
    if score_games < 0:
        raise OptionError(f"--score-games {score_games}: must be at least 0")
    if (place / FOLDER_HEADER).is_file():
        raise OptionError(
            f"{path}: a checkpoint that is a folder, as of language models; `hf upload {address.repo} {path}` sends it"
        )
    holds_games = (place / GAMES).is_file()
    if holds_games and score_games:
        raise OptionError(f"--score-games {score_games}: is for agents, {path} holds recorded games; leave it out")
    if holds_games:
        return address._replace(kind="dataset")
    if place.is_dir():
        raise OptionError(f"{path}: a folder without {GAMES}; name a checkpoint, or a folder of `ludory record`")
    if address.kind == "dataset":
        raise OptionError(f"{name}: is for recorded games, and {path} is no folder of `ludory record`; name owner/name")
    return address


@contextmanager
def _ready(place: Path, address: HubAddress) -> Iterator[Path]:
    """A checkpoint, or a folder of games, that nobody changes meanwhile and that names no folders of this machine."""
    with TemporaryDirectory(prefix="ludory-") as folder:
        if address.kind == "model":
            from ludory.checkpoints.checkpoint import read_header

            if told := with_folders(read_header(place)):
                _log.warning(
                    "%s names folders of this machine, which whoever reads %s can see: %s",
                    place,
                    address,
                    ", ".join(told),
                )
            yield Path(shutil.copyfile(place, Path(folder) / AGENT))
        else:
            yield _without_folders(place, Path(folder))


def _files_of_games(folder: Path) -> list[Path]:
    return [folder / GAMES, *sorted(folder.glob(SHARDS))]


def _without_folders(place: Path, folder: Path) -> Path:
    """The games themselves, or a copy where the header of each file names agents without their folders."""
    from ludory.data.columns import schema_of
    from ludory.data.header import header_from_json, header_to_json
    from ludory.data.shards import open_shard, read_manifest, read_rows, write_manifest, write_table

    manifest = read_manifest(place)
    header = header_from_json(without_folders(header_to_json(manifest.header)), place)
    if header == manifest.header:
        return place
    for file in _files_of_games(place)[1:]:
        with open_shard(file) as shard:
            rows = read_rows(shard, file)
        write_table(folder / file.name, header, rows.replace_schema_metadata(schema_of(header).metadata))
    write_manifest(folder, manifest._replace(header=header))
    return folder


def _commit(
    api: HfApi, address: HubAddress, contents: Mapping[str, Path | bytes], private: bool, message: str | None
) -> tuple[str, str]:
    """Send all files in one commit, which also removes shards that are no more; returns its URL and its hash."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, constants

    repo, kind, revision = address.repo, address.kind, address.revision
    api.create_repo(repo, repo_type=kind, private=private or None, exist_ok=True)
    # a repository that exists stays as open as it is, and the client does not say so
    if private and not api.repo_info(repo, repo_type=kind).private:
        raise HubError(f"{address}: is public already, so nothing was sent; name another one, or make it private there")
    if revision:
        api.create_branch(repo, repo_type=kind, branch=revision, exist_ok=True)
    # `datasets` reads every file that the card's pattern fits
    there = api.list_repo_files(repo, repo_type=kind, revision=revision)
    gone = [CommitOperationDelete(name) for name in there if name.endswith(".parquet") and name not in contents]
    said = message or f"ludory {version('ludory')}"

    def commit() -> tuple[str, str]:
        sent = [CommitOperationAdd(name, one if isinstance(one, bytes) else str(one)) for name, one in contents.items()]
        made = api.create_commit(repo, [*sent, *gone], commit_message=said, repo_type=kind, revision=revision)
        return made.commit_url, made.oid

    try:
        return commit()
    except Exception as error:  # of hf_xet, which publishes no class for it
        if "xet-write-token" not in str(error):
            raise
    # a hub of one's own may take large files by LFS alone, and the client does not ask what there is
    before, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
    try:
        return commit()
    finally:
        constants.HF_HUB_DISABLE_XET = before
