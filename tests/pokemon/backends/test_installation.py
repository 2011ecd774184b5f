"""Simulators are installed as their locks say, packed, and refused when something else lies there."""

import json
import sys
from pathlib import Path

import pytest

from ludory.cli import main
from ludory.envs.pokemon.backends import install, packing
from ludory.envs.pokemon.backends.install import BUNDLE, V8, Installation
from ludory.envs.pokemon.backends.v8 import V8Worker
from ludory.envs.pokemon.formats import V8_RULES
from ludory.errors import DataError, PluginError


def test_another_version_is_refused(simulator: Installation, tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "pokemon-showdown"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.11.10"}')
    with pytest.raises(PluginError, match=r"0\.11\.10.*0\.11\.11"):
        install.check_version(tmp_path)


def test_a_missing_simulator_names_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path))
    with pytest.raises(PluginError, match="ludory pokemon install") as found:
        install.needed()
    assert "--from FILE" in str(found.value)
    assert install.installed() is None


def test_what_is_installed_runs_only_where_processes_have_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`convert --labels auto` and the check of teams then do without it, as where it is not installed."""
    monkeypatch.setattr(install, "installed", lambda: tmp_path)
    monkeypatch.setattr(install.os, "killpg", None, raising=False)
    assert install.runs()
    monkeypatch.delattr(install.os, "killpg")
    assert not install.runs()


def test_a_missing_node_names_the_places(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="--node: none"):
        install.find_node(str(tmp_path / "node"))


def test_a_missing_npm_names_the_ways_around_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PluginError, match=r"npm is neither beside .* nor on PATH: .*--node wheel.*--from FILE"):
        install._npm(tmp_path / "bin" / "node")


def test_packed_files_that_lie_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Names outside the folder, links, wrong sums, missing files, other locks, and files that are no archive."""
    import hashlib
    import io
    import tarfile

    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(install, "find_node", lambda wanted="": Path("/bin/true"))

    def refused(match: str, names: dict[str, str], lock: str = "", link: bool = False) -> None:
        file, lock = tmp_path / "packed.tar.gz", lock or install.lock_hash()
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in names.items()}
        manifest = json.dumps({"lock": lock, "sha256": sums})
        with tarfile.open(file, "w:gz") as tar:
            for name, text in ((packing.MANIFEST, manifest), *names.items()):
                entry = tarfile.TarInfo(name)
                if link and name != packing.MANIFEST:
                    entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
                data = text.replace("changed", "CHANGED").encode() if name != packing.MANIFEST else text.encode()
                entry.size = 0 if entry.issym() else len(data)
                tar.addfile(entry, io.BytesIO(data))
        with pytest.raises(DataError, match=match):
            packing.install_from(file)
        assert install.installed() is None

    refused("outside", {"../evil": "x"})
    refused("outside", {"/tmp/evil": "x"})
    refused("a link", {"a": "x"}, link=True)
    refused("not as", {"a": "changed"})
    refused("packed for the lock", {"a": "x"}, lock="0" * 64)
    (tmp_path / "text.tar.gz").write_text("no archive")
    with pytest.raises(DataError, match="no readable file"):
        packing.install_from(tmp_path / "text.tar.gz")


def test_what_v8_lacks_is_named_with_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path))
    with pytest.raises(PluginError, match="ludory pokemon install --v8") as found:
        install.needed_bundle()
    assert "--from FILE" in str(found.value)
    assert 'pip install "ludory[pokemon-v8]"' in str(found.value)
    monkeypatch.setitem(sys.modules, "py_mini_racer", None)
    with pytest.raises(PluginError, match=r"needs mini-racer: type\n  pip install \"ludory\[pokemon-v8\]\""):
        V8Worker(tmp_path)
    with pytest.raises(PluginError, match="needs mini-racer"):
        install.install_v8()


def test_another_version_for_v8_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the lock when it is installed, by its marker when it is used."""
    package = tmp_path / "node_modules" / "@pkmn" / "sim"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.10.12"}')
    with pytest.raises(PluginError, match=r"0\.10\.12, the lock says 0\.10\.11; type ludory pokemon install --v8"):
        install.check_version(tmp_path, V8)
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path))
    folder = install.folder_of_lock(V8)
    folder.mkdir(parents=True)
    (folder / install.MARKER).write_text('{"rules": "@pkmn/sim 0.10.12"}')
    with pytest.raises(PluginError, match=r"@pkmn/sim 0\.10\.12, must be @pkmn/sim 0\.10\.11"):
        install.needed_bundle()


@pytest.mark.parametrize("content", [b"this is no script", b"\xff\xfe", None])
def test_a_damaged_bundle_is_refused(bundle: Path, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / BUNDLE).write_bytes(content)
    with pytest.raises(PluginError, match=r"cannot be read as JavaScript .*; type ludory pokemon install --v8 --again"):
        V8Worker(tmp_path)


def test_a_bundle_of_other_rules_is_refused(bundle: Path, tmp_path: Path) -> None:
    changed = (bundle / BUNDLE).read_text("utf-8").replace('version: "0.10.11"', 'version: "0.10.12"')
    (tmp_path / BUNDLE).write_text(changed, "utf-8")
    with pytest.raises(PluginError, match=r"the rules are @pkmn/sim 0\.10\.12, must be @pkmn/sim 0\.10\.11"):
        V8Worker(tmp_path)


def test_v8_is_packed_and_installed_elsewhere_without_node(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "v8.tar.gz"
    assert main(["pokemon", "pack", str(file), "--v8"]) == 0
    monkeypatch.setenv("LUDORY_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(install, "find_node", None)
    assert main(["pokemon", "install", "--from", str(file)]) == 0
    assert f"{V8_RULES} is in {tmp_path / 'elsewhere'}" in capsys.readouterr().out
    assert install.installed(V8) == install.folder_of_lock(V8)
    assert (install.folder_of_lock(V8) / BUNDLE).read_bytes() == (bundle / BUNDLE).read_bytes()
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="no readable file"):
        packing.install_from(file)


def test_a_second_installation_of_v8_does_nothing(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "_run", None)
    assert install.install_v8() == bundle


def test_every_package_of_the_lock_has_a_hash() -> None:
    for pinned in (install.SIM, V8):
        packages = json.loads(pinned.source("package-lock.json"))["packages"]
        root = packages.pop("")
        assert root["dependencies"] == json.loads(pinned.source("package.json"))["dependencies"]
        assert packages[f"node_modules/{pinned.package}"]["version"] == pinned.version
        assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
        assert pinned is V8 or not any(
            "optional" in entry or "optionalDependencies" in entry for entry in packages.values()
        )
