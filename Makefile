# SPDX-License-Identifier: MIT OR GPL-2.0-only
# A front door only: CMake does the building, scripts/ the rest. `make help` lists what there is.

PREFIX ?= /usr/local
SOAK ?= 600

.DEFAULT_GOAL := all
.PHONY: all check check-forks check-glibc check-programs check-targets check-aarch64 check-numa check-bindings check-musl check-packages check-riscv64 check-kmem check-limits kernel kernel-6.12 kernel-bench kernel-soak demo bench bench-suite experiments tiny-table wcet soak mutants install uninstall amalgam docs clean help

all: ## build the release: build/libdrystone.so, build/libdrystone.a, build/drystone
	@scripts/setup build
	@scripts/build release

check: ## all tests, 15 to 20 minutes on two cores; ends with "N passed, N failed"
	@scripts/setup build check
	@scripts/check

check-bindings: ## the Rust crates, the Python wheel, every way to embed; needs package registries; some minutes
	@scripts/setup build bindings
	@scripts/check-bindings

check-musl: ## the library and its tests over musl, by musl-gcc; ends with "N passed, N failed"
	@scripts/setup build musl
	@scripts/check-musl

check-packages: ## packages for Debian, RPM, Conan: built from scratch, installed, used; some minutes; ends with "N passed, N failed, ..."
	@scripts/setup build packages
	@scripts/check-packages

docs: ## docs/ as a site: build/site/index.html
	@scripts/setup docs
	@mkdocs build -q

kernel: ## Linux 6.1 and 6.12 on drystone: got from Debian, built, booted, tested; up to an hour at first; ends with "N passed, N failed"
	@scripts/setup kernel
	@scripts/kernel

kernel-6.12: ## the same with Linux 6.12 alone
	@scripts/setup kernel
	@scripts/kernel 6.12

kernel-soak: ## load of all kinds in a kernel on drystone, SOAK=600 (seconds), processors off and on, memory used up; ends like kernel
	@scripts/setup kernel
	@scripts/kernel soak $(SOAK)

kernel-bench: ## Linux 6.1 on drystone beside SLAB, SLUB and SLOB: cycles, memory, hackbench, least memory; tables in build/kernel-bench
	@scripts/setup kernel
	@scripts/kernel-bench
	@scripts/kernel-bench x86 2
	@scripts/kernel-bench least

demo: ## real programs with and without drystone, side by side; under 2 minutes
	@scripts/setup build demo
	@scripts/build release
	@scripts/demo

bench: ## compare with every allocator that is installed; writes CSV
	@scripts/setup build bench
	@scripts/build release
	@bench/run

# What set-up cannot install is left out of the suite, and said.
bench-suite: ## drystone and its peers in patterns of programs and in real programs; CSV, HTML; 35 minutes, QUICK=1: 5
	-@scripts/setup build suite
	@scripts/build release
	@bench/suite/run $(if $(QUICK),--quick)

experiments: ## what the documents measured, measured here; HTML report; under 15 minutes
	@scripts/setup build experiments
	@scripts/build release all sim_contention
	@scripts/experiments

check-targets: ## the small-machine allocator on emulated Cortex-M3, RISC-V, big-endian machines; ends with "N passed, N failed"
	@scripts/setup build targets
	@scripts/check-targets

check-glibc: ## glibc's own tests of malloc (fetched from Debian) in five modes; some minutes; ends with "N passed, N failed, ..."
	@scripts/setup build check
	@scripts/check-glibc

check-forks: ## eight threads in stdio, malloc, dlopen and fork, 60 s in each of seven profiles and ports; 4 minutes
	@scripts/setup build
	@scripts/check-forks

check-programs: ## sshd, nginx, PostgreSQL, ... each used in four profiles; ends with "N passed, N failed, N skipped"
	@scripts/setup build programs
	@scripts/check-programs

check-aarch64: ## the tests of the library on an emulated AArch64 machine, PAGES=16 or 64: with such pages; ends with "N passed, N failed"
	@scripts/setup build $(if $(PAGES),pages,aarch64)
	@scripts/check-aarch64 $(if $(PAGES),--pages=$(PAGES))

check-riscv64: ## the tests of the library on RISC-V of 64 bits, by an emulator of its user mode; ends with "N passed, N failed"
	@scripts/setup build riscv64
	@scripts/check-riscv64

check-kmem: ## Linux 6.1's own suites (radix tree, xarray, maple tree, red-black tree, list_sort) over kmem.h; four minutes; ends with "N passed, N failed"
	@scripts/setup build kmem
	@scripts/build release all
	@scripts/check-kmem

check-limits: ## python3, redis, PostgreSQL in 1.1 times the memory they need, by limit: and in a control group; ends with "N passed, N failed, ..."
	@scripts/setup build limits
	@scripts/build release all
	@scripts/check-limits

check-numa: ## where memory lies on emulated machines with several memory nodes, and strict overcommit; ends with "N passed, N failed"
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

mutants: ## 73 plausible bugs, one by one: the simulation must catch them all; some minutes
	@scripts/setup build mutants
	@scripts/mutants

# Where the dynamic linker looks, and by a cache only, that is made anew: else programs do not find libdrystone.so.0.
install: ## install into PREFIX (default /usr/local; DESTDIR is honoured)
	@scripts/setup build
	@scripts/build release
	@cmake --install build --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ] && PATH=$$PATH:/sbin:/usr/sbin ldconfig -v -N -X 2>/dev/null | \
		grep -q "^$(PREFIX)/lib:"; then PATH=$$PATH:/sbin:/usr/sbin ldconfig; fi

uninstall: ## remove what the last `make install` put there (DESTDIR is honoured)
	@cmake -P cmake/uninstall.cmake

amalgam: ## one drystone.c and the headers in build/amalgam, to take along; its first lines say how to compile it
	@scripts/setup build
	@scripts/amalgam build/amalgam

clean: ## remove everything that was built
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 24
