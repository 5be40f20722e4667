# SPDX-License-Identifier: Apache-2.0
# Tests of db/ on a real server. check_sql looks at each statement: it is prepared, the keys it uses,
# the rows it reads; test/sql/test_*.c are cases that need rows.
noinst_PROGRAMS += test/sql/check_sql $(sql_tests)
test_sql_check_sql_SOURCES = test/sql/check_sql.c
EXTRA_DIST += test/sql/check-sql test/sql/fill.sql test/sql/old_boinc.sql \
	test/sql/boinc-schema.awk test/sql/boinc

.PHONY: check-sql
check-sql: test/sql/check_sql
	srcdir='$(srcdir)' $(srcdir)/test/sql/check-sql

# The daemons' own files with main() under the daemon's name: test_daemons runs passes of all of them.
EXTRA_DIST += test/sql/passes.sql test/sql/verbs.sql
CLEANFILES += test/sql/libpasses.a
test_sql_test_daemons_LDADD = test/sql/libpasses.a $(LDADD)
test/sql/libpasses.a: $(daemon_names:%=daemons/%.$(OBJEXT))
	rm -rf $@ test/sql/passes && $(MKDIR_P) test/sql/passes && \
	for d in $(daemon_names); do \
	  objcopy --redefine-sym main=$${d}_main daemons/$$d.$(OBJEXT) test/sql/passes/$$d.$(OBJEXT) || exit 1; \
	done && $(AR) cr $@ test/sql/passes/*.$(OBJEXT) && rm -r test/sql/passes
