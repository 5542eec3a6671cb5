# Postern. `make run` needs Python 3.11 or newer and nothing else; see README.md.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check -qq install --require-hashes --no-deps --no-input

# Whoever has Python keep no bytecode would have each of our processes compile everything anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := run
.PHONY: run demo venv assets

run: venv ## Prepare the data and serve http://127.0.0.1:8000 (PORT, DATA_DIR and the engine variables are honoured)
	@$(VENV)/bin/python manage.py prepare
	@exec $(VENV)/bin/python manage.py up --with-parent

demo: venv ## The same with a simulated fleet, devices and an ERP, so that every page shows life
	@$(VENV)/bin/python manage.py prepare
	@exec $(VENV)/bin/python manage.py demo --with-parent

assets: venv ## Bring the modeler (bpmn-js), so that workflows can be drawn in the page; needs npm
	@$(VENV)/bin/python -m processes.workflows.modeler.fetch

venv: ## Create the virtual environment and install what is pinned
	@$(call make_venv)
	@$(call install,requirements.txt)

# Everything is pinned, so a copy of the list inside the environment tells whether it is up to date. The copy is made
# last: an installation that was interrupted is repeated. pip fetches one package after the other; with nothing left to
# resolve, three of them with a share of the list each take less than half the time. A pin and its hashes stay together.
define install
	cmp -s $(1) $(VENV)/installed-$(1) || { \
		echo "Installing $(1) ..." && rm -f $(VENV)/share-* && \
		awk '/==/ { pin++ } /==|--hash=/ { print > "$(VENV)/share-" pin % 3 }' $(1) && \
		{ $(PIP) -r $(VENV)/share-0 & first=$$!; $(PIP) -r $(VENV)/share-1 & second=$$!; \
			$(PIP) -r $(VENV)/share-2 & third=$$!; wait $$first && wait $$second && wait $$third; } && \
		cp $(1) $(VENV)/installed-$(1); }
endef

define make_venv
	$(VENV)/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
			echo "Postern needs Python 3.11 or newer, and $(PYTHON) is not: use make PYTHON=/path/to/python3.11" >&2; exit 1; }; \
		$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
			echo "$(PYTHON) cannot make virtual environments: install the package python3-venv" >&2; exit 1; }; \
		echo "Creating $(VENV) ..." && rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
endef

# --- quick, test, check, bench, drill ---------------------------------------------------------------------------

SERVERS := $(VENV)/bin/python -m tests.servers.bench
PYTEST := $(VENV)/bin/python -m pytest
TOGETHER := $(MAKE) --no-print-directory -j2
# For two cores: the drills wait more than they work, so more workers than cores keep both busy.
WORKERS ?= 4
CHECKS := types walks contracts deployment migrations texts names mechanisms lint

.PHONY: quick quick-suite test whole suite on-postgres on-sqlite check $(CHECKS) bytecode dev packages bench figures drill mutants pictures

quick: dev ## Lint, types and the quick tests on SQLite, without any server: for the inner loop
	@$(TOGETHER) lint quick-suite types

quick-suite:
	@QUICK=1 TEST_PROFILE=embedded $(PYTEST) -q -n 3 --dist loadgroup

test: packages dev ## Install what is missing, start private servers, check the code and run the whole suite
	@-$(VENV)/bin/python -m processes.workflows.modeler.fetch
	@$(SERVERS) --no-fsync -- $(MAKE) --no-print-directory whole

whole: # The servers are there from the start: what is copied from one database is made once for checks and suite
	@$(TOGETHER) bytecode $(CHECKS)
	@$(MAKE) --no-print-directory suite

suite:
	@$(TOGETHER) on-postgres on-sqlite

on-postgres:
	@SUITE=1 $(PYTEST) -q -n $(WORKERS) --dist loadgroup

on-sqlite: # What claims to work embedded, beside the other, whose drills wait for much; told when it has ended
	@SUITE=1 TEST_PROFILE=embedded $(PYTEST) -q -n 2 --dist loadgroup -m embedded > $(VENV)/on-sqlite.log 2>&1; \
		code=$$?; echo; cat $(VENV)/on-sqlite.log; exit $$code

check: dev ## Lint, format, types, import contracts, walks, deployment, migrations, translations, names, mechanisms
	@$(TOGETHER) $(CHECKS)

lint:
	@$(VENV)/bin/ruff check -q .
	@$(VENV)/bin/ruff format -q --check .

types:
	@DATA_DIR=$$(mktemp -d) $(VENV)/bin/mypy .

contracts:
	@$(VENV)/bin/lint-imports --no-logo 2>/dev/null || $(VENV)/bin/lint-imports

deployment:
	@PUBLIC_URL=https://postern.example DATA_DIR=$$(mktemp -d) $(VENV)/bin/python -W error manage.py check --deploy --fail-level INFO

migrations:
	@DATA_DIR=$$(mktemp -d) $(VENV)/bin/python manage.py makemigrations --check --dry-run

texts:
	@$(VENV)/bin/python -m tests.translations
	@$(VENV)/bin/python -m tests.retired_texts

names:
	@$(VENV)/bin/python -m tests.retired_words

mechanisms:
	@$(VENV)/bin/python -m tests.mutants check

walks: # How many files a fact passes; the printed table is of interest where one has become longer
	@$(VENV)/bin/python -m tests.walks > $(VENV)/walks.log 2>&1 || { cat $(VENV)/walks.log; exit 1; }

bytecode: # Compiled once, beside the checks, for all workers; what cannot be, the suite tells
	@-$(PYTEST) -q --collect-only > $(VENV)/collected.log 2>&1

packages:
	@$(PYTHON) tests/servers/packages.py

dev: venv
	@$(call install,requirements-dev.txt)

bench: packages dev ## Measure the figures, each as a ratio within this run; also var/bench.json
	@$(SERVERS) -- $(VENV)/bin/python -m bench $(FIGURES)

figures: dev ## Write the figures of the last `make bench` into the README
	@$(VENV)/bin/python -m bench.table

drill: packages dev ## The drills at full size; SIMULATION_SECONDS=3600 simulates for an hour
	@TEST_PROFILE=embedded DRILL_SCALE=1 $(PYTEST) -q -s tests/simulation
	@DRILL_SCALE=1 $(SERVERS) -- $(PYTEST) -q tests/faults tests/processes/workflows/engine/expressions/test_fuzz.py

mutants: packages dev ## Take every mechanism away, one at a time: a test must notice each; MUTANTS=word for some of them
	@$(SERVERS) --no-fsync -- $(VENV)/bin/python -m tests.mutants run $(MUTANTS)

pictures: packages dev ## Take the pictures of the README anew, from a demonstration that runs for two minutes
	@$(VENV)/bin/python -m tests.pictures
