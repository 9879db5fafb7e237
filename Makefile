# Two commands: `make demo` sets everything up and shows the main job, `make test` sets up and passes the tests.
# `make dlio` installs the DLIO that has the LLM checkpoint workload and runs the real two-rank path.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SOURCES = benchmarks mlpstorage rules submission_checker tests
# The project's shared folder belongs beside the clone; it is not part of the repository. `bench` and `endurance` need it.
BENCH_TOOLS ?= ../shared/bench

.PHONY: demo test lint rulebook unit dlio dlio-install dlio-run bench endurance clean help

help:
	@sed -n '1,2p' Makefile; echo; grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/'

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,mpi]'
	touch $@

demo: $(VENV)/.ready ## set up, judge a legal and an illegal launch, scan the example tree
	@PATH="$(BIN):$$PATH" sh examples/demo.sh

test: lint rulebook unit ## set up, lint, type-check, check the rule book, run the tests

lint: $(VENV)/.ready ## ruff and mypy --strict
	$(BIN)/ruff format --check --quiet $(SOURCES)
	$(BIN)/ruff check --quiet $(SOURCES)
	$(BIN)/mypy --no-error-summary

rulebook: $(VENV)/.ready ## every example holds, every wrong version of a rule is told apart, Rules.md is current
	$(BIN)/mlpstorage rules check
	$(BIN)/mlpstorage rules render --check

unit: $(VENV)/.ready ## the tests
	$(BIN)/pytest -n 2

dlio: dlio-install dlio-run ## install the capable DLIO, run the real two-rank path

dlio-install: $(VENV)/.ready
	sh scripts/install-dlio $(BIN)/python

dlio-run:
	$(BIN)/pytest -rs tests/mlpstorage/test_dlio.py tests/mlpstorage/test_command.py

bench: $(VENV)/.ready ## what a start, and a tree of the size of the v3.0 round, cost against their floors (10 GB of disk, needs ../shared)
	$(BIN)/python benchmarks/gate.py
	$(BIN)/python benchmarks/tree.py --tools $(BENCH_TOOLS)

endurance: $(VENV)/.ready ## a million mutated leaves (an hour, needs ../shared)
	$(BIN)/python benchmarks/endurance.py --cases $(dir $(BENCH_TOOLS))cases --leaves 1000000 --jobs 2 --keep-going --warm 150000

clean: ## remove what make made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
