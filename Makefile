# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
#
# Files are found by where they stand, never listed:
#
#     src/**/*.c              the core               -> libesker.a
#     port/**/*.c             drivers for the host   -> libesker_port.a
#                             (the simulator's part table is made in build/)
#     test/harness/*.c        what tests share       -> libesker_harness.a
#                             (and examples/logger and settings but for their
#                             boards)
#     src|port/**/*_test.c    unit tests             one program a file
#     port/*/fake/            a vendor's library, faked for that port's tests
#     test/contract/*_test.c, test/regression/*_test.c      the same
#     examples/**/*_test.c                                  the same
#     test/powercut/*.c       power-cut campaigns    one program a file
#     test/damage/*.c         the damage campaign    one program
#     test/shape/NAME_test.c  a constant shape       flavours NAME and test
#     test/fuzz/fuzz_*.c      libFuzzer targets      one program a file
#     test/fuzz/corpus/fuzz_*/  inputs that the tests replay
#     bench/bench_*.c         benchmarks             one program a file
#
# FLAVOUR says how: each has its own compiler, flags and folder in build/.
# Tests run with the core's assertions on (include/esker/assert.h): flavours
# test, asan and fuzz. Compiling takes longer than running them, so -O1; but
# -O2 for the libraries of `test`, which every test links. `release` is what a
# user builds, and what is measured.

# Two jobs unless the caller names a number.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS := -j2 $(MAKEFLAGS)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:

FLAVOUR ?= release
B := build/$(FLAVOUR)

FUZZ_SECONDS ?= 25
CUTS ?= 100000
SEED ?= 1
DAMAGE_OPTIONS ?= --one-in 97 --drawn 20
NIGHTLY_CUTS ?= 1000000
NIGHTLY_FUZZ_SECONDS ?= 3600
NIGHTLY_DRAWN ?= 2000

# ------------------------------------------------------------ what to build

