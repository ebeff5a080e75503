# `make demo` and `make test` set up everything themselves, in $(VENV).
# Where pip finds a CUDA build of torch by default and you want the smaller CPU build, say where
# it lies:  make test PIP_ARGS='--extra-index-url URL_OF_THE_CPU_BUILDS'
PYTHON ?= python3
VENV ?= .venv
PIP_ARGS ?=
WORKERS ?= 2
FUZZ_EXAMPLES ?= 50000
COVERED ?= tests/semantics tests/patterns tests/output tests/styles tests/notebook
CHECKOUTS ?= ../checkouts
BEFORE ?=
PROJECTS ?=
VERSION ?=

BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(PIP_ARGS)
# Tests start Python some hundred times: it keeps what it has compiled, also where the environment
# says otherwise.
ONE_THREAD = OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

.PHONY: demo test lint unit fuzz dask browser docs site release bench coverage hard ecosystem clean

demo: $(VENV)/.demo
	@sh examples/demo.sh $(BIN)

test: lint unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup

# By line and branch, of a part of the tests: tracing costs 2.6 times the CPU, too much for all of them.
coverage: $(VENV)/.test
	$(ONE_THREAD) $(BIN)/python -m coverage run -m pytest -q $(COVERED)
	$(BIN)/python -m coverage report --skip-covered

# Many more odd files and settings than `test` tries, new ones each time.
fuzz: $(VENV)/.test
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -q -n $(WORKERS) tests/fuzz

# Not part of `test`: distributed and what it needs would be most of what that installs.
dask: $(VENV)/.test
	$(INSTALL) -e '.[dask]'
	$(BIN)/python -m pytest -q tests/dask

# The pages in a real Chromium. `test` runs these too where it finds one, and says so where not.
browser: $(VENV)/.test
	BROWSER_TESTS=required $(BIN)/python -m pytest -q -m browser tests/browser

docs: $(VENV)/.test
	$(BIN)/python docs/generate.py

# Into build/site; MPSLINT_DOCS_URL says where that will be published. Not `--quiet`: what that does
# not print, `--strict` does not see.
site: docs
	$(INSTALL) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'the site is in build/site; look at it with `$(BIN)/mkdocs serve`'

# The commit of a version and its tag; what is pushed is said at the end:  make release VERSION=0.1.0
release: test docs
	$(BIN)/python docs/release.py '$(VERSION)'

bench: $(VENV)/.test
	$(BIN)/python benchmarks/bench.py $(foreach project,$(PROJECTS),--project $(project))

# Many files, killed runs, full disks, damaged caches and projects that mean harm; hours on two cores.
# HARD_CORPORA and HARD_PYTHONS name more folders and interpreters, parted by colons.
hard: $(VENV)/.test
	$(BIN)/python benchmarks/hard

# Which findings and fixes on public code a change adds and takes away.
ecosystem: $(VENV)/.test
	$(BIN)/python benchmarks/ecosystem $(CHECKOUTS) $(if $(BEFORE),--before $(BEFORE))

clean:
	rm -rf $(VENV) build *.egg-info src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo 'mpslint needs Python 3.10 or newer: make PYTHON=python3.12' >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[verify]' numpy
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.demo
