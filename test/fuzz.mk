# SPDX-License-Identifier: Apache-2.0
# Coverage-guided fuzzing of all that reads other people's bytes (test/fuzz/README.md):
# make fuzz T=seconds-for-each TARGETS="request conf"; which lines the seeds alone reach;
# both for ./check.
EXTRA_DIST += test/fuzz
T = 60
TARGETS =
.PHONY: fuzz fuzz-coverage check-fuzz
fuzz: proto/plan_class_sample.c
	@$(MKDIR_P) fuzz && cd fuzz && $(abs_srcdir)/test/fuzz/run fuzz $(T) $(TARGETS)
fuzz-coverage: proto/plan_class_sample.c
	@$(MKDIR_P) fuzz && cd fuzz && $(abs_srcdir)/test/fuzz/run coverage
check-fuzz: proto/plan_class_sample.c
	@$(MKDIR_P) fuzz && cd fuzz && $(abs_srcdir)/test/fuzz/run check 3
