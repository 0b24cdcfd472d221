# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= 2
PART ?= 1

# The tests start hundreds of processes: where bytecode may not be kept, each of them compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install test demo bench torture lint docs docs-reference clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assent needs Python 3.11 or newer: make install PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e .
	@touch $@

test: install lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install
	$(BIN)/python -m bench

torture: install
	$(BIN)/python -m pytest tests --torture --part $(PART)

docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	$(BIN)/python docs/site/build.py

docs-reference: install
	$(BIN)/python -m assent.reference docs/reference
	$(BIN)/python docs/site/pictures.py

demo: install
	$(BIN)/assent demo

clean:
	rm -rf $(VENV)
