# Everything runs in .venv, which is built here from pyproject.toml alone: a fresh machine needs
# only Python 3.11 or newer with pip, and make. (A C compiler, too, or pip fetches one.)

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
BIN := .venv/bin
# uv installs in seconds what takes pip minutes; where it cannot be had, pip does it.
INSTALL = sh tools/install.sh $(BIN)/python

LOWEST := .venv-lowest/bin
# A cross-section for the lowest versions: core classes, readers, programs, adapters, service, client, cluster,
# report, command line. docs/decisions/0033 says what is left out, and why polars has a version of its own.
SMOKE := tests/problem/test_problem.py tests/problem/test_ticket.py tests/problem/test_price_table.py tests/analysis/test_theory.py \
  tests/learners/blocks/dantzig/test_highs.py tests/streams/test_files.py tests/streams/test_writer.py tests/streams/test_reader_sources.py \
  tests/adapters/test_sklearn.py tests/adapters/test_sklearn_classifier.py tests/adapters/test_sklearn_names.py \
  tests/adapters/test_river.py tests/adapters/test_river_rows.py tests/adapters/test_intervals.py \
  tests/counter/service/test_api.py tests/counter/service/test_client.py tests/counter/service/test_access_control.py tests/counter/service/test_direct_routes.py tests/counter/service/pages \
  tests/cluster tests/report/test_page.py tests/report/test_plots.py tests/e2e/test_cli_conventions.py

SANITIZED := tests/core tests/learners/blocks tests/saving/test_forged.py tests/saving/test_forged_states.py \
  tests/saving/test_fuzz.py tests/learners/test_played_and_saved.py

# One more than there are processors: some tests wait for processes, browsers and databases.
WORKERS := --numprocesses $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() or 1, 4) + 1)') --dist worksteal

.PHONY: demo test quick test-slow test-lowest sanitize wheel docs check bench mutants figures clean distclean help

help:  ## list what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: .venv/running  ## play the simulated clinic: 42 tests with prices, 30 to spend per patient; with a report to open
	$(BIN)/keyhole run --prices clinic --budget 30 --sparsity 4 --report clinic-report.html

test: .venv/ready  ## all tests but the slowest, doctests and README examples included
	$(BIN)/python -m pytest -m 'not slow' $(WORKERS)

quick: .venv/ready  ## what the changes since the last commit can break first, within a minute; SINCE=COMMIT
	$(BIN)/python -m tools.quick $(if $(SINCE),--since "$(SINCE)")

test-slow: .venv/ready  ## the slowest statistical tests; CI runs them when they or the package changed since they passed
	$(BIN)/python -m pytest -m slow $(WORKERS) tests
	$(BIN)/python -m tools.slow_tests --passed

test-lowest: .venv/ready  ## a cross-section of the tests with the lowest version of every dependency
	rm -rf .venv-lowest build/lowest.txt
	mkdir -p build
	$(BIN)/python -m tools.lowest > build/lowest.txt
	$(PYTHON) -m venv .venv-lowest
	sh tools/install.sh $(LOWEST)/python '.[all]' httpx hypothesis polars==1.0.0 pytest --constraint build/lowest.txt
	$(LOWEST)/python -m pytest -W default -m 'not slow' $(SMOKE)

# Compiled code that checks every index, address and number, on what could make it go wrong.
SANITIZE := KEYHOLE_SANITIZE=1 ASAN_OPTIONS=detect_leaks=0:log_path=build/sanitizer UBSAN_OPTIONS=log_path=build/sanitizer \
  LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)"

sanitize: .venv/ready  ## the tests of compiled code, forged states and a game of every learner, with sanitizers
	@mkdir -p build && rm -f build/sanitizer.*
	KEYHOLE_SANITIZE=1 $(BIN)/python -c 'from keyhole.core import library; library.find()'
	$(SANITIZE) $(BIN)/python -m pytest -m 'not slow' $(WORKERS) $(SANITIZED) || { cat build/sanitizer.*; exit 1; }

wheel: .venv/ready  ## a wheel in build/wheel, tried in a clean environment without a compiler
	$(BIN)/python -m tools.wheel

docs: .venv/ready  ## the documentation as a site: build/docs/index.html; warnings and broken links are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto docs build/docs
	$(BIN)/python -m tools.site.links build/docs

check: .venv/ready  ## formatting, lint, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready  ## measured comparisons, what is not stored yet; ONLY=speed,dantzig,auto,limit,advice,prices,intervals,regret a part; DATA=DIR plays its Parquet files too
	$(INSTALL) --group bench
	$(BIN)/python -m benchmarks $(if $(ONLY),--only "$(ONLY)") $(if $(DATA),--data "$(DATA)")

mutants: .venv/ready  ## plant bugs in FILES and see whether the tests notice; MOST=40 of them
	$(BIN)/python -m tools.mutants $(FILES) --most $(or $(MOST),40) --seed $(or $(SEED),0)

figures: .venv/ready  ## draw the figures of docs/ anew
	$(BIN)/python -m benchmarks.dantzig.figures
	$(BIN)/python -m benchmarks.regret.greedy_figures
	$(BIN)/python -m benchmarks.auto.figures
	$(BIN)/python -m benchmarks.common.report_picture
	$(BIN)/python -m benchmarks.common.counter_picture
	$(BIN)/python -m tools.site.gallery
	$(BIN)/python -m tools.site.paper_figure

clean:  ## remove every cache, compiled code included
	rm -rf src/keyhole/core/lib .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove .venv and what was built too
	rm -rf .venv .venv-lowest build

# What running needs, and what working on keyhole needs.
.venv/running: pyproject.toml hatch_build.py | .venv/made
	$(INSTALL) --editable '.[cli,files,report]'
	@touch $@

.venv/ready: pyproject.toml hatch_build.py | .venv/made
	$(INSTALL) --editable '.[all]' --group dev
	@touch $@ .venv/running

.venv/made:
	@test -n "$(PYTHON)" || { echo "keyhole needs Python 3.11 or newer on PATH" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"keyhole needs Python 3.11 or newer, found {v[0]}.{v[1]}: run make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	@touch $@
