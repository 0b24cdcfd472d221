# Two commands do all the set-up: `make demo` and `make test`.
# `make demo` installs Assent alone into .venv; everything else adds what the tests, the linters and the benchmarks need.
SHELL       := bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PRODUCT := $(VENV)/.product
STAMP   := $(VENV)/.installed
WORKERS ?= 2
PART ?= 1
MINUTES ?= 30

# The tests start hundreds of processes: where bytecode may not be kept, each of them compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Bytecode is made when a module is first imported: most modules of the dependencies never are.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile --no-input --progress-bar off

# One line for every fifteen packages, so that a slow connection is not taken for a standstill.
define progress
while read -r word rest; do \
  case "$$word" in \
    Collecting) found=$$((found + 1)); [ $$((found % 15)) -ne 0 ] || echo "  $$found packages found";; \
    Installing) [ "$$rest" = "$${rest#collected}" ] || echo "  all downloaded; installing them";; \
  esac; \
done
endef

.PHONY: install test demo bench agentdojo torture lint docs docs-reference package release-check clean

install: $(STAMP)

$(PRODUCT): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Assent needs Python 3.11 or newer: make demo PYTHON=python3.11")'
	@echo "Installing Assent into $(VENV): about 125 MB, once, usually within a minute."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -c constraints.txt -e '.[standard]' | $(progress)
	@touch $@

$(STAMP): $(PRODUCT)
	@echo "Installing what the tests and linters need into $(VENV): about 450 MB more, once."
	@$(PIP) --quiet --upgrade "pip>=25.1"
	@$(PIP) -c constraints.txt --group dev -e '.[standard]' | $(progress)
	@touch $@

test: install lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=src:tests $(BIN)/mypy --explicit-package-bases tests/support bench demo
	$(BIN)/lint-imports

bench: install
	$(BIN)/python -m bench

agentdojo: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group agentdojo
	$(BIN)/python -m bench.agentdojo

torture: install
	$(BIN)/python -m pytest tests --torture --part $(PART)
	$(BIN)/python -m bench.soak --minutes $(MINUTES)

docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	$(BIN)/python docs/site/build.py

docs-reference: install
	$(BIN)/python -m docs.site.reference docs/reference
	$(BIN)/python docs/site/pictures.py

package: install
	$(BIN)/python tests/support/suite/package_check.py

release-check: install
	$(BIN)/python tests/support/suite/package_check.py --release

demo: $(PRODUCT)
	@$(BIN)/assent demo

clean:
	rm -rf $(VENV)
