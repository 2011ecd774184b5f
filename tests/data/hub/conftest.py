"""A hub on this machine, for the real client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .server import TOKEN, HubServer, running

constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra hub")
Machine = Callable[..., None]


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """The hub, without repositories."""
    with running() as server:
        yield server


@pytest.fixture
def machine(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Sets what the client reads from variables of the environment when it is imported: another machine has another cache."""

    def at(name: str, token: str = TOKEN, endpoint: str = hub.url, offline: bool = False) -> None:
        monkeypatch.setattr(constants, "ENDPOINT", endpoint)
        template = f"{endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "machines" / name))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # the server speaks LFS
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no token"))
        monkeypatch.setenv("HF_TOKEN", token)

    at("first")
    monkeypatch.chdir(tmp_path)
    return at
