# SPDX-License-Identifier: Apache-2.0
# The house: what holds the tree in order (layers, sizes, names, what must not be there, manual
# pages), and the files in the tree that are made from tables.
house_checks = test/check-layers test/check-circles test/check-size test/check-names test/check-calls test/check-scenarios test/check-banned \
	test/check-sources test/check-docs test/check-options test/check-requirements test/check-help \
	test/check-daemon-options test/check-targets test/check-rights test/check-units test/check-packaging test/check-sim test/house-test test/stmts-test test/samples-test
dist_check_SCRIPTS += $(house_checks)
TESTS += $(house_checks)
EXTRA_DIST += test/help.table test/said.awk test/rights.awk test/citations.awk test/steps.awk test/compile_commands.awk test/packages \
	test/setup.sh test/count test/sim
AM_TESTS_ENVIRONMENT = \
	PROGRAMS='$(bin_PROGRAMS) $(pkglibexec_PROGRAMS) $(bin_SCRIPTS) $(pkglibexec_SCRIPTS)'; \
	MANS='$(dist_man_MANS)'; CC='$(CC)'; WARN_CFLAGS='$(WARN_CFLAGS)'; \
	export PROGRAMS MANS CC WARN_CFLAGS;

# The lists of files in sources.mk.
.PHONY: sources
sources:
	srcdir='$(srcdir)' $(srcdir)/test/check-sources --write

# What the table of options gives.
check_PROGRAMS += test/conf_doc
test_conf_doc_SOURCES = test/conf_doc.c test/conf_doc.h test/plan_class_doc.c test/template_doc.c
# The units of a project, for check-units.
check_PROGRAMS += test/unit_files
test_unit_files_SOURCES = test/unit_files.c
.PHONY: config-doc
config-doc: test/conf_doc
	test/conf_doc man > $(srcdir)/model/config.xml.5
	test/conf_doc sample > $(srcdir)/config.xml.sample
	test/conf_doc classes > $(srcdir)/model/plan_class_spec.xml.5
	test/conf_doc templates > $(srcdir)/proto/locus-template.5

# What the table of commands gives.
.PHONY: locus-doc
locus-doc: tools/locus$(EXEEXT)
	tools/locus$(EXEEXT) help --man > $(srcdir)/tools/locus.1

# The diagram of an RPC's steps, from their table.
.PHONY: steps-doc
steps-doc:
	cd $(srcdir) && awk -f test/steps.awk sched/rpc/steps.def doc/architecture.md >doc/architecture.md.new && \
	  mv doc/architecture.md.new doc/architecture.md

code_files = find lib model proto rules trigger db sched daemons tools client samples test \
	-name '*.[ch]' 2>/dev/null

# Layout by clang-format, and what cppcheck finds.
# The suppressed calls are about threads; the one program that has any calls none of them.
.PHONY: format lint
format:
	cd $(srcdir) && $(code_files) | xargs $(CLANG_FORMAT) -i
lint:
	cd $(srcdir) && $(code_files) | xargs $(CLANG_FORMAT) --dry-run --Werror
	cd $(srcdir) && $(code_files) | grep '\.c$$' | grep -v '^test/' | \
	  xargs $(CPPCHECK) -q --enable=warning,performance,portability --inline-suppr \
	    --suppress=getpwnamCalled --suppress=getpwuidCalled --suppress=getgrnamCalled --suppress=getgrgidCalled \
	    --suppress=readdirCalled \
	    --suppress=preprocessorErrorDirective:db/stmts.def --suppress=constStatement:tools/config.c -DLINT \
	    '-Djson_object_foreach(o,k,v)=while ((k = key_of(o), v = value_of(o)))' \
	    '-Djson_array_foreach(a,i,v)=while ((i = at_of(a), v = value_of(a)))' \
	    --library=posix -D_GNU_SOURCE -I. -I$(abs_builddir) --error-exitcode=1

# The targets that no stage of ./check runs, with few data (test/targets.table).
EXTRA_DIST += test/targets.table
.PHONY: check-targets
check-targets: all
	$(srcdir)/test/check-targets $(abs_builddir)

# How each source is compiled, for editors and clang's tools.
.PHONY: compile_commands.json
compile_commands.json: export COMPILE_LINE = $(COMPILE)
compile_commands.json:
	@cd $(srcdir) && $(code_files) | grep '\.c$$' | LC_ALL=C sort | \
	  awk -v dir='$(abs_builddir)' -v src='$(abs_srcdir)' -f test/compile_commands.awk >'$(abs_builddir)/$@'
CLEANFILES += compile_commands.json
