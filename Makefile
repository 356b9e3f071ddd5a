# make demo: text -> tokenizer -> model -> stories and a report, offline, in minutes
# make test: the default test suite      make check: lint, format, types
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
NATIVE := CMakeLists.txt $(wildcard $(foreach kind,cpp hpp inc,native/*.$(kind) native/*/*.$(kind)))
# Python on a core that ends at a memory error; what takes minutes there and shows nothing new is left out.
SANITIZED := PYTHONPATH=tests $(BIN)/python tools/sanitized.py
CORE_TESTS := $(wildcard tests/tokenizer/test_native*.py tests/kernels/test_native*.py) tests/tokenizer/test_word_starts.py
FUZZ_SECONDS ?= 300

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

# A stamp says that an installation is newer than all that it is made from.
$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "groundup needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt $(NATIVE)
	$(PIP) install --quiet -c constraints.txt -e '.[plots]'
	@touch $@

$(VENV)/.installed-dev: $(BIN)/python pyproject.toml constraints.txt $(NATIVE)
	$(PIP) install --quiet -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed

# The tools that pip builds the core with, for a build of our own. pyproject.toml says which.
$(VENV)/.installed-build: $(VENV)/.installed-dev
	$(PIP) install --quiet $$($(BIN)/python tools/sanitized.py --requirements)
	@touch $@

setup: $(VENV)/.installed  ## virtual environment, pinned packages, native core
setup-dev: $(VENV)/.installed-dev  ## the same with what tests and checks need

demo: $(VENV)/.installed  ## text -> tokenizer -> model -> stories and report.html, in minutes, offline
	$(BIN)/groundup demo

test: $(VENV)/.installed-dev  ## the default test suite
	$(BIN)/python -m pytest

test-slow: $(VENV)/.installed-dev  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

test-browser: $(VENV)/.installed-dev  ## the report in headless Chromium
	$(PIP) install --quiet -c constraints.txt playwright
	$(BIN)/python -m pytest -m browser --numprocesses=0

test-sanitized: $(VENV)/.installed-build  ## the core's tests, ended by the first memory error or undefined behaviour
	$(SANITIZED) -m pytest --numprocesses=2 -k 'not every_code_point' $(CORE_TESTS)

fuzz: $(VENV)/.installed-build  ## random input for FUZZ_SECONDS (300); FUZZ_SEED repeats a run
	$(SANITIZED) -m fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

check: $(VENV)/.installed-dev  ## lint, format, types
	scripts/check

bench: $(VENV)/.installed-dev  ## benchmarks against the peers (each in a venv of its own); hours
	$(BIN)/python benchmarks/tokenizer.py
	$(BIN)/python benchmarks/train.py
	$(BIN)/python benchmarks/train.py --sweep context batch width
	$(BIN)/python benchmarks/race.py
	$(BIN)/python benchmarks/generate.py

experiments: $(VENV)/.installed  ## every experiment, in about four hours; stopped, it goes on; LAB='--data TEXT ...'
	$(BIN)/groundup experiment all $(LAB)

experiments-smoke: $(VENV)/.installed  ## every experiment, tiny, in minutes
	$(BIN)/groundup experiment all --preset smoke --out runs/smoke --runs runs/smoke/lab
	$(BIN)/groundup experiment leaderboard --preset smoke --out runs/smoke/leaderboard --runs runs/smoke/lab

interop: $(VENV)/.installed-dev  ## does llama.cpp write what we write? RUN=folder: of a run of your own
	$(BIN)/python benchmarks/handover.py $(RUN)

clean:  ## remove the environment and all build products
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis

.PHONY: help setup setup-dev demo test test-slow test-browser test-sanitized fuzz check bench experiments experiments-smoke
.PHONY: interop clean
