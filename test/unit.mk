# SPDX-License-Identifier: Apache-2.0
# Unit and golden tests. Every test/unit/test_*.c is one, and the other files of test, test/unit and
# test/sql are what tests share; test/check-sources finds both. A test links with all libraries and
# takes of them what it calls.
noinst_LIBRARIES += libtest.a
libtest_a_SOURCES = $(test_sources) test/it/fake_http.c test/it/fake_http.h
LDADD = libtest.a libsched.a libdaemon.a libtools.a libclient.a libpulsar.a $(all_libs) \
	$(FCGI_LIBS) $(CURL_LIBS) $(JANSSON_LIBS) $(ARCHIVE_LIBS) $(CHECK_LIBS)

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
EXTRA_DIST += test/golden

# The programs' own tests, without those of the source tree: what building a package runs.
.PHONY: check-programs
check-programs:
	$(MAKE) check TESTS='$(unit_tests)'

# A reply that a program got, checked from outside.
noinst_PROGRAMS += test/check_reply
test_check_reply_SOURCES = test/check_reply_main.c

# Writes anew what the captures are expected to give; read the difference.
.PHONY: golden-refresh
golden-refresh: test/unit/test_golden test/unit/test_sim_golden
	GOLDEN_REFRESH=1 srcdir=$(srcdir) test/unit/test_golden
	GOLDEN_REFRESH=1 srcdir=$(srcdir) test/unit/test_sim_golden

# Builds everything again with the sanitizers, beside this build, and runs the unit tests there.
.PHONY: check-asan check-valgrind asan-build
asan-build:
	rm -rf asan && $(MKDIR_P) asan && cd asan && \
	$(abs_srcdir)/configure -q --enable-asan --enable-devel
check-asan: asan-build
	cd asan && ASAN_OPTIONS=detect_leaks=1 $(MAKE) check-programs

# The unit tests once more, each case a process that may not leak or read what it should not.
check-valgrind:
	UNIT_VALGRIND=1 $(MAKE) check TESTS='$(unit_tests)' LOG_COMPILER=valgrind \
	  LOG_FLAGS='-q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=9'

# Which part of the rules the tests reach: a build beside this one, the rules instrumented, runs
# them. make cover FILE=rules/sched/fit.c shows what is not reached.
EXTRA_DIST += test/cover
FILE =
.PHONY: cover
cover:
	@$(MKDIR_P) cover && cd cover && \
	{ test -f Makefile || $(abs_srcdir)/configure -q CFLAGS=-O0; } && \
	{ test ! -d rules || find rules -name '*.gcda' -delete; } && \
	$(MAKE) -s librules.a CFLAGS='-O0 --coverage' >tests.log 2>&1 && \
	$(MAKE) -s check-TESTS TESTS='$(unit_tests)' LDFLAGS=--coverage VERBOSE=1 >>tests.log 2>&1 || \
	  { tail -n 50 tests.log; exit 1; }
	@cd cover && srcdir='$(abs_srcdir)' $(abs_srcdir)/test/cover $(FILE)

# Do the tests notice code that is wrong by one token (test/mutate/README.md)?
# make mutate N=how-many SEED=number JOBS=at-once FILES="rules/sched/fit.c rules/say.c tools" AGAIN=1
EXTRA_DIST += test/mutate/README.md test/mutate/mutants.awk test/mutate/run test/mutate/survivors
dist_check_SCRIPTS += test/mutate/selftest
TESTS += test/mutate/selftest
N = 400
SEED = 1
JOBS = `nproc`
FILES =
AGAIN =
.PHONY: mutate
mutate: all $(check_PROGRAMS)
	@CC='$(CC)' MAKE='$(MAKE)' AGAIN='$(AGAIN)' $(abs_srcdir)/test/mutate/run $(N) $(SEED) $(JOBS) $(FILES)
