# make demo   train an agent on Hanabi, compare it with a rule bot, write a replay to look at
# make test   run the tests that take no time, in less than four minutes; battles of Pokémon are played by make test-pokemon
# make test-all    run all tests, also those marked slow: whole games through the checker, kills, leagues, every page of the manual
# make test-slow   run only those marked slow
# make test-pokemon   install the simulators of Pokémon battles, and run their tests without skips
# make test-web       install a browser if there is none, and run the tests of the pages in it without skips
# make web-covers     draw the games' pictures of the server's first page again
# make test-ray   install Ray, and run the jobs on a test cluster of two nodes, which are killed at random; no skips
# make test-language  install the trainers and servers of language models, each beside .venv, and run their tests without skips
# make test-gpu   run the campaign for a GPU in little, on the CPU where there is none
# make pokemon-dex    write the numbers of the pinned simulator's dex again, which need no Node afterwards
# make docs   build the manual into docs/_build/html, in an environment of its own; warnings are errors
# make docs-links     visit every link of the manual
# make docs-long      run the code of the manual as it is printed, without smaller numbers; takes hours
# make notebooks      the tutorials as notebooks, in docs/_build/notebooks
# make test-notebooks   run them from top to bottom with small numbers, and the widget of a game
# make release        build the sdist and the wheel into dist/, and try them in clean environments (tools/release.py)
# make lint   ruff, mypy, import-linter, and counts that may only fall (tools/counts.py)
# Each sets up .venv by itself; a second run does not install again. PYTHON chooses the interpreter (>= 3.10).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
INSTALLED_WEB := $(VENV)/.installed-web
INSTALLED_NOTEBOOKS := $(VENV)/.installed-notebooks
INSTALLED_RAY := $(VENV)/.installed-ray
# Tests start hundreds of processes; where Python keeps no bytecode, each would translate its sources again for five seconds.
export PYTHONDONTWRITEBYTECODE :=

DOCS := .venv-docs
INSTALLED_DOCS := $(DOCS)/.installed
RELEASE := .venv-release
INSTALLED_RELEASE := $(RELEASE)/.installed
RELEASE_OPTIONS :=

.PHONY: demo test test-all test-slow test-web web-covers test-pokemon test-ray test-language test-gpu ready-web ready-ray pokemon-dex docs docs-links docs-long notebooks test-notebooks release lint clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Ludory needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version). Type: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable .
	@touch $@

$(INSTALLED_DEV): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable '.[dev]'
	@touch $(INSTALLED) $@

$(INSTALLED_DOCS): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable '.[docs]'
	@touch $@

# Tuned settings, in two stages: playing cards is learnt first in a game where a bomb keeps the score, then the real game.
GAME := Hanabi2P-v0
DEMO_LEAD := +3.7 to +4.0

demo: $(INSTALLED)
	$(BIN)/ludory train ppo --env $(GAME) --seed 1 --timesteps 6_000_000 --out demo/agent.ludory --resume --progress
	@echo 'Expect $(DEMO_LEAD) points over hanabi/iggi: rounding differs between kinds of processors and versions, and seed 1 was measured with three ways to round.'
	$(BIN)/ludory eval demo/agent.ludory hanabi/iggi --game $(GAME) --games 2000 --seed 99
	$(BIN)/ludory watch $(GAME) demo/agent.ludory --seed 5 --html demo/replay.html

# Rewriting the assertions of a fresh clone takes 20 s in each process; plain pytest does, and shows what was compared.
PYTEST := LUDORY_REQUIRE_POKEMON=0 $(BIN)/python -m pytest --dist loadfile -q --assert=plain --showlocals

test: $(INSTALLED_DEV)
	$(PYTEST) -n 2 -m "not slow"

# Slow tests wait for other processes a fifth of the time, so two cores run three of them.
test-slow: $(INSTALLED_DEV)
	$(PYTEST) -n 3 -m slow

