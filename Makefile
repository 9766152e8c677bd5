# The entry point: each target installs what it needs, then calls CMake presets and Ninja.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?=
LINT := changed
BASE ?= HEAD
TESTS ?=
PARTS ?=

# What the targets run, from the repository's root.
DEMO := build/release/bin/perdure demo
BENCH := python3 bench/run.py
SOAK := python3 tests/soak/run.py
MUTANTS := python3 tests/mutants/run.py

.PHONY: help
help: ## Show this list.
	@echo 'Perdure: durable sessions for LLM agents.'
	@echo
	@echo 'Every target installs what it needs first (Debian 12; as root or by sudo).'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo 'Variables: JOBS=$(JOBS)  PREFIX=/where/to  LINT=changed|all  BASE=commit  TESTS="Suite.Test"  PARTS="asan tsan"'

.PHONY: demo
demo: program ## Kill an agent right after it pays, resume it, and check the bank's ledger.
	@$(DEMO)

.PHONY: test
test: format-check build ## Check the format, build everything and run every test.
	@ctest --preset dev -j $(JOBS) $(CTEST_ARGS)

.PHONY: build
build: build/dev/build.ninja ## Build the library, the tests and the examples for development.
	@cmake --build --preset dev -j $(JOBS)

.PHONY: program
program: build/release/build.ninja ## Build `perdure` in release mode.
	@cmake --build --preset release -j $(JOBS) --target perdure_program refund_desk

.PHONY: bench
bench: setup-test build/release/build.ninja ## Measure against the physical limits; fails if a bar is missed.
	@cmake --build --preset release -j $(JOBS)
	@$(BENCH) $(BENCH_ARGS)

.PHONY: soak
soak: build ## Run the crash tests for a long time, with fresh seeds.
	@$(SOAK) $(SOAK_ARGS)

.PHONY: mutants
mutants: build ## Plant small bugs, one at a time; fails unless the tests catch each of them.
	@$(MUTANTS) --jobs $(JOBS) $(MUTANTS_ARGS)

.PHONY: mutate-change
mutate-change: build ## Mutate the lines that differ from BASE (HEAD); reports how many bugs TESTS ("Suite.Test Suite.*") catch.
	@[[ -n '$(TESTS)' ]] || { echo 'name the tests: make mutate-change BASE=HEAD~1 TESTS="Suite.Test Suite.*"' >&2; exit 2; }
	@set -f; python3 tests/mutants/mutate_change.py $(BASE) --jobs $(JOBS) --tests $(TESTS)

.PHONY: asan
asan: build/asan/build.ninja ## Run every test under the address and undefined-behaviour sanitizers.
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS) $(CTEST_ARGS)

.PHONY: tsan
tsan: build/tsan/build.ninja ## Run every test under the thread sanitizer.
	@cmake --build --preset tsan -j $(JOBS)
	@ctest --preset tsan -j $(JOBS) $(CTEST_ARGS)

.PHONY: clang
clang: build/clang/build.ninja ## Build everything with clang 19 and run every test.
	@cmake --build --preset clang -j $(JOBS)
	@ctest --preset clang -j $(JOBS) $(CTEST_ARGS)

.PHONY: verify
verify: ## Run the long checks (PARTS: lint of all, clang, asan, tsan, mutants, package); each records the commit it checked.
	@python3 tools/verify.py run $(PARTS)

.PHONY: verify-report
verify-report: ## Show the results of the long checks, and which of them are stale.
	@python3 tools/verify.py report

.PHONY: path-count
path-count: build/coverage/build.ninja ## Count the files that `perdure run` and `perdure resume` execute.
	@cmake --build --preset coverage -j $(JOBS) --target perdure_program
	@python3 tools/path_count.py build/coverage $(PATH_COUNT_ARGS)

.PHONY: lint
lint: build/lint/build.ninja setup-lint ## Check the style rules, each public header alone, and run clang-tidy on changed files (LINT=all: on all).
	@python3 tools/tidy.py
	@cmake --build --preset lint -j $(JOBS) --target perdure_header_check
	@python3 scripts/lint --jobs $(JOBS) $(LINT)

.PHONY: lint-fix
lint-fix: build/lint/build.ninja setup-lint ## Let clang-tidy fix what it can, such as missing includes.
	@python3 scripts/lint --jobs $(JOBS) --fix $(LINT)

.PHONY: format
format: setup-test ## Format the C++ sources in place.
	@git ls-files -co --exclude-standard '*.cpp' '*.hpp' | xargs -r -n 50 -P $(JOBS) clang-format-19 -i

.PHONY: format-check
format-check: setup-test ## Fail if a C++ source is not formatted.
	@git ls-files -co --exclude-standard '*.cpp' '*.hpp' | xargs -r -n 50 -P $(JOBS) clang-format-19 --dry-run -Werror

.PHONY: install
install: build/release/build.ninja ## Install the program, headers, archives and package files: make install PREFIX=/where/to.
	@[[ -n '$(PREFIX)' ]] || { echo 'PREFIX is missing: make install PREFIX=/usr/local' >&2; exit 2; }
	@cmake --build --preset release -j $(JOBS) --target perdure_agent perdure_pages refund_desk
	@cmake --install build/release --prefix '$(PREFIX)'

.PHONY: package
package: build/release/build.ninja setup-package ## Make a .deb and a tarball of the program in build/package, and test both in empty roots.
	@cmake --build --preset release -j $(JOBS) --target perdure_program refund_desk
	@rm -rf build/package
	@scripts/package build/release build/package
	@python3 tests/package/package_test.py build/package

.PHONY: docs
docs: setup-docs ## Generate the C++ reference from the comments of include/perdure, in build/docs.
	@mkdir -p build/docs
	@doxygen cmake/Doxyfile
	@echo 'the C++ reference: build/docs/html/index.html'

.PHONY: clean
clean: ## Remove all build output (build/).
	rm -rf build

.PHONY: setup
setup: ## Install everything that any of these targets needs.
	@scripts/setup all

.PHONY: setup-build setup-test setup-lint setup-package setup-docs
setup-build setup-test setup-lint setup-package setup-docs: setup-%:
	@scripts/setup $*

# Configured once; afterwards Ninja detects changed CMake files. Setup is checked each time, because
# that is fast when nothing is missing.
build/release/build.ninja build/coverage/build.ninja: build/%/build.ninja: CMakePresets.json | setup-build
	@cmake --preset $*
build/dev/build.ninja build/clang/build.ninja build/lint/build.ninja build/asan/build.ninja build/tsan/build.ninja: build/%/build.ninja: CMakePresets.json | setup-test
	@cmake --preset $*
