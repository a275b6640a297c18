# glint's commands; `make help` lists them. All of them work in a fresh clone.

TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
GLINT      := $(TARGET_DIR)/release/glint
TOOLS      := $(TARGET_DIR)/tools
STATE_DIR  := $(or $(XDG_STATE_HOME),$(HOME)/.local/state)/glint

# Seconds that one test binary may take before it is killed with all that it started.
TEST_LIMIT ?= 900
# What test binaries and the like are told.
PLACES := GLINT_BIN='$(GLINT)' GLINT_TOOLS='$(TOOLS)'
# Further arguments for cargo test: make test ARGS='--test conformance'
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run build test test-deps conformance lint fuzz bench bench-quick bench-micro bench-instructions bench-deps scale soak torture bindings

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build glint and serve a 1 GiB file-backed volume on 127.0.0.1:3260
	@scripts/install-deps run
	@cargo build --release --locked --bin glint
	@mkdir -p '$(STATE_DIR)'
	@exec '$(GLINT)' serve --state-dir '$(STATE_DIR)' --volume 'demo=file:$(STATE_DIR)/demo.img,size=1GiB'

build: ## build the release binary
	@scripts/install-deps run
	cargo build --release --locked --bin glint

test-deps: # the real clients, the real GlusterFS and the virtual machine that the tests talk to
	@scripts/install-deps test
	@scripts/build-fio '$(TOOLS)/fio'
	@scripts/build-iscsi-test '$(TOOLS)/iscsi-test-cu'
	@scripts/build-vm '$(TOOLS)/vm'

test: build test-deps ## run every test, those against real clients and a real GlusterFS included
	$(PLACES) TEST_LIMIT='$(TEST_LIMIT)' \
		cargo --config "target.'cfg(unix)'.runner='$(CURDIR)/scripts/run-test-binary'" \
		test --locked --no-fail-fast $(ARGS)

# What to narrow it to: any of debian newest ram file gluster, and beginnings of tests' names.
CONFORM ?=

conformance: build test-deps ## the table of libiscsi's conformance suites: make conformance CONFORM='newest ram SCSI.Unmap'
	$(PLACES) scripts/run-test-binary \
		cargo run --quiet --locked -p glint-testkit --bin conformance -- $(CONFORM)

lint: ## check formatting and lints, warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo metadata --locked --format-version 1 --manifest-path fuzz/cargo-fuzz/Cargo.toml >/dev/null

# libFuzzer with coverage feedback, on the ordinary toolchain: no sanitizer, since target-core has no unsafe code. What is found
# stays in the target directory; copy what is worth keeping to fuzz/corpus, which `make test` replays.
FUZZ ?= pdu
SECONDS ?= 60
JOBS ?= 1
FUZZ_FLAGS := --cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares
FUZZ_DIR := $(TARGET_DIR)/fuzz

fuzz: ## fuzz a target for a while: make fuzz FUZZ=pdu|login|connection|multiple|commands SECONDS=60 JOBS=1
	@scripts/install-deps fuzz
	@mkdir -p '$(FUZZ_DIR)/corpus/$(FUZZ)'
	cd fuzz/cargo-fuzz && RUSTFLAGS='$(FUZZ_FLAGS)' CARGO_TARGET_DIR='$(FUZZ_DIR)' \
		cargo run --release --locked --target "$$(rustc -vV | sed -n 's/^host: //p')" --bin '$(FUZZ)' -- \
		-max_total_time=$(SECONDS) -max_len=4096 -timeout=10 -fork=$(JOBS) -artifact_prefix='$(FUZZ_DIR)/' \
		'$(FUZZ_DIR)/corpus/$(FUZZ)' '$(CURDIR)/fuzz/corpus/$(FUZZ)'

# tgt, fio with libiscsi and gfapi, GlusterFS. Results go to benches/results; of the quick run to the target directory.
bench-deps:
	@scripts/install-deps bench
	@scripts/build-fio '$(TOOLS)/fio'

# What to narrow it to: any of what `bench --help` lists.
BENCH ?=
MEASURE = $(PLACES) TEST_LIMIT=3600 scripts/run-test-binary \
	cargo run --quiet --release --locked -p glint-testkit --bin

bench: build bench-deps ## compare glint with its peers, side by side (about half an hour): make bench BENCH='ram --rounds 9'
	$(MEASURE) bench -- --out benches/results $(BENCH)

bench-quick: build bench-deps ## less of the same, in some minutes
	$(MEASURE) bench -- --quick --out '$(TARGET_DIR)/bench-quick' $(BENCH)

bench-micro: ## measure what a command costs in memory
	@scripts/install-deps run
	cargo bench --locked --bench datapath

# What a change costs: make bench-instructions BENCH=--save stores the counts in benches/results/instructions.json.
bench-instructions: ## count a command's instructions in memory; fail when they have grown
	@scripts/install-deps bench
	cargo bench --quiet --locked --bench instructions -- $(BENCH)
# What to narrow them to: scenes (idle busy flood fairness) and backends (null ram file gluster).
SCALE ?=
SOAK ?=
# Faults and options, of those that `torture --help` lists.
TORTURE ?=

scale: build ## measure a thousand volumes and sessions, memory under a flood, fairness: make scale SCALE='idle gluster'
	@scripts/install-deps test
	$(MEASURE) scale -- $(SCALE)

# The default of SECONDS is that of the fuzzer.
soak: SECONDS := 1200
soak: build ## ordinary life for a while, and whether anything grows by it: make soak SECONDS=1200 SOAK='ram gluster'
	@scripts/install-deps test
	$(MEASURE) soak -- $(SECONDS) $(SOAK)

torture: build ## nodes that are killed, frozen, cut off and moved under load (about an hour): make torture TORTURE='--short kill move'
	@scripts/install-deps test
	$(PLACES) TEST_LIMIT=14400 scripts/run-test-binary \
		cargo run --quiet --locked -p glint-testkit --bin torture -- $(TORTURE)

bindings: ## regenerate the libgfapi bindings from the installed header
	@scripts/install-deps bind
	cargo run --locked -p glint-bindings
