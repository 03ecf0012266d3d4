# `make trial`, `make game` and `make test` each set up all they need; the second time they start at once.
# Set-up output goes to standard error, so that standard output is the transcript's.
#
#   make trial ARGS="--provider ollama --model qwen3:4b"
#   make game        an Evennia game in .game with Sage in it, the same one each time; ARGS="--fresh" begins anew
#   make game ARGS="--provider ollama --model qwen3:4b"
#   make test ARGS="tests/llm -k ollama"
#   make test PARALLEL=    the tests in one process, for a debugger
#   make test-evennia ARGS="-k reload"    only those that need Evennia
#   make bench       measure it beside its peers, under 3 minutes; bench-full takes longer
#   make bench ARGS="--only calls --json figures.jsonl"
#   make test-clients    real clients before the gateway: docs/gateway.md; ARGS="--only codex" tries one. Needs npm
#   make lock        renew the hash-pinned lock files
#
# PYTHON chooses the interpreter (3.11 or later); uv is used when it is there.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
NEWER := .venv-newer
BENCH := .venv-bench
GAME := .venv-game
CLIENTS := .venv-clients
ARGS ?=
# One worker process more than the cores this process may use, since many tests wait; eight at most. One that has no
# tests left takes from another.
PARALLEL ?= -n $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1))) --maxprocesses=8 --dist=worksteal
# One test at a time for each worker, the games first: they take a hundred times as long as the others.
GAMES = $(subst --dist=worksteal,--dist=load --maxschedchunk=1,$(PARALLEL))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_PYTHON_VERSION_WARNING := 1
# Byte code is kept, whatever the machine says: the tests start a thousand processes, and each would compile us anew.
unexport PYTHONDONTWRITEBYTECODE

# Tests of pure functions over text and bytes, of machines that take of Twisted only its Clock, of files on disk: once is
# enough.
PURE := */llm/fallback/* */llm/loose_json/* */llm/providers/test_recorded* */llm/dialects/*
PURE += */llm/providers/responses/test_recorded* */llm/providers/responses/test_responses_stream* */assistant/gateway/keys/test_store*
PURE += */resilience/admission/test_breaker* */resilience/test_simulated* */assistant/keys/test_redaction*
PURE += */resilience/budget/test_ledger* */resilience/budget/test_writer*
PURE += */assistant/journal/repair/test_damage* */assistant/journal/test_codec* */assistant/journal/tables/test_memories* */assistant/memory/test_history* */assistant/surfaces/setup/* */assistant/config/test_toml_edit*
PURE += */assistant/page/views/* */assistant/page/reading/test_money* */assistant/page/reading/test_search*
# What the page shows: its server, its streams and its stop run on both.
PURE += */assistant/page/test_in_a_browser* */assistant/page/test_leaks* */assistant/page/test_money* */assistant/page/test_unreadable*
PURE += */assistant/page/test_approvals* */assistant/page/test_openapi*
PURE += */assistant/characters/* */assistant/memory/recall/* */assistant/memory/sleep/* */assistant/test_front*
PURE += */assistant/memory/test_compaction* */tools/policy/test_deputy* */tools/web/extracting/* */tools/web/fetch/test_addresses*
PURE += */tools/web/fetch/test_urls* */tools/web/fetch/test_differential* */tools/web/test_citations* */llm/testing/test_obedient*
# Whole processes, attacks on what has no Twisted in it, and what is measured of models: once is enough as well. (A pattern
# is taken below this folder, so one that begins with `*/tests` finds nothing.)
PURE += */crash/test_kills* */crash/test_budget_kills* */crash/test_memory_kills* */crash/shared/test_shared_kills* tests/policy/*
PURE += */assistant/events/test_tick_model* */benchmarks/test_talk* */benchmarks/test_recall* */benchmarks/test_invented*

.PHONY: help trial game test test-evennia test-clients check bench bench-full lock clean

help:
	@sed -n '1,15s/^# \{0,1\}//p' Makefile

trial: $(VENV)/.run
	@$(VENV)/bin/mud-assistant trial $(ARGS)

game: $(GAME)/.run
	@$(GAME)/bin/mud-assistant game --folder .game $(ARGS)