# Folders of port/ that a chip's own tool chain or library builds; on one line,
# for CMakeLists.txt reads it.
CHIPS := arduino arduino_file avr cortex_m esp_partition memory riscv rp2_flash semihosting stm32_hal stm32_qspi wasm zephyr_flash_area
# Of these, those with a fake of the library: their tests run on the host.
FAKED := $(patsubst port/%/fake,%,$(wildcard port/*/fake))

files = $(sort $(shell find $(1) -name '$(2)' 2>/dev/null))
on_host = $(filter-out $(foreach c,$(CHIPS),port/$(c)/%),$(1))

CORE := $(filter-out %_test.c,$(call files,src,*.c))
PORT := $(filter-out %_test.c,$(call on_host,$(call files,port,*.c)))
PORT += $(if $(wildcard port/sim/parts_gen.py),build/gen/sim_parts.c)
HARNESS := $(call files,test/harness,*.c) \
    $(filter-out %_test.c,$(call files,examples/logger,logger*.c) \
        $(call files,examples/settings,settings*.c))
TESTS := $(call files,src,*_test.c) \
    $(call on_host,$(call files,port,*_test.c)) \
    $(foreach f,$(FAKED),$(wildcard port/$(f)/*_test.c)) \
    $(call files,test/contract test/regression examples,*_test.c)
POWERCUT := $(call files,test/powercut,*.c)
FUZZ := $(call files,test/fuzz,fuzz_*.c)
REPLAY := $(notdir $(wildcard test/fuzz/corpus/fuzz_*))
BENCH := $(call files,bench,bench_*.c) bench/series_operations.c \
    bench/packed_operations.c bench/leaves_operations.c
LEAVES := $(call files,bench/leaves,*.c)
DAMAGE := $(call files,test/damage,*.c)
# Tests of a core that is compiled for one table: each in the flavour of its
# name, where it runs its twin of flavour test, too.
SHAPE := $(call files,test/shape,*_test.c)
SHAPES := $(patsubst %_test.c,%,$(notdir $(SHAPE)))

object = $(patsubst %.c,$(B)/obj/%.o,$(1))
program = $(patsubst %.c,$(B)/%,$(1))
# What the test targets of a flavour run.
test_programs = $(patsubst %.c,build/$(1)/%,$(TESTS)) \
    $(patsubst %,build/$(1)/replay/%,$(REPLAY))
shaped_programs := $(foreach f,$(SHAPES),build/$(f)/test/shape/$(f)_test)
shape_programs := $(patsubst %.c,build/test/%,$(SHAPE)) $(shaped_programs)

# ---------------------------------------------------------------- how

WARNINGS := -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes \
    -Wmissing-prototypes -Werror

CC_release := gcc
CFLAGS_release := -O2 -g

# As release, where functions of other files can be inlined.
CC_lto := gcc
CFLAGS_lto := -O2 -g -flto -ffat-lto-objects

CC_test := gcc
CFLAGS_test := -O1 -g1 -DESK_ASSERTS=1
CFLAGS_libraries_test := -O2

# Addresses of 16 bits, as on an 8-bit chip. They are made from counts of 32,
# and have room for each page: esk_volume_begin refuses a device where not.
SHORT_ADDRESSES := -DESK_ADDRESS_BITS=16 -Wno-conversion

CC_shape := gcc
CFLAGS_shape := -O1 -g1 -DESK_ASSERTS=1 -DESK_COUNTERS=0 \
    $(SHORT_ADDRESSES) \
    -DESK_SHAPE_DEVICE=shape_device \
    '-DESK_SHAPE="test/shape/log_shape.h"'

CC_shape_logger := gcc
CFLAGS_shape_logger := $(CFLAGS_shape) -DESK_SHAPE_QUERIES=0 \
    '-DESK_SHAPE_PARTS={0}'

CC_shape_device := gcc
CFLAGS_shape_device := -O1 -g1 -DESK_ASSERTS=1 \
    -DESK_SHAPE_DEVICE=shape_device \
    '-DESK_SHAPE="test/shape/device_shape.h"'

CC_shape_tree := gcc
CFLAGS_shape_tree := -O1 -g1 -DESK_ASSERTS=1 $(SHORT_ADDRESSES) \
    -DESK_SHAPE_DEVICE=shape_device \
    '-DESK_SHAPE="test/shape/tree_shape.h"'

CC_shape_kv := gcc
CFLAGS_shape_kv := -O1 -g1 -DESK_ASSERTS=1 -DESK_SHAPE_SNAPSHOTS=1 \
    $(SHORT_ADDRESSES) \
    '-DESK_SHAPE="test/shape/kv_shape.h"'

CC_shape_kv_index := gcc
CFLAGS_shape_kv_index := -O1 -g1 -DESK_ASSERTS=1 \
    '-DESK_SHAPE="test/shape/kv_index_shape.h"'

CC_shape_bare := gcc
CFLAGS_shape_bare := -O1 -g1 -DESK_ASSERTS=1 -DESK_SHAPE_STEPS=0 \
    '-DESK_SHAPE="test/shape/bare_shape.h"'

# A core for one table has only its kind. Of these a series has queries.
OTHERS_THAN_shape := table/kv table/tree
OTHERS_THAN_shape_logger := $(OTHERS_THAN_shape)
OTHERS_THAN_shape_tree := table/kv table/series index/sorted query
OTHERS_THAN_shape_kv := table/tree table/series index query
OTHERS_THAN_shape_kv_index := table/tree table/series index query
OTHERS_THAN_shape_bare := table/tree table/series index query
ifneq ($(filter shape%,$(FLAVOUR)),)
CORE := $(filter-out $(addsuffix /%,$(addprefix src/,$(OTHERS_THAN_$(FLAVOUR)))),\
    $(CORE))
endif

# Without counters: no call of the core may depend on them.
CC_uncounted := gcc
CFLAGS_uncounted := -O1 -g1 -DESK_ASSERTS=1 -DESK_COUNTERS=0
uncounted_program := build/uncounted/test/contract/tree_collect_test
ifeq ($(FLAVOUR),uncounted)
CORE := $(filter-out src/query/% src/table/kv/%,$(CORE))
endif

# Slots of 32 bits: what has slots is compiled, the rest is of flavour test.
CC_narrow := gcc
CFLAGS_narrow := -O1 -g1 -DESK_ASSERTS=1 -DESK_QUERY_BITS=32
narrow_programs := $(patsubst %,build/narrow/test/contract/%_test, \
    query_ops query_helpers query_jumps query_check)
ifeq ($(FLAVOUR),narrow)
CORE := $(filter src/query/% src/base/slot.c,$(CORE))
OWN_HARNESS := test/harness/assembler.c
REST := build/test/libesker.a
endif

# Drivers and harness depend neither on a shape nor on counters: these flavours
# have those of flavour test.
ifneq ($(filter shape% uncounted narrow,$(FLAVOUR)),)
PORT :=
HARNESS := $(OWN_HARNESS)
SHARED := $(foreach l,harness port,build/test/libesker_$(l).a)
endif

CC_asan := gcc
CFLAGS_asan := -O1 -g1 -DESK_ASSERTS=1 -fsanitize=address,undefined \
    -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS_asan := -fsanitize=address,undefined

# With sanitizers: one build less for CI than apart.
CC_coverage := clang-19
# Offset enums are added to one another; only clang minds.
CFLAGS_coverage := -Wno-enum-enum-conversion -O1 -g1 -DESK_ASSERTS=1 \
    -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fprofile-instr-generate -fcoverage-mapping
LDFLAGS_coverage := -fsanitize=address,undefined -fprofile-instr-generate

CC_fuzz := clang-19
CFLAGS_fuzz := -Wno-enum-enum-conversion -O1 -g1 -DESK_ASSERTS=1 -fsanitize=fuzzer-no-link,address,undefined \
    -fno-sanitize-recover=all
LDFLAGS_fuzz := -fsanitize=fuzzer,address,undefined

CC := $(CC_$(FLAVOUR))
CFLAGS := -std=c11 $(WARNINGS) $(CFLAGS_$(FLAVOUR))
# C++ that needs no library of its own, so that the C compiler links it.
CXX := $(subst gcc,g++,$(subst clang,clang++,$(CC)))
CXXFLAGS := -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Werror \
    -fno-exceptions -fno-rtti $(CFLAGS_$(FLAVOUR))
CPPFLAGS := -Iinclude -Isrc -I. -D_POSIX_C_SOURCE=200809L
LDFLAGS := $(LDFLAGS_$(FLAVOUR))

LIBRARIES := $(B)/libesker_harness.a $(B)/libesker_port.a $(B)/libesker.a

# ---------------------------------------------------------------- targets

.PHONY: help
help: ## list the targets (the default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' \
	    Makefile

.PHONY: lib
lib: setup-build ## build/release/libesker.a, the core, and its drivers
	@$(MAKE) FLAVOUR=release libraries
	@size -t build/release/libesker.a | awk 'END { \
	    print "build/release/libesker.a: " $$1 + $$2 " bytes of code" }'

.PHONY: demo
demo: setup-demo ## make a volume, write sensor data, query it, show it
	@.venv/bin/esker demo

.PHONY: test
test: setup-test ## unit, contract, regression, Python tests; DEEP=1: all rounds
	@$(MAKE) FLAVOUR=test tests shapes $(if $(DEEP),powercuts)
	@$(foreach f,$(SHAPES),$(MAKE) FLAVOUR=$(f) shapes &&) true
	@$(MAKE) FLAVOUR=uncounted $(uncounted_program)
	@$(MAKE) FLAVOUR=narrow $(narrow_programs)
	@scripts/run_tests $(if $(DEEP),--deep,$(if $(ESK_DEEP),,--brief)) --python --readme \
	    $(call test_programs,test) $(shape_programs) $(uncounted_program) $(narrow_programs)

.PHONY: test-c
test-c: setup-build ## the C tests alone
	@$(MAKE) FLAVOUR=test tests shapes
	@$(foreach f,$(SHAPES),$(MAKE) FLAVOUR=$(f) shapes &&) true
	@scripts/run_tests $(call test_programs,test) $(shape_programs)

.PHONY: test-asan
test-asan: setup-build ## the C tests under gcc's sanitizers
	@$(MAKE) FLAVOUR=asan tests
	@scripts/run_tests $(call test_programs,asan)

.PHONY: powercut
powercut: setup-build ## power-cut campaign: CUTS=100000 SEED=1
	@$(MAKE) FLAVOUR=test powercuts shapes
	@$(foreach f,$(SHAPES),$(MAKE) FLAVOUR=$(f) shapes &&) true
	@ESK_DEEP=1 ESK_CUTS=$(CUTS) ESK_SEED=$(SEED) scripts/run_tests --say --timeout 86400 \
	    $(patsubst %.c,build/test/%,$(POWERCUT)) $(shaped_programs)

.PHONY: damage
damage: setup-build ## damaged media, by DAMAGE_OPTIONS; SEED=1
	@$(MAKE) FLAVOUR=release damages
	@$(MAKE) FLAVOUR=asan damages
	@scripts/damage $(DAMAGE_OPTIONS) --seed $(SEED)

.PHONY: fuzz
fuzz: setup-tools ## every fuzz target for FUZZ_SECONDS=25 each
	@$(MAKE) FLAVOUR=fuzz fuzzers
	@scripts/run_fuzz $(FUZZ_SECONDS) $(patsubst %.c,build/fuzz/%,$(FUZZ))

.PHONY: coverage
coverage: setup-tools ## sanitizers, and lines and branches run; VERBOSE=1: gaps
	@$(MAKE) FLAVOUR=coverage tests powercuts
	@scripts/coverage $(if $(VERBOSE),--verbose) \
	    $(call test_programs,coverage) \
	    --powercut $(patsubst %.c,build/coverage/%,$(POWERCUT))

.PHONY: size
size: setup-tools ## code and RAM on four chips; OUT=file.json
	@scripts/size $(if $(OUT),--out $(OUT))
	@scripts/handles
	@scripts/driver_size
	@scripts/query_size

.PHONY: mcu
mcu: setup-tools ## tests and figures on microcontrollers; OUT=file.json
	@scripts/mcu $(if $(OUT),--out $(OUT),--data sea_surface_temp)

.PHONY: uno
uno: setup-package ## an Arduino Uno's sketches, 50 supply cuts each; CUTS=N OUT=
	@scripts/uno --seed $(SEED) $(if $(OUT),--out $(OUT)) \
	    $(if $(filter file,$(origin CUTS)),,--cuts $(CUTS))

.PHONY: mcu-budgets
mcu-budgets: setup-tools ## makes the budgets of make mcu again
	@scripts/mcu --renew

.PHONY: bench
bench: bench-series bench-tree bench-kv bench-kv-host bench-tnc bench-stores bench-packed bench-sorted bench-leaves bench-command bench-query ## every benchmark

.PHONY: bench-series
bench-series: setup-check ## the series table's figures; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench series $(if $(OUT),--out $(OUT))

.PHONY: bench-tree
bench-tree: setup-check ## the tree table's figures; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench tree $(if $(OUT),--out $(OUT))

.PHONY: bench-kv
bench-kv: setup-check ## the kv table's figures; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench kv_updates $(if $(OUT),--out $(OUT))

.PHONY: bench-kv-host
bench-kv-host: setup-check ## kv tables beside LMDB and SQLite; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench kv_host $(if $(OUT),--out $(OUT))

.PHONY: bench-tnc
bench-tnc: setup-check ## the tree node cache's figures; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench tnc $(if $(OUT),--out $(OUT))

.PHONY: bench-stores
bench-stores: setup-check ## every store on the same loads; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench stores $(if $(OUT),--out $(OUT))

.PHONY: bench-packed
bench-packed: setup-check ## packed pages' figures; OUT=file.json
	@$(MAKE) FLAVOUR=release benches
	@scripts/bench packed $(if $(OUT),--out $(OUT))

.PHONY: bench-sorted
bench-sorted: setup-check ## the sorted value index, and a model of it; OUT=file.json
	@$(MAKE) FLAVOUR=release build/release/bench/bench_sorted \
	    build/release/bench/bench_sorted_table \
	    build/release/bench/bench_sorted_model
	@scripts/bench sorted $(if $(OUT),--out $(OUT))

.PHONY: bench-leaves
bench-leaves: setup-check ## a model of packed leaves of trees; OUT=file.json
	@$(MAKE) FLAVOUR=release build/release/bench/bench_leaves_model \
	    build/release/bench/leaves_operations
	@scripts/bench leaves $(if $(OUT),--out $(OUT))

.PHONY: bench-command
bench-command: setup-check ## the command's import and start; OUT=file.json
	@scripts/bench command $(if $(OUT),--out $(OUT))

.PHONY: bench-query
bench-query: setup-check ## queries beside a hand-written loop, SQLite and DuckDB; OUT=file.json
	@$(MAKE) FLAVOUR=release build/release/libesker_port.a build/release/libesker.a
	@scripts/bench query $(if $(OUT),--out $(OUT))

.PHONY: results
results: ## makes docs/results again: bench, size and mcu
	@mkdir -p build/check
	@$(MAKE) bench-series OUT=build/check/series.json
	@$(MAKE) size OUT=build/check/size.json
	@.venv/bin/python bench/report_series.py build/check/series.json \
	    --size build/check/size.json
	@scripts/size_parts --out build/check/size_parts.json
	@.venv/bin/python bench/report_size.py build/check/size.json \
	    build/check/size_parts.json
	@$(MAKE) mcu OUT=build/check/mcu.json
	@.venv/bin/python bench/report_mcu.py build/check/mcu.json
	@$(MAKE) bench-tree OUT=build/check/tree.json
	@.venv/bin/python bench/report_tree.py build/check/tree.json
	@$(MAKE) bench-kv OUT=build/check/kv.json
	@.venv/bin/python bench/report_kv.py build/check/kv.json
	@$(MAKE) bench-kv-host OUT=build/check/kv_host.json
	@.venv/bin/python bench/report_kv_host.py build/check/kv_host.json
	@$(MAKE) bench-tnc OUT=build/check/tnc.json
	@.venv/bin/python bench/report_tnc.py build/check/tnc.json
	@$(MAKE) bench-stores OUT=build/check/stores.json
	@.venv/bin/python bench/report_stores.py build/check/stores.json
	@$(MAKE) bench-packed OUT=build/check/packed.json
	@.venv/bin/python bench/report_packed.py build/check/packed.json
	@$(MAKE) bench-sorted OUT=build/check/sorted.json
	@.venv/bin/python bench/report_sorted.py build/check/sorted.json
	@$(MAKE) bench-leaves OUT=build/check/leaves.json
	@.venv/bin/python bench/report_leaves.py build/check/leaves.json
	@$(MAKE) bench-command OUT=build/check/command.json
	@.venv/bin/python bench/report_command.py build/check/command.json
	@$(MAKE) bench-query OUT=build/check/query.json
	@.venv/bin/python bench/report_query.py docs/results/query.json build/check/query.json

.PHONY: amalgamation
amalgamation: setup-build ## build/package/amalgamation/esker.c and esker.h
	@scripts/package amalgamation

.PHONY: packages
packages: setup-build ## build/package/: Arduino, PlatformIO, ESP-IDF, ...
	@scripts/package

.PHONY: package
package: setup-package ## make every package; build a user of each
	@scripts/package_test

.PHONY: logger
logger: setup-tools ## examples/logger, for here and ATmega2560; its sizes
	@scripts/logger

.PHONY: settings
settings: setup-tools ## examples/settings, sizes and 300 cuts; CUTS=N OUT=
	@scripts/settings --seed $(SEED) $(if $(OUT),--out $(OUT)) \
	    $(if $(filter file,$(origin CUTS)),,--cuts $(CUTS))

.PHONY: lint
lint: setup-check ## layers, shape, format and FORMAT.md; changes nothing
	@scripts/lint

.PHONY: format
format: setup-check ## rewrite C by clang-format and Python by ruff
	@scripts/lint --fix

.PHONY: check
check: ## everything CI runs
	@scripts/check

.PHONY: nightly
nightly: ## the campaigns, deep: NIGHTLY_CUTS, _FUZZ_SECONDS, _DRAWN; SEED=1
	@ESK_DEEP=2 ESK_IMAGES=10000 ESK_STATEMENTS=3000 \
	    CUTS=$(NIGHTLY_CUTS) SEED=$(SEED) \
	    FUZZ_SECONDS=$(shell expr $(NIGHTLY_FUZZ_SECONDS) / $(words $(FUZZ))) \
	    DAMAGE_OPTIONS="--deep --drawn $(NIGHTLY_DRAWN)" \
	    scripts/check test test-asan damage powercut fuzz

.PHONY: clean
clean: ## remove build/
	rm -rf build

SETUPS := setup-build setup-demo setup-test setup-tools setup-package \
    setup-check
.PHONY: $(SETUPS)
$(SETUPS): setup-%:
	@scripts/setup $*

# ---------------------------------------------- one flavour, called by above

.PHONY: libraries tests powercuts fuzzers benches damages shapes
libraries: $(LIBRARIES)
tests: $(call test_programs,$(FLAVOUR))
powercuts: $(call program,$(POWERCUT))
fuzzers: $(call program,$(FUZZ))
benches: $(call program,$(BENCH))
damages: $(B)/test/damage/damage
shapes: $(filter build/test/%,$(call program,$(SHAPE))) \
    $(filter $(B)/%,$(shaped_programs))

$(B)/libesker.a: $(call object,$(CORE)) $(B)/CORE.list
$(B)/libesker_port.a: $(call object,$(PORT)) $(B)/PORT.list
$(B)/libesker_harness.a: $(call object,$(HARNESS)) $(B)/HARNESS.list

$(call object,$(CORE) $(PORT) $(HARNESS)): \
    CFLAGS += $(CFLAGS_libraries_$(FLAVOUR))

$(LIBRARIES):
	@rm -f $@
	@ar rcs $@ $(filter %.o,$^)

ifneq ($(SHARED),)
$(SHARED) $(REST) &:
	@$(MAKE) FLAVOUR=test libraries
endif

# Changes when a source file comes or goes, so that libraries follow.
$(B)/%.list: FORCE
	@mkdir -p $(@D)
	@echo '$($*)' | cmp -s - $@ || echo '$($*)' >$@

.PHONY: FORCE
FORCE:

build/gen/sim_parts.c: port/sim/parts_gen.py data/parts/parts.csv
	@mkdir -p $(@D)
	@python3 $^ $@

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "$(CC) $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(B)/obj/%.o: %.cpp Makefile
	@mkdir -p $(@D)
	@echo "$(CXX) $<"
	@$(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(call program,$(TESTS) $(POWERCUT) $(FUZZ) $(BENCH) $(SHAPE)): \
    $(B)/%: $(B)/obj/%.o $(LIBRARIES) $(SHARED) $(REST)
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARIES) \
	    $(if $(SHARED),$(SHARED) $(B)/libesker.a) $(REST) -lm \
	    $(LIBS_$(notdir $*))

# A port of a vendor's library: X_test is linked with X.c, where there is one,
# and the fake, in C or C++. What differs by a chip's family is included by its
# test.
define faked
$(B)/obj/port/$(1)/%.o: CPPFLAGS += -Iport/$(1)/fake
$(patsubst %.c,$(B)/%,$(wildcard port/$(1)/*_test.c)): \
    $(call object,$(wildcard port/$(1)/fake/*.c)) \
    $(patsubst %.cpp,$(B)/obj/%.o,$(wildcard port/$(1)/fake/*.cpp))
endef
$(foreach f,$(FAKED),$(eval $(call faked,$(f))))
faked_tests := $(foreach f,$(FAKED),$(wildcard port/$(f)/*_test.c))
$(foreach t,$(faked_tests),$(eval $(patsubst %.c,$(B)/%,$(t)): \
    $(call object,$(wildcard $(patsubst %_test.c,%.c,$(t))))))

# The settings in C++, which their test calls.
$(B)/examples/settings/settings_test: \
    $(B)/obj/examples/settings/settings_typed.o

$(patsubst %,$(B)/replay/%,$(REPLAY)): \
    $(B)/replay/%: $(B)/obj/test/fuzz/%.o $(B)/obj/test/fuzz/replay.o \
    $(LIBRARIES)
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $^ -lm

$(B)/test/damage/damage: $(call object,$(DAMAGE)) $(LIBRARIES)
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $(call object,$(DAMAGE)) $(LIBRARIES) -lm

$(B)/bench/bench_leaves_model $(B)/bench/leaves_operations: \
    $(call object,$(LEAVES))

# Benchmarks against SQLite and LMDB link them.
LIBS_bench_series_host := -lsqlite3
LIBS_bench_tree_host := -lsqlite3 -llmdb
LIBS_bench_kv_host := -lsqlite3 -llmdb

.SECONDARY:
-include $(call files,$(B)/obj,*.d)
