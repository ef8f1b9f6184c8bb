# `make test` on a fresh machine does everything: environment, pinned tools, the real agent CLIs,
# lint, types, layers, all tests, coverage. Needs Python >= 3.11 with venv, node + npm, git, tmux.
#
# What was installed is remembered by stamp files, so the second run goes straight to the checks.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV   ?= .venv
AGENTS := tests/agents
QMD    := tests/qmd
BIN    := $(VENV)/bin
NPM    := $(AGENTS)/node_modules/.bin
PYTEST := $(BIN)/python -m pytest
# A worker per core; what needs one scenario of the real agents goes to one of them.
PARALLEL := --numprocesses auto --dist loadgroup

# The first interpreter that is new enough; override with `make PYTHON=...`.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

INSTALLED := $(VENV)/.installed
AGENTS_OK := $(AGENTS)/node_modules/.installed
QMD_OK    := $(QMD)/node_modules/.installed

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: lint types layers tests ## everything: lint, types, layers, all tests

.PHONY: lint
lint: $(INSTALLED) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(INSTALLED) $(AGENTS_OK) ## pyright, strict, on src, tests and benchmarks
	$(NPM)/pyright --warnings

.PHONY: layers
layers: $(INSTALLED) ## import-linter: who may import whom
	$(BIN)/lint-imports

.PHONY: tests
tests: $(INSTALLED) $(AGENTS_OK) $(QMD_OK) | tools ## all tests
	$(PYTEST) $(PARALLEL) --durations 20

# Apart from the tests: tracing doubles their time, and a thread that starts while another one sets
# its trace function dies in CPython 3.11, which leaves whoever waits for it hanging.
.PHONY: cover
cover: $(INSTALLED) $(AGENTS_OK) $(QMD_OK) | tools ## all tests, branch coverage with a floor
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL) --durations 20
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

.PHONY: unit
unit: $(INSTALLED) ## the fast tests only (no agent CLI, no corpus, no work counts)
	$(PYTEST) $(PARALLEL) -q -m "not e2e and not corpus and not perf"

.PHONY: e2e
e2e: $(INSTALLED) $(AGENTS_OK) $(QMD_OK) | tools ## the tests that drive the real claude, codex and qmd
	$(PYTEST) $(PARALLEL) -m e2e

.PHONY: docs
docs: $(INSTALLED) ## the tests that hold docs and code together
	$(PYTEST) -q tests/docs

.PHONY: picture
picture: $(INSTALLED) ## redraw the pictures of the terminal
	$(BIN)/python docs/images/picture.py > docs/images/list.svg
	$(BIN)/python docs/images/screens.py

.PHONY: bench
bench: $(INSTALLED) ## the benchmark table, in markdown (a few minutes, 500 MB of temporary space)
	$(BIN)/python -m benchmarks.run

.PHONY: fix
fix: $(INSTALLED) ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: clean
clean: ## remove what a run leaves behind; keeps the installed tools
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* dist build
	find src tests benchmarks -name node_modules -prune -o -name __pycache__ -type d -exec rm -rf {} +

.PHONY: clean-all
clean-all: clean ## remove the virtual environment, the agent CLIs and qmd as well
	rm -rf $(VENV) $(AGENTS)/node_modules $(QMD)/node_modules

# --- what has to be there ---------------------------------------------------------------------

.PHONY: python
python:
	@[[ -n "$(PYTHON)" ]] || { echo "make: no Python 3.11 or newer on PATH (Debian: apt-get install python3 python3-venv)" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: $(PYTHON) cannot make a virtual environment (Debian: apt-get install python3-venv)" >&2; exit 1; }

# A read-only folder is a read-only mount (chmod does not stop root); Linux only.
UNSHARE := $(if $(filter Linux,$(shell uname)),unshare)

.PHONY: tools
tools:
	@missing=(); for tool in git tmux $(UNSHARE); do command -v $$tool >/dev/null || missing+=($$tool); done; \
	[[ $${#missing[@]} -eq 0 ]] || { echo "make: the tests need these programs: $${missing[*]} (Debian: apt-get install git tmux util-linux)" >&2; exit 1; }

.PHONY: node
node:
	@for tool in node npm; do command -v $$tool >/dev/null || { echo "make: $$tool is not on PATH; the agent CLIs and pyright come from npm (Debian: apt-get install nodejs npm)" >&2; exit 1; }; done

$(VENV)/bin/python: | python
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): requirements/test.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(AGENTS_OK): $(AGENTS)/package.json $(AGENTS)/package-lock.json $(AGENTS)/install | node
	$(AGENTS)/install
	@touch $@

$(QMD_OK): $(QMD)/package.json $(QMD)/package-lock.json $(QMD)/.npmrc $(QMD)/install | node
	$(QMD)/install
	@touch $@
