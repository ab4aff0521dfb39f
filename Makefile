# Waybill: everything you can ask for, in one place.
#
#   make setup      install what the build needs (Debian packages), or say that nothing is missing
#   make demo       post both sides of a specimen ID card to a backend on this machine, and watch
#   make test       strict build, lint, all tests: what CI runs
#   make test-vendors  compare stores, signatures and resumable uploads with other packages from PyPI (make test ends with it)
#   make check      make test, then the image kernels in plain Swift, thread and address sanitizer and a short fuzz
#   make torture    kill and cut the power of the outbox a thousand times each, and kill resumable uploads 200 times (as root)
#   make torture-shared  kill, pause and disconnect workers of an outbox in PostgreSQL for KILL_MINUTES (1), then behind PgBouncer
#   make fresh      make demo, make test and make test-dist in a minimal bookworm and trixie (as root, with debootstrap)
#   make lint       layout and documentation rules, without changing a file
#   make format     put the layout right
#   make bench      measure beside every peer that is installed, into Docs/Benchmarks.md; make bench-setup installs peers
#   make bench-check   hold the instructions of fixed work to those that were recorded; make bench-record records them
#   make bench-forward  send a part of 1 MiB and one of 1 GiB through the forwarding sample, and print its memory
#   make bench-jpeg measure pictures against other programs
#   make bench-colours  hold converted colours against littlecms
#   make fuzz       feed the parsers and the encoder random bytes for FUZZ_SECONDS (60) each
#   make install    build the command for release and install it below PREFIX (/usr/local); make uninstall removes it
#   make dist       make a tarball and a .deb of the command in dist, for machines without Swift
#   make test-dist  hold both, and the steps of the sample Dockerfile, to minimal Debian roots (as root, with debootstrap)
#   make docs       build the documentation; a broken link is an error
#   make clean      remove everything that was built
#
# Numbers you may set: FUZZ_SECONDS=60  KILL_MINUTES=1  THREAD_ROUNDS=5  BENCH_ROUNDS=5  BENCH_SCALE=1  BENCH_JPEG_CORPUS="folder …"
#   BENCH_SCALE=0.05 BENCH_ROUNDS=1 make bench is a trial of two minutes, which is printed only
#   BENCH_COUNTER=callgrind make bench-check counts by valgrind where the processor's counters can't be had

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two builds side by side would wait for each other's lock or fight for memory: one thing at a time, whatever -j says.
.NOTPARALLEL:
.PHONY: help setup setup-build build demo test test-all fresh torture torture-shared test-samples test-vendors check plain thread address lint format bench bench-build bench-queue bench-postgres bench-check bench-record bench-forward bench-setup bench-jpeg bench-colours fuzz fuzz-short install uninstall dist test-dist docs clean

FUZZ_SECONDS ?= 60
KILL_MINUTES ?= 1
THREAD_ROUNDS ?= 5
BENCH_ROUNDS ?= 5
BENCH_SCALE ?= 1
BENCH_JPEG_CORPUS ?=

# Warnings of our own targets are errors. Without deterministic hashing, SwiftPM orders the -D flags of traits anew with each
# plan, such as after a file was added, and five times in six compiles everything again.
STRICT := SWIFT_DETERMINISTIC_HASHING=1 WAYBILL_CI=1 swift
# Tests need no debug information, because a crash prints no backtrace (see TESTING). Without it a build takes less time.
# SwiftPM needs the index to look for XCTest cases, even though there are none.
LEAN := -debug-info-format none
# The packages of samples are built where the root package is, so that its modules are compiled once for all.
SHARED := --scratch-path .build
# A crashing test must not leave a backtrace program behind that holds our pipe open. Eight tests at a time: with all of
# them begun at once, one that waits for an event stands in line behind every other one's work.
TESTING := Scripts/tests env SWIFT_BACKTRACE=enable=no SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

