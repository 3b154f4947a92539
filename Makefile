# Everything runs from .venv, which the targets create themselves: `make run` and `make test` work on
# a machine that has only python3 (3.11 or newer), pip and make.

PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv --quiet
INSTALL := $(UV) pip install --python $(BIN)/python

# Trust the certificates that this machine trusts: behind a company proxy uv's own list is not enough.
UV_SYSTEM_CERTS ?= 1
export UV_SYSTEM_CERTS
# uv insists on a cache directory below HOME; without a HOME to write to, do without a cache.
ifeq ($(shell test -w "$$HOME" && echo yes),)
export UV_NO_CACHE := 1
endif

# The tests start hundreds of processes: without bytecode on disk each would compile everything anew,
# which doubles the time of them all. Containers often say that none is to be written.
unexport PYTHONDONTWRITEBYTECODE

# The tests make thousands of small databases and wait for the disk at every commit. Memory is a file
# system, too, where there is room for it: the same calls, and a third of the time is gone.
MEMORY = $(shell { df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4194304 { print "/dev/shm" }'; } 2>/dev/null)
IN_MEMORY = folder=$$(mktemp -d "$(or $(MEMORY),$${TMPDIR:-/tmp})/turnwire-tests.XXXXXX") && \
  trap 'rm -rf "$$folder"' EXIT INT TERM && TMPDIR=$$folder

# What needs Node.js is left out where there is none, and says so; in CI that is an error.
TYPESCRIPT := clients/typescript
REACT := clients/react
# What the lock files say, and no other: but `npm ci` refuses a lock file that was written where the
# programs for other systems, which are optional, could not be had.
NPM_INSTALL := npm install --no-save --silent --ignore-scripts
define with-node
	if node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; then \
	  $(MAKE) -s --no-print-directory $(or $(3),$(TYPESCRIPT))/node_modules/.package-lock.json && \
	  cd $(or $(3),$(TYPESCRIPT)) && $(2); \
	else \
	  echo "Not run: the $(1), which need Node.js 20 or newer." >&2; test -z "$$CI"; \
	fi
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run claude web packages gallery images bench-web test test-all test-quick test-engine-postgres test-server-postgres test-page-canary test-typescript test-web check check-typescript check-web prove soak fuzz mutate fix bench bench-claude bench-core \
	schema docs docs-site requirements release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

# Without a shell between them, what stops make stops the server.
run: .venv/base.stamp ## serve the page, with the demo agent if no other is ready (ARGS="--port 8000")
	@exec $(BIN)/turnwire serve $(ARGS)

# Each time, not once: it also replaces other versions that were installed there.
claude: .venv/base.stamp ## install what the agent claude needs; then `make run` talks to Claude Code
	@$(INSTALL) --require-hashes -r requirements/claude.txt
	@echo "Installed. It also needs a credential: see docs/reference/agents/claude.md"

# With ARGS only what was asked for runs: no workers, no coverage. The parts run side by side: each waits most of the time.
test: .venv/test.stamp ## run the quick tests and the coverage gate, in about six minutes (ARGS="-k foo": only some, no gate)
ifdef ARGS
	@$(BIN)/pytest $(ARGS)
else
	@$(MAKE) --no-print-directory -j3 test-quick test-typescript test-page-canary
endif

test-all: test ## run everything: also kills, crash points, the real Claude Code and the page in a browser
	@$(PYTEST) -m volume
	@$(MAKE) --no-print-directory -j2 test-engine-postgres test-server-postgres
	@$(MAKE) --no-print-directory test-web

PYTEST = $(IN_MEMORY) $(BIN)/python -m tools.pytest_ci -n auto --dist worksteal
VITEST = cd "$(CURDIR)" && $(IN_MEMORY) $(BIN)/python -m tools.vitest_ci
test-quick: .venv/test.stamp
	@$(PYTEST) -m 'not volume' --cov --cov-report=
	@$(BIN)/coverage report --fail-under=100 --include='src/turnwire/core/*,src/turnwire/dialects/*,src/turnwire/turn_streams/*'

test-engine-postgres: .venv/test.stamp
	@$(PYTEST) --store postgres tests/engine

test-server-postgres: .venv/test.stamp
	@$(PYTEST) --store postgres -m 'not volume' tests/server tests/client

test-page-canary: .venv/test.stamp
	@$(call with-node,tests of the page,$(VITEST) web tests/answers.test.ts -t "an answer is streamed",web)

test-typescript: .venv/test.stamp ## run the tests of the TypeScript client and of the React package alone
	@$(call with-node,tests of the TypeScript client,($(VITEST) $(TYPESCRIPT)) && ($(VITEST) $(REACT)),$(REACT))

# Needs Chromium besides: CHROMIUM=/path says where it is.
test-web: .venv/test.stamp ## run the tests of the page alone, in a real browser
	@$(call with-node,tests of the page,$(VITEST) web,web)

check: .venv/check.stamp check-typescript check-web ## check format, lint, spelling, types and import direction
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/codespell
	@$(BIN)/mypy $(wildcard src tests benchmarks tools examples)
	@said=$$($(BIN)/lint-imports --no-logo) || { printf '%s\n' "$$said"; exit 1; }; \
	  printf '%s\n' "$$said" | tail -n 1

check-typescript:
	@$(call with-node,checks of the TypeScript client,npm run --silent check && cd ../typescript && npm run --silent check,$(REACT))

# The page that is shipped has to be the one that its source gives.
check-web:
	@$(call with-node,checks of the page,npm run --silent check,web)

web: ## build the page into src/turnwire/web
	@$(call with-node,page,npm run --silent build,web)

# Packing a package builds it.
PACKAGES := $(CURDIR)/build/packages
PACK = mkdir -p $(PACKAGES) && npm pack --silent --pack-destination $(PACKAGES) >/dev/null
packages: ## build the npm packages into build/packages
	@$(call with-node,npm packages,$(PACK) && cd ../typescript && $(PACK) && ls $(PACKAGES)/*.tgz,$(REACT))

images: .venv/base.stamp ## take the pictures in docs/images
	@$(call with-node,pictures,npm run --silent pictures,web)

gallery: ## show all states of the page and of the components, without a server
	@$(call with-node,gallery,npm run gallery,web)

bench-web: .venv/base.stamp ## measure the page in a real browser
	@$(call with-node,measurements of the page,npm run --silent bench,web)

prove: .venv/test.stamp ## kill a day of conversations at every crash point and check what is left
	@$(BIN)/python -m tests.prove.sweep $(ARGS)

soak: .venv/test.stamp ## the same with 5,000 kills at any moment, then fuzz; takes an hour (ARGS="--kills 100", or "--nodes 3 --minutes 30 --store postgres")
	@$(BIN)/python -m tests.prove.sweep --kills 5000 $(ARGS)
	$(if $(findstring --nodes,$(ARGS)),,@$(MAKE) --no-print-directory fuzz)

fuzz: .venv/test.stamp ## send nonsense to a server, for ten minutes (SECONDS=60)
	@TURNWIRE_FUZZ_SECONDS=$(or $(SECONDS),600) $(BIN)/pytest tests/server/test_fuzz.py

mutate: .venv/test.stamp ## put small faults into the code and count those that the tests notice (ARGS=server/gate: only there)
	@$(IN_MEMORY) $(BIN)/python -m tools.mutate --at-least 90 $(ARGS)

fix: .venv/check.stamp ## repair what the linter can repair, and format
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .
	@$(call with-node,repairs of the TypeScript client,npm run --silent fix && cd ../typescript && npm run --silent fix,$(REACT))
	@$(call with-node,repairs of the page,npm run --silent fix,web)

bench: .venv/base.stamp ## measure the store, nodes, the engine, recovery, the server, hostile input and the page (ARGS=replay: only that)
	@$(BIN)/python -m benchmarks $(ARGS)

bench-claude: .venv/test.stamp ## measure what Turnwire adds to the real Claude Code
	@$(BIN)/python -m benchmarks.claude $(ARGS)

bench-core: .venv/bench.stamp ## measure the core and the dialects
	@$(BIN)/python -m benchmarks.core $(ARGS)
	@$(BIN)/python -m benchmarks.dialects

schema: .venv/base.stamp ## write the JSON Schema files, and the types of the TypeScript client
	@$(BIN)/turnwire schema --out schema
	@$(call with-node,types of the TypeScript client,npm run --silent generate)

docs: .venv/test.stamp ## write the generated parts of the documentation
	@$(BIN)/python -m tools.docs

# Strict: a link that leads nowhere, or a page that the navigation does not list, is an error.
docs-site: .venv/docs.stamp ## build the documentation as a site with a search, into build/site
	@said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --clean 2>&1) || { printf '%s\n' "$$said"; exit 1; }
	@echo "Built. Look at it: $(BIN)/python -m http.server --directory build/site --bind 127.0.0.1 8001"

# Each file is compiled against the ones before it: all of them share one .venv, so they must agree.
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements" $(ARGS)
requirements: .venv/uv.stamp ## pin the requirements again (ARGS=--upgrade: to the newest)
	@$(COMPILE) requirements/uv.in -o requirements/uv.txt
	@$(COMPILE) requirements/build.in -o requirements/build.txt
	@$(COMPILE) pyproject.toml --extra cli -c requirements/build.txt -o requirements/base.txt
	@$(COMPILE) pyproject.toml --extra all \
	  -c requirements/build.txt -c requirements/base.txt -o requirements/claude.txt
	@$(COMPILE) pyproject.toml requirements/test.in --extra all \
	  -c requirements/build.txt -c requirements/claude.txt -o requirements/test.txt
	@$(COMPILE) pyproject.toml requirements/check.in --extra cli \
	  -c requirements/build.txt -c requirements/test.txt -o requirements/check.txt
	@$(COMPILE) pyproject.toml requirements/bench.in --extra all \
	  -c requirements/test.txt -c requirements/check.txt -o requirements/bench.txt
	@$(COMPILE) requirements/docs.in -c requirements/test.txt -c requirements/check.txt -o requirements/docs.txt

release: .venv/base.stamp $(REACT)/node_modules/.package-lock.json ## build all packages into dist/, use each in a clean environment, write the notes
	@$(BIN)/python -m tools.release

clean: ## remove .venv and everything else that can be made again
	@rm -rf .venv .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache \
	  .ruff_cache build dist $(TYPESCRIPT)/dist $(TYPESCRIPT)/node_modules $(REACT)/dist $(REACT)/node_modules web/node_modules
	@find src tests benchmarks tools examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# --- setting up .venv: a stamp per requirements file, so that nothing is installed twice -----------

# --without-pip because Debian ships python3 without ensurepip; the machine's pip puts uv in.
.venv/uv.stamp: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Turnwire needs Python 3.11 or newer: install it, or name it: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import pip, sys; sys.exit([*map(int, pip.__version__.split(".")[:2])] < [22, 3])' 2>/dev/null || \
	  { echo "Turnwire needs pip 22.3 or newer for $(PYTHON): install python3-pip" >&2; exit 1; }
	@echo "Setting up .venv"
	@$(PYTHON) -m venv --without-pip .venv
	@$(PYTHON) -m pip --quiet --disable-pip-version-check --python $(BIN)/python \
	  install --require-hashes -r $<
	@touch $@

.venv/base.stamp: requirements/base.txt requirements/build.txt pyproject.toml .venv/uv.stamp
	@echo "Installing Turnwire"
	@$(INSTALL) --require-hashes -r requirements/base.txt -r requirements/build.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/%.stamp: requirements/%.txt | .venv/base.stamp
	@echo "Installing requirements/$*.txt"
	@$(INSTALL) --require-hashes -r $<
	@touch $@

$(TYPESCRIPT)/node_modules/.package-lock.json: $(TYPESCRIPT)/package-lock.json
	@echo "Installing what the TypeScript client is built and tested with"
	@cd $(TYPESCRIPT) && $(NPM_INSTALL)
	@touch $@

# The React package is checked, built and tested with the sources of the client.
$(REACT)/node_modules/.package-lock.json: $(REACT)/package-lock.json $(TYPESCRIPT)/node_modules/.package-lock.json
	@echo "Installing what the React package is built and tested with"
	@cd $(REACT) && $(NPM_INSTALL)
	@touch $@

web/node_modules/.package-lock.json: web/package-lock.json
	@echo "Installing what the page is built and tested with"
	@cd web && $(NPM_INSTALL)
	@touch $@
