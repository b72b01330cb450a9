# Every target works on a bare machine: it creates .venv and installs what is needed first.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
EXTRAS ?= cpu,bundled,dev

.PHONY: help install demo test test-quick fix lint type bench clean
help:  ## print this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

install: $(INSTALLED)  ## create .venv and install Babelray with its test tools
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Babelray needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "python3 has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

demo: install  ## build, search, upgrade and roll back a small multilingual index (under 5 minutes)
	$(BIN)/python demo/run.py

test: install  ## run all tests
	$(BIN)/python -m pytest

test-quick: install  ## run the pure tests (seconds)
	$(BIN)/python -m pytest -m "not ray and not http and not services and not slow and not gpu"

fix: install  ## format and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: install  ## style, docstrings and import arrows
	$(BIN)/ruff format --check --no-cache .
	$(BIN)/ruff check --no-cache .
	$(BIN)/lint-imports

type: install  ## static types
	$(BIN)/mypy

bench: install  ## measure the reindex job on this machine; results go to benchmarks/out
	$(BIN)/python benchmarks/reindex_throughput.py
	$(BIN)/python benchmarks/reindex_memory.py

clean:  ## remove stores, caches and build results, but not .venv
	rm -rf .babelray build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
