# glint's commands; `make help` lists them. All of them work in a fresh clone.

TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
GLINT      := $(TARGET_DIR)/release/glint
TOOLS      := $(TARGET_DIR)/tools
STATE_DIR  := $(or $(XDG_STATE_HOME),$(HOME)/.local/state)/glint

# Seconds that one test binary may take before it is killed with all that it started.
TEST_LIMIT ?= 900
# Further arguments for cargo test: make test ARGS='--test conformance'
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run build test test-deps lint fuzz bindings

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build glint and serve a 1 GiB file-backed volume on 127.0.0.1:3260
	@scripts/install-deps run
	@cargo build --release --locked --bin glint
	@mkdir -p '$(STATE_DIR)'
	@exec '$(GLINT)' serve --volume 'demo=file:$(STATE_DIR)/demo.img,size=1GiB'

build: ## build the release binary
	@scripts/install-deps run
	cargo build --release --locked --bin glint

test-deps: # the real clients, the real GlusterFS and the virtual machine that the tests talk to
	@scripts/install-deps test
	@scripts/build-fio '$(TOOLS)/fio'
	@scripts/build-vm '$(TOOLS)/vm'

test: build test-deps ## run every test, those against real clients and a real GlusterFS included
	GLINT_BIN='$(GLINT)' GLINT_TOOLS='$(TOOLS)' TEST_LIMIT='$(TEST_LIMIT)' \
		cargo --config "target.'cfg(unix)'.runner='$(CURDIR)/scripts/run-test-binary'" \
		test --locked --no-fail-fast $(ARGS)

lint: ## check formatting and lints, warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

bindings: ## regenerate the libgfapi bindings from the installed header
	@scripts/install-deps bind
	cargo run --locked -p glint-bindings
