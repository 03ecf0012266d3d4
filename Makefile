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
#   make site        the docs as a static site in build/site, without a request to any other host
#   make recording   the terminal recording in the README, anew from its asciicast; ARGS="--record" records one
#   make image       the OCI image, by buildah, podman or docker; BASE=debian without a registry: docs/running.md
#   make lock        renew the hash-pinned lock files
#   make test-installs    the wheel of a release with each extra in an environment of its own; ARGS="--only web"
#   make release VERSION=1.0.0    sdist, wheel and hashes in dist/: docs/releasing.md
#
# PYTHON chooses the interpreter (3.11 or later).

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
NEWER := .venv-newer
BENCH := .venv-bench
GAME := .venv-game
CLIENTS := .venv-clients
MUDPY := .venv-mudpy
SITE := .venv-site
RELEASE := .venv-release
UV := .venv-uv
VERSION ?=
ARGS ?=
# Two worker processes more than the cores this process may use, since many tests wait; eight at most. One that has no
# tests left takes from another.
PARALLEL ?= -n $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 2))) --maxprocesses=8 --dist=worksteal
# One test at a time for each worker, the games first: they take a hundred times as long as the others.
GAMES = $(subst --dist=worksteal,--dist=load --maxschedchunk=1,$(PARALLEL))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_PYTHON_VERSION_WARNING := 1
# Byte code is kept, whatever the machine says: the tests start a thousand processes, and each would compile us anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help trial game test newest oldest programs collected test-evennia test-clients test-installs check lint types \
    bench bench-full site recording image lock release clean

help:
	@sed -n '1,20s/^# \{0,1\}//p' Makefile

trial: $(VENV)/.run
	@$(VENV)/bin/mud-assistant trial $(ARGS)

game: $(GAME)/.run
	@$(GAME)/bin/mud-assistant game --folder .game $(ARGS)

# First of all what one core does alone: two of them at once. Types are checked beside the tests.
test:
	@$(MAKE) --no-print-directory -j2 $(VENV)/.dev $(OLDEST)/.dev newer-environment collected lint programs
	@$(MAKE) --no-print-directory -j2 types newest
ifeq ($(ARGS),)
	@$(MAKE) --no-print-directory oldest
	@$(MAKE) --no-print-directory test-evennia-6
else
	@echo "on Twisted 24.11, the oldest we run on: what goes over Twisted (tests/conftest.py says what does not):"
	$(OLDEST)/bin/python -m pytest -q $(PARALLEL) --twisted --ignore=tests/evennia $(ARGS)
endif

# Real games beside what computes: they wait for each other's processes, and on a machine that is full they start late.
oldest: $(OLDEST)/.dev
	@echo "on Twisted 24.11, the oldest we run on: what goes over Twisted (tests/conftest.py says what does not), and Evennia:"
	MUD_EFFORT=$${MUD_EFFORT:-0.5} $(OLDEST)/bin/python -m pytest -q $(GAMES) --twisted

newest: $(VENV)/.dev
	$(VENV)/bin/python -m pytest $(PARALLEL) $(ARGS)

# What is no package of ours and is needed by some tests.
programs: | $(UV)/.uv
	@scripts/debian.sh strace=strace chromium=chromium /usr/lib/postgresql=postgresql \
	    /usr/sbin/pgbouncer=pgbouncer /usr/lib/python3/dist-packages/searx/webapp.py=searx 1>&2
	@scripts/telnet_games.sh "$(PYTHON)" 1>&2
	@scripts/web_client.sh 1>&2

# The byte code of ours, and what pytest makes of the test files: each of its processes would make it anew, all at once.
# What is wrong with a test file is told when the tests are run.
collected: $(VENV)/.dev
	@$(VENV)/bin/python -m compileall -q assistant llm resilience tools tests
	@$(VENV)/bin/python -m pytest --collect-only -q >/dev/null 2>&1 || true

# Evennia holds us to Twisted 24.11: 5.0.1 on Python 3.11, 6.x on a later one.
test-evennia: $(OLDEST)/.dev
	@scripts/debian.sh chromium=chromium 1>&2
	@scripts/web_client.sh 1>&2
	$(OLDEST)/bin/python -m pytest -q $(GAMES) tests/evennia $(ARGS)
ifeq ($(ARGS),)
	@$(MAKE) --no-print-directory test-evennia-6
endif

# The second Python that Evennia 6 needs, empty when there is none or the first one will do.
NEWER_PYTHON = $(shell scripts/newer_python.sh "$(PYTHON)")

.PHONY: test-evennia-6 newer-environment test-newer
test-evennia-6:
	@newer="$(NEWER_PYTHON)"; if [ -z "$$newer" ]; then \
	    echo "Evennia 6 is not tested beside it: no second Python, 3.12 or 3.13, is needed or found."; \
	else \
	    echo "the same on Evennia 6, as far as the game has a part in it, without the live tests:"; \
	    $(MAKE) --no-print-directory PYTHON="$$newer" test-newer; \
	fi