test-all: $(INSTALLED_DEV)
	$(PYTEST) -n 3

# An environment is changed by one installation at a time: type these before tests that run at once with make -j.
ready-web: $(INSTALLED_WEB)
ready-ray: $(INSTALLED_RAY)

$(INSTALLED_WEB): $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt playwright axe-playwright-python
	command -v chromium chromium-browser google-chrome >/dev/null || $(BIN)/python -m playwright install --with-deps chromium || { apt-get update --quiet && apt-get install --quiet --yes --no-install-recommends chromium; }
	@touch $@

test-web: $(INSTALLED_WEB)
	LUDORY_REQUIRE_BROWSER=1 $(BIN)/python -m pytest -q tests/web/browser

test-pokemon: $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt mini-racer
	$(BIN)/ludory pokemon install
	$(BIN)/ludory pokemon install --v8
	LUDORY_REQUIRE_POKEMON=1 $(BIN)/python -m pytest -n 2 --dist loadfile -q -m simulator tests/pokemon

web-covers: $(INSTALLED_DEV)
	$(BIN)/python -m ludory.web.pages.covers

$(INSTALLED_RAY): $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable '.[ray]'
	@touch $@

test-ray: $(INSTALLED_RAY)
	LUDORY_REQUIRE_RAY=1 $(BIN)/python -m pytest -q -m ray tests/faults/cluster

# These packages exclude each other, and parts of .venv, by what they depend on: each environment lies on top of .venv and adds to it.
$(VENV)-%/.installed: $(INSTALLED_DEV)
	$(BIN)/python -m venv $(@D)
	$(BIN)/python -c 'import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))' > "$$($(@D)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/below.pth"
	$(@D)/bin/python -m pip install --quiet --config-settings editable_mode=compat --editable '.[$*]'
	@touch $@

LANGUAGE := tests/agents/language/adapters

test-language: $(VENV)-verifiers/.installed $(VENV)-textarena/.installed $(VENV)-openenv/.installed
	$(VENV)-verifiers/bin/python -m pytest -q $(LANGUAGE)/test_verifiers.py
	$(VENV)-textarena/bin/python -m pytest -q $(LANGUAGE)/test_textarena.py
	$(VENV)-openenv/bin/python -m pytest -q $(LANGUAGE)/test_openenv.py

test-gpu: $(INSTALLED_DEV)
	$(BIN)/ludory bench gpu --small --out "$$(mktemp -d)"

pokemon-dex: $(INSTALLED)
	$(BIN)/ludory pokemon install
	$(BIN)/python tools/pokemon_dex.py

docs: $(INSTALLED_DOCS)
	$(DOCS)/bin/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "open docs/_build/html/index.html"

docs-links: $(INSTALLED_DOCS)
	$(DOCS)/bin/python -m sphinx --builder linkcheck --keep-going docs docs/_build/links

docs-long: $(INSTALLED_DEV)
	LUDORY_LONG_MANUAL=1 $(BIN)/python -m pytest -q tests/manual/test_code_blocks.py

$(INSTALLED_RELEASE):
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet 'build>=1.2' 'twine>=6.1' 'uv>=0.9'
	@touch $@

release: $(INSTALLED_RELEASE)
	$(RELEASE)/bin/python tools/release.py $(RELEASE_OPTIONS)

notebooks: $(INSTALLED)
	$(BIN)/python docs/notebooks.py

$(INSTALLED_NOTEBOOKS): $(INSTALLED_DEV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt nbclient ipykernel
	@touch $@

test-notebooks: $(INSTALLED_NOTEBOOKS)
	$(BIN)/python -m pytest -q tests/manual/test_notebooks.py tests/web/test_notebook.py

lint: $(INSTALLED_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tools
	$(BIN)/lint-imports
	$(BIN)/python tools/counts.py

clean:
	rm -rf $(VENV) $(DOCS) $(RELEASE) docs/_build build dist *.egg-info src/*.egg-info
