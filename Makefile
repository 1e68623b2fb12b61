# make demo    set everything up, then show it          make test    the whole test suite, linters and types included
# make bench   the benchmarks                           make lint    linters, types and import contracts only
# make docs    the documentation, into site/             make package  wheel and source, tried in an empty environment
# make figures       pictures and tables of README and evidence again: hours, and what is done is kept
# make notebooks     run the documentation's notebooks and write what they show (the gallery of plots among them)
# make reliability   kills, hostile questions, damaged reports, planted values: about ten minutes
# make campaign      a whole campaign on this machine: PostgreSQL, coordinator, helper, fifty owner processes, TLS
# make faults        campaigns while things break: kills, drop-outs, a bad network, a database that restarts, full disks
# make load          100,000 owners' reports through HTTP, beside the same server doing nothing
# make flower        campaigns of every kind that a real Flower federation carries, on this machine
# make ray           the tests of engine "ray", on a real Ray of several processes (79 MB are installed)
# make strangers     everybody who should not get in, trying to    make siege  what honest owners notice of strangers

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(if $(shell $(p) -c 'import sys; print(1) if (3,11) <= sys.version_info[:2] <= (3,13) else 0' 2>/dev/null | grep 1),$(p))))
VENV := .venv
BIN := $(VENV)/bin
# Compiled kernels are kept per state of the sources: a kernel that calls another file's must not outlive it.
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba-$(shell find src papers -name '*.py' | sort | xargs cat | cksum | cut -d' ' -f1)
# Real data sets, where they are at hand; tests that need them skip with a message elsewhere.
export TACIT_DATA ?= $(wildcard $(CURDIR)/../shared/data)
# Test vectors of the drafts of verified sums, likewise.
export TACIT_STANDARDS ?= $(wildcard $(CURDIR)/../shared/standards)

.DEFAULT_GOAL := help
.PHONY: help demo package docs figures notebooks test lint bench reliability campaign faults load strangers siege flower ray style clean

help:
	@head -12 Makefile | sed 's/^# //'

demo: $(VENV)/.demo
	env -u NUMBA_CACHE_DIR $(BIN)/tacit demo  # kernels where a `tacit` typed by hand finds them

docs: $(VENV)/.docs
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

figures: $(VENV)/.dev
	$(BIN)/tacit demo --out out/demo
	cp out/demo/pictures/01-*.png docs/demo.png
	$(BIN)/tacit audit --part mechanisms --part gate --picture docs/audit.png
	$(BIN)/tacit reproduce ahead --out out/ahead
	cp out/ahead/break_even.png docs/break_even.png
	$(BIN)/python -m tacit_papers.evidence README.md docs/evidence.md docs/explanation/trust.md out/ahead/*.jsonl

notebooks: $(VENV)/.dev
	$(BIN)/python docs/_notebooks.py

package: $(VENV)/.dev
	rm -rf dist build/tried
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist papers
	$(PYTHON) -m venv build/tried/venv
	build/tried/venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build/tried && env -u NUMBA_CACHE_DIR -u TACIT_DATA venv/bin/tacit demo
	cd build/tried && env -u NUMBA_CACHE_DIR -u TACIT_DATA venv/bin/tacit reproduce c --quick
	cd build/tried/out/demo/files && ../../../venv/bin/tacit fit people.csv --label income --public mine.csv --epsilon 2
	cd build/tried/out/demo/files && ../../../venv/bin/tacit predict model.tacit new.csv --out predictions.csv

# thousands of small databases and ledgers are written and thrown away: in memory, where it has room
IN_MEMORY := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 {print "/dev/shm"}')

# First what takes a moment. Then, each on a core of its own: the digests of all that is kept, by
# which nearly every loop is compiled (tests that begin at once would all compile the same ones, and
# rewrite the same files); and types, after one look at all tests, which keeps them as bytecode.
# Then a process per core, and two more since many tests wait; libraries' own threads would only
# stand in their way.
KEPT := tests/golden/test_golden.py::test_models_questions_and_reports_have_the_bytes_they_had
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
test: export PYTHONDONTWRITEBYTECODE :=
test: export TMPDIR := $(or $(IN_MEMORY),$(TMPDIR),/tmp)
test: style
	@mkdir -p .cache
	@{ $(BIN)/python -m pytest --collect-only > .cache/collected.txt 2>&1; \
		$(BIN)/mypy > .cache/types.txt 2>&1; } & types=$$!; \
	$(BIN)/python -m pytest $(KEPT); kept=$$?; \
	$(BIN)/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 2)) --dist loadfile --no-loadscope-reorder \
		--deselect $(KEPT); tests=$$?; \
	wait $$types; types=$$?; cat .cache/types.txt; test $$kept -eq 0 -a $$tests -eq 0 -a $$types -eq 0

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint: style
	$(BIN)/mypy

bench: $(VENV)/.dev $(VENV)-rivals/.done
	$(BIN)/python -m benchmarks --rivals $(VENV)-rivals/bin/python

reliability: $(VENV)/.dev
	$(BIN)/python -m reliability --json out/reliability.json

campaign: $(VENV)/.dev
	$(BIN)/python -m benchmarks.service.campaign
	$(BIN)/python -m benchmarks.service.campaign --trust "two servers" --out out/campaign-two-servers

faults: $(VENV)/.dev
	$(BIN)/python -m benchmarks.service.faults

load: $(VENV)/.dev
	$(BIN)/python -m benchmarks.service.load

siege: $(VENV)/.dev
	$(BIN)/python -m benchmarks.service.siege

flower: $(VENV)-flower/.done
	$(VENV)-flower/bin/python -m benchmarks.service.flower

ray: $(VENV)-ray/.done
	$(VENV)-ray/bin/python -m pytest tests/engines/test_lost_ray.py tests/engines/test_ray.py

strangers: $(VENV)/.dev
	$(BIN)/python -m benchmarks.strangers

clean:
	rm -rf $(VENV) $(VENV)-rivals $(VENV)-flower $(VENV)-ray .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "tacit needs Python 3.11, 3.12 or 3.13 on the PATH, or: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp per job: `make demo` installs what users get, `make test` adds the developers' tools.
$(VENV)/.demo: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[plot]' -e ./papers
	@touch $@

$(VENV)/.dev: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e ./papers
	@touch $@ $(VENV)/.demo $(VENV)/.docs

$(VENV)/.docs: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs,service]' -e ./papers
	@touch $@

# The libraries we measure ourselves against, in their own environment: their pins are not ours.
$(VENV)-rivals/.done: benchmarks/rivals.txt
	@test -n "$(PYTHON)" || { echo "tacit needs Python 3.11, 3.12 or 3.13 on the PATH" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)-rivals
	$(VENV)-rivals/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/rivals.txt
	@touch $@

# Flower pins what the command line is made with, so it has its own environment, too.
$(VENV)-flower/.done: pyproject.toml
	@test -n "$(PYTHON)" || { echo "tacit needs Python 3.11, 3.12 or 3.13 on the PATH" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)-flower
	$(VENV)-flower/bin/python -m pip install --quiet --disable-pip-version-check -e '.[service,flower]'
	@touch $@

# Ray is large, and needed where a cluster is: its tests have an environment of their own.
$(VENV)-ray/.done: pyproject.toml papers/pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "tacit needs Python 3.11, 3.12 or 3.13 on the PATH" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)-ray
	$(VENV)-ray/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,ray]' -e ./papers
	@touch $@