newer-environment:
	@newer="$(NEWER_PYTHON)"; if [ -n "$$newer" ]; then $(MAKE) --no-print-directory PYTHON="$$newer" $(NEWER)/.dev; fi

# What our commands say, and what our rules forbid, is shown on 5.0.1.
OURS = $(addprefix --ignore-glob=tests/evennia/,live page/* test_admin_* test_deputy* test_meant* test_writers*)

test-newer: $(NEWER)/.dev
	$(NEWER)/bin/python -m pytest -q $(PARALLEL) $(OURS) tests/evennia $(ARGS)

# Aider asks for older packages than the others. No package of npm runs a program of its own while it is installed.
test-clients: $(VENV)/.dev $(CLIENTS)/.clients $(CLIENTS)-aider/.clients tests/clients/node/node_modules/.clients
	$(VENV)/bin/python -m tests.clients $(ARGS)

# What pip would fetch lies in .cache/wheelhouse afterwards, as the lock files pin it; no environment looks any further.
test-installs: $(VENV)/.dev
	$(VENV)/bin/python -m tests.installs $(ARGS)

check: lint types

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/reuse lint --lines

types: $(VENV)/.dev
	$(VENV)/bin/mypy

bench: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks --quick $(ARGS)

bench-full: $(BENCH)/.bench
	$(BENCH)/bin/python -m benchmarks --full $(ARGS)

# REPOSITORY is the address of this repository on a forge: links to source files lead there, and are plain names without.
site: $(SITE)/.site
	@$(SITE)/bin/python -m scripts.site $(if $(REPOSITORY),--repository $(REPOSITORY)) $(ARGS)

recording: $(SITE)/.site
	@$(SITE)/bin/python -m scripts.recording $(ARGS)

# What makes the environments. Without it pip does, in ten times as long.
$(UV)/.uv: scripts/uv.txt
	@mkdir -p $(UV)
	@command -v uv >/dev/null || scripts/setup.sh "$(PYTHON)" $(UV) $< --alone 1>&2 || true
	@touch $@

# What a trial needs, and what work on the code needs beside it.
$(VENV)/.run: requirements.lock pyproject.toml | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(VENV) requirements.lock 1>&2
	@touch $@

$(GAME)/.run: requirements-game.lock pyproject.toml | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(GAME) requirements-game.lock 1>&2
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(VENV) requirements-dev.lock 1>&2
	@touch $@ $(VENV)/.run

$(OLDEST)/.dev: requirements-oldest.lock pyproject.toml | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(OLDEST) requirements-oldest.lock 1>&2
	@touch $@

$(NEWER)/.dev: requirements-oldest.lock pyproject.toml | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(NEWER) requirements-oldest.lock 1>&2
	@touch $@

# The peers it is measured beside, with the product's own packages as they are in requirements.lock.
$(BENCH)/.bench: benchmarks/requirements-peers.txt pyproject.toml | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(BENCH) benchmarks/requirements-peers.txt 1>&2
	@touch $@

# What judges a release before it is uploaded, and nothing of the product.
$(RELEASE)/.release: scripts/release/requirements.txt | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(RELEASE) $< --alone 1>&2
	@touch $@

# Programs that ask models, and nothing of the product.
$(CLIENTS)/.clients: tests/clients/requirements.txt | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(CLIENTS) $< --alone 1>&2
	@touch $@

$(CLIENTS)-aider/.clients: tests/clients/requirements-aider.txt | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(CLIENTS)-aider $< --alone 1>&2
	@touch $@

$(SITE)/.site: scripts/site/requirements.txt | $(UV)/.uv
	@scripts/setup.sh "$(PYTHON)" $(SITE) $< --alone 1>&2
	@touch $@

tests/clients/node/node_modules/.clients: tests/clients/node/package-lock.json
	@cd tests/clients/node && npm ci --no-audit --no-fund --ignore-scripts 1>&2
	@touch $@

# scripts/image.sh says what else it takes, such as LOCK=requirements-game.lock.
image:
	@scripts/image.sh $(TAG)

lock:
	@scripts/lock.sh

release: $(RELEASE)/.release
	@$(RELEASE)/bin/python -m scripts.release $(VERSION)

clean:
	rm -rf $(VENV) $(OLDEST) $(NEWER) $(GAME) $(BENCH) $(SITE) $(RELEASE) $(CLIENTS) $(CLIENTS)-aider $(UV) tests/clients/node/node_modules \
	    $(MUDPY) tests/assistant/worlds/telnet/live/ranvier/node_modules build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache \
	    .hypothesis .import_linter_cache
