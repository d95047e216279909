# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A front door only: CMake does the building, scripts/ the rest. `make help` lists what there is.

PREFIX ?= /usr/local
SOAK ?= 600

.DEFAULT_GOAL := all
.PHONY: all check check-targets check-aarch64 check-numa demo bench experiments tiny-table wcet soak mutants install clean help

all: ## build the release: build/libdrystone.so, build/libdrystone.a, build/drystone
	@scripts/setup build
	@scripts/build release

check: ## all tests, under 15 minutes; ends with "N passed, N failed"
	@scripts/setup build check
	@scripts/check

demo: ## real programs with and without drystone, side by side; under 2 minutes
	@scripts/setup build demo
	@scripts/build release
	@scripts/demo

bench: ## compare with every allocator that is installed; writes CSV
	@scripts/setup build bench
	@scripts/build release
	@bench/run

experiments: ## what the documents measured, measured here; HTML report; under 15 minutes
	@scripts/setup build experiments
	@scripts/build release all sim_contention
	@scripts/experiments

check-targets: ## the small-machine allocator on emulated Cortex-M3, RISC-V, big-endian machines; ends with "N passed, N failed"
	@scripts/setup build targets
	@scripts/check-targets

check-aarch64: ## the tests of the library on an emulated AArch64 machine; ends with "N passed, N failed"
	@scripts/setup build aarch64
	@scripts/check-aarch64

check-numa: ## where memory lies on emulated machines with several memory nodes; ends with "N passed, N failed"
	@scripts/setup build numa
	@scripts/build release all drystone_tests
	@scripts/check-numa

tiny-table: ## what the small-machine allocator promises, measured; writes build/tiny-table.csv and docs/tiny.md
	@scripts/setup build targets
	@scripts/tiny-table

wcet: ## instructions of each call of the small-machine allocator; text, build/wcet.csv, build/wcet.svg
	@scripts/setup build targets
	@scripts/wcet

soak: ## stress tests again and again with new seeds, SOAK=600 (seconds); STEPS=n: simulation, so many steps
	@scripts/setup build
	@scripts/soak $(if $(STEPS),--steps=$(STEPS),$(SOAK))

mutants: ## 70 plausible bugs, one by one: the simulation must catch them all; some minutes
	@scripts/setup build mutants
	@scripts/mutants

install: ## install into PREFIX (default /usr/local; DESTDIR is honoured)
	@scripts/setup build
	@scripts/build release
	@cmake --install build --prefix "$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 24
