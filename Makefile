# make demo   train an agent on a small Hanabi, compare it with a rule bot, write a replay to look at
# make test   run the test suite
# make lint   ruff, mypy, import-linter
# Each sets up .venv by itself; a second run does not install again. PYTHON chooses the interpreter (>= 3.10).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.PHONY: demo test lint clean

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "Ludory needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version). Type: make PYTHON=python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable .
	@touch $@

$(INSTALLED_DEV): $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --config-settings editable_mode=compat --editable '.[dev]'
	@touch $(INSTALLED) $@

demo: $(INSTALLED)
	$(BIN)/ludory demo

test: $(INSTALLED_DEV)
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

lint: $(INSTALLED_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info
