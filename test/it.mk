# SPDX-License-Identifier: Apache-2.0
# Scenarios: private servers, with the programs as they will be installed. test/it/run-it finds them
# by their names.
EXTRA_DIST += demo test/it/lib test/it/scenarios test/it/check-mysql test/it/commands test/it/commands.table test/it/alerts.yml test/it/cures.table test/it/doctor_cures.table test/it/mysqld-of-root test/it/client-of-root test/it/run-it test/it/admin-day test/it/quick \
	test/it/stock-complaints test/it/stock-errors test/it/day.table test/it/request.xml test/it/api_app.cc \
	$(wildcard $(srcdir)/test/it/*.sh $(srcdir)/test/it/*.py $(srcdir)/test/it/*.awk $(srcdir)/test/it/*.sql)

# A project that does everything wrong, for the client; hosts by the hundred that only make requests;
# connections at once, again and again, or slow; transactions of two nodes that end each other; names that are
# exchanged while others read them.
noinst_PROGRAMS += test/it/soak_chart test/it/fake_project test/it/many test/it/crowd test/it/two_nodes test/it/swap
test_it_fake_project_SOURCES = test/it/fake_project.c test/it/fake_project.def \
	test/it/fake_project.h test/it/fake_files.c
test_it_soak_chart_SOURCES = test/it/soak_chart.c
test_it_many_SOURCES = test/it/many.c
test_it_crowd_SOURCES = test/it/crowd.c
test_it_two_nodes_SOURCES = test/it/two_nodes.c
test_it_swap_SOURCES = test/it/swap.c

# What is loaded in front of a program: to stop it between two of its steps, to count its threads,
# to crash it; not by libtool, for one file each.
preloads = test/it/step.so test/it/threads.so test/it/crash.so test/faults/fault.so
EXTRA_DIST += test/it/step.c test/it/threads.c test/it/crash.c test/faults/fault.c
CLEANFILES += $(preloads)
all-local: $(preloads)
$(preloads): %.so: %.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) -I$(srcdir) $(CPPFLAGS) $(MARIADB_CFLAGS) $(LIBXML_CFLAGS) -D_GNU_SOURCE \
		-std=gnu11 -Wall -Wextra -O1 -g -fPIC -shared -o $@ $< $(MARIADB_LIBS) -ldl

# LOCUS_LONG=600 in the environment gives the scenarios that play at random so many seconds instead
# of half a minute.
.PHONY: check-it check-long
check-it: all
	$(MAKE) install prefix='$(abs_builddir)/inst' >it-install.log
	$(srcdir)/test/it/run-it $(abs_builddir) $(SCENARIOS)
check-long:
	$(MAKE) check-it SCENARIOS=long

# The quick scenarios behind the end of 32-bit seconds.
.PHONY: check-2039
check-2039:
	LOCUS_YEAR=2039 $(MAKE) check-it

# A year of a project with 300 hosts; the figures and curves go to soak/.
.PHONY: soak
soak: all
	LOCUS_SOAK=year $(MAKE) check-it SCENARIOS=50-soak || { cat it/50-soak.log; exit 1; }
	@cat soak/table; ls soak/*.svg

# Each call of some operations fails once (doc/faults.md). FAULTS='upload scheduler/statement' for some of them.
.PHONY: faults
faults: all
	source='$(abs_srcdir)' build='$(abs_builddir)' FAULTS_STRIDE=$${FAULTS_STRIDE:-1} \
		seed=$${LOCUS_SEED:-1} $(srcdir)/test/it/scenarios/44-failing-calls

# Schedulers, and a whole project, on Galera clusters of three nodes; needs galera-4 and rsync; not in ./check.
.PHONY: check-cluster
check-cluster:
	$(MAKE) check-it SCENARIOS='cluster-schedulers cluster-random-kills'

# A scheduler built with ThreadSanitizer, beside this build, under load. LOCUS_LONG=60 for that many seconds.
.PHONY: check-tsan
check-tsan: all
	$(MKDIR_P) tsan && cd tsan && { test -f Makefile || \
		$(abs_srcdir)/configure -q --enable-devel CFLAGS='-O1 -g -fsanitize=thread -fno-omit-frame-pointer'; } && \
		$(MAKE) -s scheduler
	$(MAKE) check-it SCENARIOS=28-thread-sanitizer

# Statements, demo and scenarios on MySQL: this machine's, or one below MYSQL_ROOT; ./check has 12-mysql of it.
.PHONY: check-mysql
check-mysql: all
	$(MAKE) -s install
	$(srcdir)/test/it/check-mysql $(abs_builddir) '$(MYSQL_ROOT)' $(SCENARIOS)

# The Debian packages in machines of Debian 12 and 13 that systemd-nspawn boots; for root. SUITES=trixie for one of them.
EXTRA_DIST += test/matrix test/install
SUITES ?=
.PHONY: check-install
check-install:
	$(srcdir)/test/install/run $(SUITES) || test $$? = 77

# The image of Containerfile, upon a system of debootstrap; for root, with buildah.
EXTRA_DIST += test/container
.PHONY: check-container
check-container:
	$(srcdir)/test/container