test: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 check $(OLDEST)/.dev
	@scripts/debian.sh strace=strace chromium=chromium /usr/lib/postgresql=postgresql \
	    /usr/sbin/pgbouncer=pgbouncer /usr/lib/python3/dist-packages/searx/webapp.py=searx 1>&2
	@$(VENV)/bin/python -m compileall -q -j 0 assistant llm resilience tools tests
	$(VENV)/bin/python -m pytest $(PARALLEL) $(ARGS)
	@echo "the same on Twisted 24.11, the oldest we run on (all but the live tests, and what cannot differ there):"
	$(OLDEST)/bin/python -m pytest -q $(PARALLEL) --ignore=tests/live --ignore=tests/evennia $(PURE:%='--ignore-glob=%') $(ARGS)
ifeq ($(ARGS),)
	@$(MAKE) --no-print-directory test-evennia
endif

# Evennia holds us to Twisted 24.11: 5.0.1 on Python 3.11, 6.x on a later one.
test-evennia: $(OLDEST)/.dev
	@scripts/debian.sh chromium=chromium 1>&2
	@scripts/web_client.sh 1>&2
	$(OLDEST)/bin/python -m pytest -q $(GAMES) tests/evennia $(ARGS)
ifeq ($(ARGS),)
	@newer=$$(scripts/newer_python.sh "$(PYTHON)"); if [ -z "$$newer" ]; then \
	    echo "Evennia 6 is not tested beside it: no second Python, 3.12 or 3.13, is needed or found."; \
	else \
	    echo "the same on Evennia 6, without the live tests:"; \
	    $(MAKE) --no-print-directory PYTHON="$$newer" test-newer; \
	fi
endif

.PHONY: test-newer
test-newer: $(NEWER)/.dev
	$(NEWER)/bin/python -m pytest -q $(PARALLEL) --ignore=tests/evennia/live tests/evennia $(ARGS)

# Aider asks for older packages than the others. No package of npm runs a program of its own while it is installed.
test-clients: $(VENV)/.dev $(CLIENTS)/.clients $(CLIENTS)-aider/.clients tests/clients/node/node_modules/.clients
	$(VENV)/bin/python -m tests.clients $(ARGS)

check: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy

bench: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks --quick $(ARGS)

bench-full: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks --full $(ARGS)

# What a trial needs, and what work on the code needs beside it.
$(VENV)/.run: requirements.lock pyproject.toml
	@scripts/setup.sh "$(PYTHON)" $(VENV) requirements.lock 1>&2
	@touch $@

$(GAME)/.run: requirements-game.lock pyproject.toml
	@scripts/setup.sh "$(PYTHON)" $(GAME) requirements-game.lock 1>&2
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml
	@scripts/setup.sh "$(PYTHON)" $(VENV) requirements-dev.lock 1>&2
	@touch $@ $(VENV)/.run

$(OLDEST)/.dev: requirements-oldest.lock pyproject.toml
	@scripts/setup.sh "$(PYTHON)" $(OLDEST) requirements-oldest.lock 1>&2
	@touch $@

$(NEWER)/.dev: requirements-oldest.lock pyproject.toml
	@scripts/setup.sh "$(PYTHON)" $(NEWER) requirements-oldest.lock 1>&2
	@touch $@

# The peers it is measured beside, with the product's own packages as they are in requirements.lock.
$(BENCH)/.bench: benchmarks/requirements-peers.txt pyproject.toml
	@scripts/setup.sh "$(PYTHON)" $(BENCH) benchmarks/requirements-peers.txt 1>&2
	@touch $@

# Programs that ask models, and nothing of the product.
$(CLIENTS)/.clients: tests/clients/requirements.txt
	@scripts/setup.sh "$(PYTHON)" $(CLIENTS) $< --alone 1>&2
	@touch $@

$(CLIENTS)-aider/.clients: tests/clients/requirements-aider.txt
	@scripts/setup.sh "$(PYTHON)" $(CLIENTS)-aider $< --alone 1>&2
	@touch $@

tests/clients/node/node_modules/.clients: tests/clients/node/package-lock.json
	@cd tests/clients/node && npm ci --no-audit --no-fund --ignore-scripts 1>&2
	@touch $@

lock:
	@scripts/lock.sh

clean:
	rm -rf $(VENV) $(OLDEST) $(NEWER) $(GAME) $(BENCH) $(CLIENTS) $(CLIENTS)-aider tests/clients/node/node_modules build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
