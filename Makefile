# `make demo` and `make test` do all their own set-up: Python 3.11+ with venv, git and make are enough.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start thousands of programs: each would compile the source again.
unexport PYTHONDONTWRITEBYTECODE
# They wait for containers, programs and each other's processes as long as they compute: two more at a time than there are cores.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)

# Each commit runs the next share of the fault campaign and of the slow tests (tests/shares.py); FAULT_SHARE=1/1 SLOW_SHARE=1/1 runs all.
COMMITS := $(shell git rev-list --count HEAD 2>/dev/null || echo 0)

.PHONY: demo test quick check campaign clusters real-agents soak bench pictures images agents live format clean

demo: .venv/demo.stamp
	@docker/images --if-stale minion || echo "The image could not be built; sessions run as processes."
	@$(BIN)/overlord demo $(if $(CONTRACT),--contract $(CONTRACT)) $(if $(RUNNER),--runner $(RUNNER)) $(if $(SWARM),--swarm $(SWARM) --host $(HOST_ADDRESS))

test: export FAULT_SHARE ?= $(shell expr $(COMMITS) % 6)/6
test: export SLOW_SHARE ?= $(shell expr $(COMMITS) % 3)/3
test: check
	$(BIN)/python -m pytest -n auto --dist worksteal $(OPTIONS) || { echo $$? >.venv/test.status; exit 1; }

quick: check
	$(BIN)/python -m pytest -n auto tests/domain tests/skills tests/architecture $(OPTIONS)

check: .venv/test.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

campaign: .venv/test.stamp
	$(BIN)/python -m tests.faults $(OPTIONS)
	$(MAKE) clusters
	$(MAKE) real-agents

# Sessions on other machines, all of it: a swarm of three engines, an embedded cluster.
clusters: .venv/test.stamp
	docker/images --if-stale minion
	SLOW_SHARE=1/1 $(BIN)/python -m pytest tests/swarm tests/kubernetes -p no:randomly $(OPTIONS)
	SLOW_SHARE=1/1 $(BIN)/python -m pytest tests/conformance -k "swarm or kubernetes" -p no:randomly $(OPTIONS)

# The real programs of coding agents, each in a whole session; Claude Code is a download under its maker's terms. REAL_AGENTS takes fewer.
REAL_AGENTS ?= claude-code,codex,opencode,gemini,aider

real-agents: .venv/test.stamp
	docker/images --if-stale --agents $(REAL_AGENTS) minion
	REAL_AGENTS=$(REAL_AGENTS) $(BIN)/python -m pytest tests/agents/test_real_agents.py tests/agents/test_real_clients.py -p no:randomly $(OPTIONS)

soak: .venv/test.stamp
	$(BIN)/python -m tests.faults.soak
	FAULT_TOGETHER=1 FAULT_EVERY=1 $(BIN)/python -m pytest tests/faults/test_kills.py tests/faults/test_nth_call.py tests/faults/test_git_faults.py tests/faults/test_sqlite_faults.py tests/faults/test_model_faults.py -n auto --timeout 3000
	REAL_PROJECTS=all $(BIN)/python -m pytest tests/scenarios/test_real_projects.py -n auto

bench: .venv/test.stamp
	$(BIN)/python -m bench

pictures: .venv/test.stamp
	$(BIN)/python -m docs.pictures.make
	$(BIN)/python -m docs.pictures.page

images:
	docker/images

# The programs of coding agents, for sessions in containers; Claude Code and Cursor are added by whoever took their makers' terms.
AGENTS ?= codex,opencode,gemini,aider

agents:
	docker/images --agents $(AGENTS)

live: .venv/test.stamp
	OVERLORD_LIVE=1 $(BIN)/python -m pytest tests/conformance -p no:randomly

format: .venv/test.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .mypy_cache .ruff_cache

.venv/demo.stamp: requirements/run.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Overlord needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "Python has no venv: install it (Debian: apt install python3-venv)"; exit 1; }
	@echo "Setting up .venv (once) …"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/run.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/test.stamp: .venv/demo.stamp requirements/dev.lock requirements/minion.lock
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.lock
	@test -x .venv/toolchain/bin/python || $(BIN)/python -m venv .venv/toolchain
	@.venv/toolchain/bin/python -m pip install --quiet --require-hashes -r requirements/minion.lock
	@touch $@
