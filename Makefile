# Everything runs in .venv, which is built here from pyproject.toml alone: a fresh machine needs
# only Python 3.11 or newer with pip, and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
BIN := .venv/bin
# Tests of inner kernels, which have no way in from Python once they are compiled.
INNER := tests/blocks/dantzig/test_parts.py tests/blocks/dantzig/test_working_parts.py tests/blocks/draw/test_by_value.py

.PHONY: demo test check bench mutants figures clean distclean help

help:  ## list what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: .venv/ready  ## play the simulated clinic: 42 tests with prices, 30 to spend per patient; with a report to open
	$(BIN)/keyhole run --prices clinic --budget 30 --sparsity 4 --report clinic-report.html

test: .venv/ready  ## all tests, doctests and README examples included
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(INNER)

check: .venv/ready  ## formatting, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready  ## measured comparisons, what is not stored yet; ONLY=speed,dantzig,auto,limit,advice,prices,regret a part; DATA=DIR plays its Parquet files too
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks $(if $(ONLY),--only "$(ONLY)") $(if $(DATA),--data "$(DATA)")

mutants: .venv/ready  ## plant bugs in FILES and see whether the tests notice; MOST=40 of them
	$(BIN)/python -m tools.mutants $(FILES) --most $(or $(MOST),40) --seed $(or $(SEED),0)

figures: .venv/ready  ## draw the figures of docs/ anew
	$(BIN)/python -m benchmarks.dantzig.figures
	$(BIN)/python -m benchmarks.regret.greedy_figures
	$(BIN)/python -m benchmarks.auto.figures
	$(BIN)/python -m benchmarks.common.report_picture
	$(BIN)/python -m benchmarks.common.counter_picture

clean:  ## remove every cache, compiled kernels included
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove .venv too
	rm -rf .venv

.venv/ready: pyproject.toml
	@test -n "$(PYTHON)" || { echo "keyhole needs Python 3.11 or newer on PATH" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"keyhole needs Python 3.11 or newer, found {v[0]}.{v[1]}: run make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
