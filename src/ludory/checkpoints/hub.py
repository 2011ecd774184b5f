"""`local_path`: files of the Hugging Face hub by names such as hf://owner/name, in the hub's own cache and compared with their SHA-256.

`ludory hub push` writes a list of all files but the card, which people edit in the browser. Nothing that comes from the hub is run: a
checkpoint is safetensors and JSON, and an algorithm, network or game that it names is looked up among what is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Literal, NamedTuple

from ludory.errors import HubError, LudoryError, OptionError
from ludory.plugins.requirements import missing_dependency
from ludory.plugins.spec import HUB
from ludory.reading import read_json

from .file_list import LIST, Files, StoredFile, from_json

AGENT = "agent.ludory"
"""Name of the checkpoint in the repository of an agent."""
GAMES = "dataset.json"
"""Name of the header in that of recorded games, whose rows are in `SHARDS`."""
SHARDS = "part-*.parquet"
CARD = "README.md"
_ADDRESS = re.compile(rf"(?:{HUB})?(datasets/)?([\w.-]+/[\w.-]+)(?:@([^\s@]+))?", re.ASCII)
_FLAT = re.compile(r"\w[\w.-]*", re.ASCII)
"""Names of files that a list may have: none leads out of its folder, on any system."""


class HubAddress(NamedTuple):
    """A repository of the hub."""

    kind: Literal["model", "dataset"]
    repo: str
    """owner/name."""
    revision: str | None = None
    """Branch, tag or commit; None: main."""

    def __str__(self) -> str:
        part = "datasets/" if self.kind == "dataset" else ""
        return f"{HUB}{part}{self.repo}" + (f"@{self.revision}" if self.revision else "")


class Fetched(NamedTuple):
    """Files of a repository, in the cache."""

    folder: Path
    files: Files
    commit: str


def parse_address(text: str) -> HubAddress:
    """`hf://owner/name@revision` of an agent, `hf://datasets/owner/name` of recorded games; hf:// and the revision may be left out.

    Raises:
        OptionError: it is neither.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise OptionError(
            f"{text!r}: must be owner/name or owner/name@revision, or datasets/owner/name for recorded games, with or without {HUB}"
        )
    return HubAddress("dataset" if match[1] else "model", match[2], match[3])


def is_hub(name: object) -> bool:
    """Whether it begins with hf://."""
    return isinstance(name, str) and name.startswith(HUB)


def local_path(name: str | Path) -> str | Path:
    """The file of an agent `hf://owner/name`, or the folder of recorded games `hf://datasets/owner/name`; any other name is returned as it is.

    What the cache has is not fetched again. Without network, or with HF_HUB_OFFLINE=1, the newest state in the cache is used.

    Raises:
        HubError: it cannot be fetched, or a file is damaged or missing.
        OptionError: the name is wrong.
        PluginError: the extra `hub` is not installed.
    """
    if not is_hub(name):
        return name
    address = parse_address(str(name))
    folder = fetch(address).folder
    return folder / AGENT if address.kind == "model" else folder


def fetch(address: HubAddress, *more: str) -> Fetched:
    """Bring the files of a list into the hub's cache, and compare them with it; `more` are files that no list has, such as the card.

    Raises:
        HubError: they cannot be fetched, or one is damaged or missing.
        PluginError: the extra `hub` is not installed.
    """
    # all files are of the commit that the list is of, whatever is pushed meanwhile
    first = Path(_snapshot(address, address.revision, [LIST]))
    commit, files = first.name, _read_list(address, first)
    folder = Path(_snapshot(address, commit, [*files, *more]))
    if wrong := _wrong(folder, files):
        # the copy in the cache may be what is damaged: the client compares only sizes
        folder = Path(_snapshot(address, commit, list(wrong), again=True))
    for name, got in _wrong(folder, files).items():
        raise HubError(
            f"{address}: {name} is damaged or missing: expected SHA-256 {files[name].sha256}, got {got}; nothing was loaded; "
            "name another revision, or push it again with `ludory hub push`"
        )
    return Fetched(folder, files, commit)