# Nested packages, where there are some. What tools make in them begins with a dot, so the folders named are all source.
NESTED := $(wildcard Samples Benchmarks Fuzz)
SWIFT_CODE := Package.swift Sources Tests $(wildcard $(NESTED:%=%/Package.swift)) \
	$(patsubst %/,%,$(sort $(dir $(wildcard $(NESTED:%=%/*/.)))))

# Under a sanitizer everything takes ten times as long. Where eight tests share the two threads of a small machine, one that
# waits for an event would stand in line for minutes, so they are fewer at a time, and pictures have a run of their own.
SANITIZED := $(TESTING) WAYBILL_SLOWNESS=10 SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=3
PICTURES := ^WaybillJPEGTests\.
# What is packed is the product in .build with the licenses of its packages there; these builds have another place.
PACKAGING := ^CLITests\.(DistTests|InstallTests|DockerfileTests)
# These check files and scripts, with no code of the product.
FILES := ^(TidyTests|SetupTests)\.

# Suites in which threads meet. One clean run proves little, so they are run THREAD_ROUNDS times.
THREADING := ^(WaybillCurlTests|WaybillTests|WaybillPostgresTests|IntegrationTests|WaybillOutboxTests\.(Owner|Delivery|Control|Source))

# The command with Swift's libraries inside, so that it runs where Swift is not installed. WAYBILL_PROGRAM names one that is
# built already.
DIST_PROGRAM := .build-dist/release/waybill
WAYBILL_PROGRAM ?= $(DIST_PROGRAM)
export PREFIX DESTDIR WAYBILL_PROGRAM DIST

say = @printf '\n==> %s\n' "$(1)"

help: ## list the targets
	@sed -n '2,/^$$/ s/^# \{0,1\}//p' Makefile

setup: ## install what the build and the tests need
	@Scripts/setup

setup-build: ## install what the build and the demo need
	@Scripts/setup build

build: setup ## strict build of everything, tests included
	$(call say,Strict build: warnings are errors)
	@$(STRICT) build --build-tests $(LEAN)

demo: setup-build ## the main job, end to end
	$(call say,Building the sample (the first time takes a few minutes))
	@swift build -c release --package-path Samples --product IDCardFlow
	@Samples/.build/release/IDCardFlow

test: build lint ## strict build, lint, all tests
	@Scripts/tests sum $(MAKE) --no-print-directory test-all

test-all:
	$(call say,Tests)
	@$(TESTING) $(STRICT) test --skip-build --disable-xctest
	@$(MAKE) --no-print-directory test-samples
	@$(MAKE) --no-print-directory test-vendors

test-vendors: build ## object stores and resumable uploads against other packages from PyPI
	$(call say,The vendors' own packages)
	@Scripts/tests Scripts/test-vendors

test-samples: ## the tests of the samples
ifneq ($(wildcard Samples/Package.swift),)
	$(call say,Tests of the samples)
	@$(STRICT) build --package-path Samples $(SHARED) --traits All --build-tests $(LEAN)
	@$(TESTING) $(STRICT) test --package-path Samples $(SHARED) --traits All --skip-build --disable-xctest
	$(call say,Tests of the samples beside SwiftNIO (the first time takes a few minutes))
	@$(STRICT) build --package-path Samples/NIO $(SHARED) --build-tests $(LEAN)
	@$(TESTING) $(STRICT) test --package-path Samples/NIO $(SHARED) --skip-build --disable-xctest
	$(call say,The one command of each sample)
	@Scripts/tests Scripts/sample-commands
endif

fresh: ## the README's two commands where nothing is installed yet
	@Scripts/fresh
	@for suite in $${FRESH_SUITES:-bookworm trixie}; do env -u WAYBILL_PROGRAM Scripts/test-dist "$$suite"; done

torture: build ## the long forms of what is done to the outbox and to resumable uploads
	$(call say,Torture: kills and power cuts of the outbox and disks that fail)
	@$(TESTING) WAYBILL_TORTURE=1 $(STRICT) test --skip-build --disable-xctest \
		--filter '^(WaybillOutboxTests\.(KillTests|PowerCutTests|FaultPointTests|SmallDiskTests|ItemLifeModelTests)|CLITests\.ResumableTests)' | \
		grep -aE '^(kill|power|failed at|a disk|system calls)|WAYBILL_SEED|✘|Test .* passed|Test run'

torture-shared: build ## workers of an outbox in PostgreSQL that are killed, paused and disconnected
	$(call say,Torture: a shared outbox)
	@Scripts/kill-workers --minutes $(KILL_MINUTES)
	$(call say,Torture: a shared outbox behind PgBouncer)
	@Scripts/kill-workers --minutes $(KILL_MINUTES) --pooler

check: test plain thread address fuzz-short ## everything that can be proven without a second machine

plain: setup ## the tests of images with kernels in plain Swift instead of C
	$(call say,Image kernels in plain Swift)
	@WAYBILL_PLAIN_SWIFT=1 swift build --build-tests --scratch-path .build-plain
	@$(TESTING) WAYBILL_PLAIN_SWIFT=1 swift test --skip-build --disable-xctest --scratch-path .build-plain \
		--filter '^WaybillJPEGTests\.'

thread: setup ## all tests of code once under the thread sanitizer, those with threads several times
	$(call say,Thread sanitizer)
	@swift build --build-tests --enable-all-traits --sanitize=thread --scratch-path .build-thread
	@$(SANITIZED) TSAN_OPTIONS=halt_on_error=1 \
		swift test --skip-build --enable-all-traits --sanitize=thread --scratch-path .build-thread --skip '$(PICTURES)' --skip '$(PACKAGING)' --skip '$(FILES)'
	@$(SANITIZED) TSAN_OPTIONS=halt_on_error=1 \
		swift test --skip-build --enable-all-traits --sanitize=thread --scratch-path .build-thread --filter '$(PICTURES)'
	@for round in $$(seq $(THREAD_ROUNDS)); do \
		printf '\n==> Thread sanitizer, round %s of %s\n' $$round $(THREAD_ROUNDS); \
		$(SANITIZED) TSAN_OPTIONS=halt_on_error=1 swift test --skip-build --enable-all-traits --sanitize=thread \
			--scratch-path .build-thread --filter '$(THREADING)'; \
	done

address: setup ## all tests of code under the address and leak sanitizers
	$(call say,Address sanitizer)
	@swift build --build-tests --enable-all-traits --sanitize=address --scratch-path .build-address
	@$(SANITIZED) LSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/lsan.supp:print_suppressions=0 \
		swift test --skip-build --enable-all-traits --sanitize=address --scratch-path .build-address --skip '$(PICTURES)' --skip '$(PACKAGING)' --skip '$(FILES)'
	@$(SANITIZED) LSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/lsan.supp:print_suppressions=0 \
		swift test --skip-build --enable-all-traits --sanitize=address --scratch-path .build-address --filter '$(PICTURES)'

lint: ## layout and documentation rules
	$(call say,Lint)
	@swift format lint --strict --parallel --recursive $(SWIFT_CODE)

format: ## put the layout right
	$(call say,Format)
	@swift format --in-place --parallel --recursive $(SWIFT_CODE)

bench-build: setup
	$(call say,Building the benchmarks (the first time takes a few minutes))
	@swift build -c release --package-path Benchmarks

bench: bench-build $(WAYBILL_PROGRAM) ## measure beside every peer that is installed; the tables go into Docs/Benchmarks.md
	$(call say,Measuring)
	@peers=$$(Scripts/bench-setup where peers) || peers=; \
		Benchmarks/.build/release/BenchNetwork python3 -B Benchmarks/Transport/bench.py \
		--rounds $(BENCH_ROUNDS) --scale $(BENCH_SCALE) --python "$${peers:+$$peers/bin/python}"
	@Benchmarks/.build/release/BenchNetwork Benchmarks/.build/release/waybill-bench --rounds $(BENCH_ROUNDS)
	@$(MAKE) --no-print-directory bench-queue

bench-queue: setup ## the rates of the outbox's queue file alone
	@swift build -c release --product OutboxTestHelper
	@for round in 1 2 3; do \
		folder=$$(mktemp -d "$${TMPDIR:-/var/tmp}/waybill-queue.XXXXXX"); \
		.build/release/OutboxTestHelper rates "$$folder/queue.db" 100000; \
		rm -r "$$folder"; \
	done

bench-postgres: setup ## the rates of an outbox in PostgreSQL, as ratios to pgbench on the same server
	@swift build -c release --product OutboxTestHelper
	@python3 -B Benchmarks/Outbox/bench_postgres.py --helper .build/release/OutboxTestHelper --rounds $(BENCH_ROUNDS)

bench-check: bench-build ## hold the instructions of fixed work to those that were recorded
	@python3 -B Benchmarks/Transport/check.py

bench-record: bench-build ## record the instructions of fixed work, for this toolchain and libcurl
	@python3 -B Benchmarks/Transport/check.py --record

bench-forward: setup ## the memory of the forwarding sample, for 1 MiB and for 1 GiB
	$(call say,Building the forwarding sample and its tests (the first time takes a few minutes))
	@$(TESTING) swift test -c release -Xswiftc -enable-testing --package-path Samples/NIO --filter '^ForwarderTests\.' | \
		grep -E '^Forwarder:|✘|Test run'

bench-setup: setup ## what bench and bench-jpeg compare with and judge by
	@Scripts/bench-setup

bench-jpeg: bench-setup ## pictures, against other programs; the table goes into Docs/Benchmarks.md
	$(call say,Building the benchmarks)
	@swift build -c release --package-path Benchmarks --product JPEGWorkload
	@swift build -c release --package-path Benchmarks --product BenchLauncher
	@tools=$$(Scripts/bench-setup where quality); $$tools/bin/python Benchmarks/JPEG/bench_jpeg.py --python "$$tools/bin/python" \
		--cache "$$(dirname "$$tools")" --rounds $(BENCH_ROUNDS) \
		$(if $(BENCH_JPEG_CORPUS),--corpus $(BENCH_JPEG_CORPUS))

bench-colours: bench-setup ## colours of wide-gamut pictures, against littlecms
	$(call say,Building the benchmarks)
	@swift build -c release --package-path Benchmarks --product JPEGWorkload
	@$$(Scripts/bench-setup where quality)/bin/python Benchmarks/JPEG/colours.py \
		$(if $(BENCH_JPEG_CORPUS),--corpus $(BENCH_JPEG_CORPUS))

fuzz: setup ## random bytes for the parsers and the encoder
	@Scripts/fuzz $(FUZZ_SECONDS)

fuzz-short: setup
	@Scripts/fuzz 15

docs: ## the documentation, as a folder that any web server can serve
	@Scripts/docs

$(DIST_PROGRAM): Package.swift $(shell find Sources -type f)
	@Scripts/setup build
	$(call say,Building the command for release (some minutes))
	@swift build -c release --static-swift-stdlib --product waybill --scratch-path .build-dist
	@Scripts/notices >.build-dist/THIRD-PARTY-NOTICES
	@touch $@

install: $(WAYBILL_PROGRAM) ## the command, its manual page and completions
	@Scripts/install

uninstall: ## remove what make install installed
	@Scripts/install uninstall

dist: $(WAYBILL_PROGRAM) ## a tarball and a .deb
	@Scripts/dist

test-dist: ## the packages and the sample Dockerfile in minimal roots
	@env -u WAYBILL_PROGRAM Scripts/test-dist

clean: ## remove everything that was built
	$(call say,Removing what was built)
	@rm -rf .build .build-* dist $(addsuffix /.build,$(NESTED)) Samples/*/.build
