"""Ids are found, listed and loaded; whatever is wrong with one plugin stays with that plugin."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from ludory.errors import NotInstalledError, PluginError, UnknownIdError
from ludory.plugins import Entry, Registry, builtin, requirements
from ludory.plugins.discovery import discover

AGENTS = "ludory.agents"


def fresh(*builtins: Entry) -> Registry[Callable[..., Any]]:
    """A registry of agents that looks at the path anew."""
    table = builtins or builtin.AGENTS
    return Registry("agent", table, callable, "a function make(game)", discovered=discover.__wrapped__)


def test_builtin_ids_come_first_in_the_order_of_their_table(install: Any) -> None:
    install("a-first", {AGENTS: "aaa = a:make"})
    agents = fresh()
    assert agents.ids() == [*(entry.id for entry in builtin.AGENTS if entry.id not in agents.missing), "aaa"]


def test_every_builtin_id_is_loaded() -> None:
    from ludory import plugins

    for registry in plugins.LISTED.values():
        for entry in registry._builtins:
            assert registry.load(entry.id) is not None


GONE = Entry("chess/bot", "ludory.agents.chess.bots:make")
NO_GAME = Entry("chess/net-v3", "ludory.agents.random:make", needs="ludory.envs.chess")


def test_what_is_of_a_system_that_is_not_installed_is_not_listed_and_says_what_to_install() -> None:
    agents = fresh(GONE, NO_GAME, Entry("here", "ludory.agents.random:make"))
    assert agents.ids() == ["here"]
    assert agents.missing == {"chess/bot": "chess", "chess/net-v3": "chess"}
    for id in ("chess/bot", "chess/net-v3", "chess/net"):
        assert id not in agents
        for asked in (agents.get, agents.load):
            with pytest.raises(
                NotInstalledError, match=f"^agent '{id}' is of the system chess, which is not .* pip install"
            ):
                asked(id)
    with pytest.raises(UnknownIdError):
        agents.get("chess/bat")


def test_a_package_may_bring_what_is_not_installed(install: Any) -> None:
    install("ludory-chess", {AGENTS: "chess/bot = chess_bot:make"}, {"chess_bot": "def make(game): return 'bot'"})
    assert fresh(GONE).load("chess/bot")(None) == "bot"


def test_a_plugin_is_listed_without_being_imported_and_loaded_when_asked_for(install: Any) -> None:
    install("ludory-chess", {AGENTS: "chess/fish = chess_fish:make"}, {"chess_fish": "def make(game): return 'fish'"})
    agents = fresh()
    found = agents.describe("chess/fish")
    assert (found.distribution, found.summary, found.problem) == ("ludory-chess", "What ludory-chess is", "")
    assert "chess_fish" not in sys.modules
    assert agents.load("chess/fish")(None) == "fish"


def test_a_bare_name_is_its_newest_version() -> None:
    agents = fresh(*(Entry(f"net-v{number}", "math:floor") for number in (2, 10, 9)), Entry("netto-v11", "math:floor"))
    assert agents.get("net").id == "net-v10"
    assert agents.get("net-v2").id == "net-v2"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("randm", "random"), ("hanabi/igi", "hanabi/iggi"), ("Hanabi/Piers", "hanabi/piers"), ("piers", "hanabi/piers")],
)
def test_a_misspelt_id_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(UnknownIdError, match=f"'{meant}'.*ludory list agents"):
        fresh().get(typed)


def test_an_id_like_no_other_is_answered_with_where_all_are() -> None:
    with pytest.raises(UnknownIdError, match=r"no agent has the id 'xyzzy'; all of them: ludory list agents"):
        fresh().get("xyzzy")


def test_two_packages_with_one_id_are_an_error_only_when_it_is_asked_for(install: Any) -> None:
    install("left", {AGENTS: "fish = left_fish:make\nleft = math:floor"})
    install("right", {AGENTS: "fish = right_fish:make\nright = math:floor"})
    agents = fresh()
    assert {"fish", "left", "right"} <= set(agents.ids())
    assert agents.load("left") is agents.load("right")
    assert "left" in agents.describe("fish").problem
    with pytest.raises(PluginError, match=r"'fish' is offered twice: by left .* and right"):
        agents.get("fish")


def test_a_plugin_can_not_shadow_what_is_built_in(install: Any) -> None:
    install("impostor", {AGENTS: "random = impostor:make"})
    agents = fresh()
    with pytest.raises(PluginError, match=r"by ludory .* and impostor"):
        agents.load("random")
    assert agents.get("human").distribution == "ludory"


def test_a_plugin_can_not_take_over_a_bare_name(install: Any) -> None:
    install("impostor", {AGENTS: "net-v2 = math:ceil"})
    agents = fresh(Entry("net-v1", "math:floor"))
    with pytest.raises(PluginError, match=r"net-v1 .*net-v2 .*give the version"):
        agents.get("net")
    assert agents.get("net-v1").distribution == "ludory"
    assert agents.get("net-v2").distribution == "impostor"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("def make(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("", "no attribute 'make'"),
        ("make = 3", "is a int, must be a function"),
        ("import ruined.inside", "No module named"),
    ],
)
def test_a_broken_plugin_says_whose_it_is_and_hides_nothing(install: Any, source: str, said: str, request: Any) -> None:
    module = f"ruined_{abs(hash(source))}"
    install("ruin", {AGENTS: f"ruined = {module}:make"}, {module: source.replace("ruined.", f"{module}.")})
    install("sound", {AGENTS: "sound = math:floor"})
    agents = fresh()
    assert agents.load("sound")
    with pytest.raises(PluginError, match=f"agent 'ruined' of the package ruin is broken .*{said}"):
        agents.load("ruined")


@pytest.mark.parametrize(
    ("target", "module"),
    [("ghost", "ghost"), ("json.ghost.inner", "json.ghost"), ("this.os", "this.os"), ("math.os.path", "math.os")],
)
def test_a_module_that_does_not_exist_is_seen_without_an_import(install: Any, target: str, module: str) -> None:
    install("haunted", {AGENTS: f"haunted = {target}:make"})
    assert fresh().describe("haunted").problem == f"the module {module} does not exist"
    assert "this" not in sys.modules


@pytest.mark.parametrize(
    "point", ["two words = math:floor", "fish = not a module", "fish = :make", "fish(3) = math:floor"]
)
def test_an_entry_point_of_the_wrong_form_is_reported_with_its_package(install: Any, point: str) -> None:
    install("odd", {AGENTS: point})
    (offer,) = fresh().broken()
    assert offer.distribution == "odd"
    assert point.partition(" =")[0] in offer.problem


def test_unreadable_metadata_hide_no_other_package(install: Any) -> None:
    install("sound", {AGENTS: "sound = math:floor"})
    install("torn", "[ludory.agents]\nthis line has no equals sign\n")
    agents = fresh()
    assert agents.load("sound")
    assert [offer.distribution for offer in agents.broken()] == ["torn"]


def test_plugins_can_be_turned_off(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install("third-party", {AGENTS: "third = math:floor"})
    monkeypatch.setenv("LUDORY_PLUGINS", "off")
    with pytest.raises(UnknownIdError, match="LUDORY_PLUGINS=off"):
        fresh().get("third")
    monkeypatch.setenv("LUDORY_PLUGINS", "on")
    assert fresh().get("third").distribution == "third-party"


@pytest.mark.parametrize(
    ("requires", "point", "typed"),
    [
        (('absent-lib>=2; extra == "gpu"',), "net = netty:make", 'pip install "netty-plugin\\[gpu\\]"'),
        (("absent_lib>=2",), "net = netty:make", 'pip install "netty-plugin"'),
        (("math-lib",), "net = netty:make [big,tall]", 'pip install "netty-plugin\\[big,tall\\]"'),
        ((), "net = netty:make", "netty-plugin does not say"),
        (
            ('absent-lib; extra == "all"', 'other; extra == "all"', 'Absent.Lib; extra == "one"'),
            "net = netty:make",
            'pip install "netty-plugin\\[one\\]"',
        ),
    ],
)
def test_a_missing_dependency_is_answered_with_what_to_type(
    install: Any, requires: tuple[str, ...], point: str, typed: str
) -> None:
    install("netty-plugin", {AGENTS: point}, {"netty": "import absent_lib.parts\ndef make(game): ..."}, requires)
    with pytest.raises(PluginError, match=f"agent 'net' needs the module 'absent_lib'.*{typed}"):
        fresh().load("net")


def test_ludory_s_own_missing_dependencies_name_its_extras() -> None:
    from ludory.plugins.requirements import missing_dependency

    assert 'pip install "ludory[cuda]"' in str(missing_dependency("device='cuda'", "numba_cuda"))
    assert 'pip install "ludory"' in str(missing_dependency("agent 'net'", "torch.nn"))


def test_an_extra_that_is_asked_for_comes_before_a_smaller_one(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ['pygame; extra == "small"', 'pygame; extra == "classic"', 'chess; extra == "classic"']
    monkeypatch.setattr("ludory.plugins.requirements.metadata.requires", lambda name: needs)
    monkeypatch.setitem(requirements._OTHER_NAMES, "pygame", "pygame")
    assert requirements.install_command("zoo", "pygame") == 'pip install "zoo[small]"'
    assert requirements.install_command("zoo", "pygame", ("classic",)) == 'pip install "zoo[classic]"'
