# SPDX-License-Identifier: Apache-2.0
# Benchmarks (test/bench/README.md). They measure an optimised build in fast/.  A tree that was
# configured in place can have no other build, so they measure that one.
EXTRA_DIST += test/bench/README.md test/bench/fill-files.sql test/bench/fill-million.sql test/bench/million test/bench/fill-hosts.sql \
	test/bench/fill-plain.sql test/bench/backend test/bench/cases.sh test/bench/figures \
	test/bench/measure.sh test/bench/run test/bench/servers.sh \
	test/bench/run-decide test/bench/run-sim test/bench/stages test/bench/statements test/bench/table \
	test/bench/targets
noinst_PROGRAMS += test/bench/decide test/bench/rr_sim test/bench/load test/bench/floor
test_bench_decide_SOURCES = test/bench/decide.c test/bench/decide_cases.c \
	test/bench/decide_cases.h test/bench/decide_shapes.def
test_bench_rr_sim_SOURCES = test/bench/rr_sim.c
test_bench_load_SOURCES = test/bench/load.c test/bench/load_host.c \
	test/bench/load_line.c test/bench/load.h
test_bench_floor_SOURCES = test/bench/floor.c

fast = $(if $(filter $(abs_srcdir),$(abs_builddir)),.,fast)
fast_begin = $(MKDIR_P) $(fast) && cd $(fast) && if test -f Makefile; \
	then test $(fast) = fast || echo "measuring this build, made with CFLAGS=$(CFLAGS)"; \
	else $(abs_srcdir)/configure -q; fi
# Times the commands and idle daemons on a project of a million workunits: make bench-million MILLION="200000"
MILLION =
bench-million: all
	$(abs_srcdir)/test/bench/million $(abs_builddir) $(MILLION)

.PHONY: bench-million bench bench-decide bench-sim bench-backend bench-hostile bench-stages

# What a scheduler RPC costs: make bench CASES="locality half" BENCH_ARGS="--scale 10 --seconds 10"
CASES =
BENCH_ARGS =
bench:
	@$(fast_begin) && \
	$(MAKE) -s scheduler web mod_locus.so tools/locus test/check_reply test/bench/load test/bench/floor >/dev/null && \
	BENCH_ARGS='$(BENCH_ARGS)' $(abs_srcdir)/test/bench/run $(abs_builddir)/$(fast) $(CASES)

# What parse, decide and render cost alone: make bench-decide CASES="locality held"
bench-decide:
	@$(fast_begin) && \
	$(MAKE) -s test/bench/decide && srcdir='$(abs_srcdir)' $(abs_srcdir)/test/bench/run-decide $(CASES)

# What simulations of hosts cost: make bench-sim DAYS=100
DAYS = 100
bench-sim:
	@$(fast_begin) && \
	$(MAKE) -s test/bench/rr_sim locus-client && srcdir='$(abs_srcdir)' $(abs_srcdir)/test/bench/run-sim $(DAYS)

# How fast the daemons are; fails only if what they made is wrong. BENCH_BACKEND='--units 1000 life' for less.
bench-backend: all
	source='$(abs_srcdir)' $(srcdir)/test/bench/backend $(BENCH_BACKEND)

# How long a job takes from its report to its deleted files on an idle project. BENCH_STAGES='--jobs 10' for less.
bench-stages: all
	source='$(abs_srcdir)' $(srcdir)/test/bench/stages $(BENCH_STAGES)

# How much one hostile request at a time delays 16 hosts that ask all the time; fails if it is more than 100 ms for one in
# a hundred. For an idle machine.
bench-hostile: all
	@ok=0; HOSTILE_MS=100 HOSTILE_SECONDS=10 $(MAKE) -s check-it SCENARIOS=28-hostile-requests || ok=1; \
	grep -E '^(private memory|alone|[0-9].*): ' it/28-hostile-requests.log; exit $$ok
