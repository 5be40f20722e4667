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