def _snapshot(address: HubAddress, revision: str | None, names: list[str], again: bool = False) -> str:
    with answered(address):
        from huggingface_hub import snapshot_download

        return snapshot_download(
            address.repo,
            repo_type=address.kind,
            revision=revision,
            # names are patterns there
            allow_patterns=[escape(name) for name in names],
            force_download=again,
            library_name="ludory",
        )


def _read_list(address: HubAddress, folder: Path) -> Files:
    try:
        files = from_json(read_json(folder / LIST)["files"])
    except FileNotFoundError as error:
        raise HubError(
            f"{address}: has no {LIST}, so `ludory hub push` did not write it; fetch a checkpoint with `hf download {address.repo}` and "
            "name its file"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HubError(f"{address}: {LIST} is damaged ({error!r}); push it again with `ludory hub push`") from error
    # whoever wrote the list may have put anything into it
    needed = AGENT if address.kind == "model" else GAMES
    for name in (*files, *([] if needed in files else [f"no {needed}"])):
        if not _FLAT.fullmatch(name):
            raise HubError(f"{address}: {LIST} names {name!r}; must be {needed} and names of files without folders")
    return files


def _wrong(folder: Path, files: Files) -> dict[str, str]:
    """What the cache has in place of each file that is not as listed."""
    found = {
        name: StoredFile.of(folder / name).sha256 if (folder / name).is_file() else "no such file" for name in files
    }
    return {name: got for name, got in found.items() if got != files[name].sha256}


@contextmanager
def answered(address: HubAddress, writes: bool = False) -> Iterator[None]:
    """Errors of the hub's client as one line each, and its progress bars at terminals only.

    Args:
        address: the repository.
        writes: something is sent.

    Raises:
        HubError: the hub cannot be reached, or refuses.
        PluginError: the extra `hub` is not installed.
    """
    try:
        from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    except ModuleNotFoundError as error:
        raise missing_dependency(str(address), "huggingface_hub", extras=("hub",)) from error
    # the client shows them in logs and pipes, too
    hiding = not sys.stderr.isatty() and not are_progress_bars_disabled()
    if hiding:
        disable_progress_bars()
    try:
        yield
    except LudoryError:
        raise
    except Exception as error:  # of the client, of HTTP, of sending threads, of hf_xet: they have no common class
        raise HubError(f"{address}: {_told(error, address, writes)}") from error
    finally:
        if hiding:
            enable_progress_bars()


def _told(error: BaseException, address: HubAddress, writes: bool) -> str:
    from huggingface_hub import constants, errors, get_token

    # the client says "not in the cache" of every failure, which is then its cause
    wrapped = (errors.LocalEntryNotFoundError, RuntimeError)
    while isinstance(error, wrapped) and error.__cause__ is not None:
        error = error.__cause__
    status = getattr(getattr(error, "response", None), "status_code", None)
    if constants.HF_HUB_OFFLINE:
        return f"{'' if writes else 'is not in the cache, and '}HF_HUB_OFFLINE is set; unset it to reach the hub"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"has no branch, tag or commit {address.revision!r}; {constants.ENDPOINT} shows which there are"
    if isinstance(error, errors.GatedRepoError):
        return f"asks for consent; give it at {constants.ENDPOINT}, and type `hf auth login`"
    # the hub answers 401 or 404 to whoever may not know whether there is a private one
    if status in (401, 403, 404):
        login = "type `hf auth login`" if get_token() is None else "type `hf auth login` with a token that may"
        if writes:
            return f"you may not write there (the hub answers {status}); {login}"
        kinds = "" if address.kind == "dataset" else f", recorded games are {HUB}datasets/{address.repo}"
        return (
            f"there is none, or you may not read it (the hub answers {status}); see that the name is right{kinds}; "
            f"for a private one {login}"
        )
    said = " ".join(str(getattr(error, "server_message", None) or error).split()) or repr(error)
    if status is not None:
        return f"the hub answers {status}: {said[:300]}; try again, or see https://status.huggingface.co"
    return f"the hub at {constants.ENDPOINT} cannot be reached, or broke off ({said[:300]}); see that there is network, and try again"
