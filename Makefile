# trainui: the commands of daily work. `make help` lists them.
PYTHON ?= python3
PY := .venv/bin/python
export TRAINUI_PORT ?= $(or $(PORT),8000)
export FRESH

help:  ## List these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

env:
	@$(PYTHON) tools/environment.py app jobs

env-dev:
	@$(PYTHON) tools/environment.py dev jobs sdk

up: env  ## Start trainui on this machine; Ctrl-C stops it (PORT=8001, FRESH=1)
	@exec $(PY) -m trainui.up

test: env-dev  ## Run the tests
	@$(PY) -m pytest -n auto --dist loadgroup

test-all: env-dev  ## Run all tests, with 200 runs of chaos and 200 jobs under kills for ten minutes
	@TRAINUI_LONG=1 $(PY) -m pytest -n auto --dist loadgroup

lint: env-dev  ## Format check, lint, types, import contracts, templates, dependencies
	@$(PY) tools/lint.py

conformance: env-dev  ## Run the shared conformance sets: N passed, N failed per set (CASES=DIR)
	@$(PY) -m tests.conformance.run $(CASES)

cluster: env-dev  ## Start the tests' real Kubernetes for people; prints a kubeconfig (root, Go; FAKE=4 machines)
	@exec $(PY) -m tests.rig --fake $(or $(FAKE),0)

bench: env-dev  ## Measure ratios, one JSON line each
	@$(PY) -m bench

lock:  ## Pin all requirements anew, with hashes
	@sh tools/lock.sh

.PHONY: help env env-dev up test test-all lint conformance cluster bench lock
