/* SPDX-License-Identifier: Apache-2.0 */
/* A small project for tests of rules: one app with one version for Linux, one host with
 * one CPU of 1 GFLOPS that is always on, and jobs of one hour. Each test changes what
 * it is about. */
#ifndef TEST_RULES_WORLD_H
#define TEST_RULES_WORLD_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/decision.h"

enum { WORLD_NOW = 1000000000, HOUR = 3600, WORLD_USER = 5, WORLD_HOST = 7 };

struct world {
	struct arena a;
	struct conf *conf;
	struct request req;
	struct snapshot snap;
	struct rng rng;
};

/* options: text inside <config>; secs: CPU seconds requested, new style, 0 instances.
 */
struct world *world_new(const char *options, double secs);
void world_free(struct world *);
struct decision *world_decide(struct world *);
/* Returns a GPU program's class as plan_class_spec.xml would define it. */
struct plan_class world_class(struct world *, const char *name, const char *gpu_type);
/* Returns an unsent job of one hour without a large file. */
struct job world_job(int64_t id, int64_t workunitid);
/*
 * Adds files from "NAME FLAGS [ID/WU ...]; ...". Flags: h held, w working set,
 * s searched, u unsent results exist, n no_work_available, N no_work_available since a
 * moment ago, o an open workunit, a a workunit at some time, p paused, d draining,
 * t triggered 5 s ago and its jobs made 1 s ago, ! not looked at, e other hosts hold
 * its files, m its files are in more sets, O<H> its first job is H hours old and each
 * further job an hour younger, l<ID> the user's last id, r<ID> the id below which jobs
 * are released. Each file has 1e9 bytes; the request lists the held files as well.
 * File set ids count from 1. NAME is a file and the set of this file alone;
 * "NAME:+F-G" is a set of the files F and G, of which the host has F.
 */
void world_files(struct world *, const char *spec);
/* Adds a file to a set; files of the same name are the same file. */
void world_member(
    struct world *, int64_t fileset_id, const char *name, int64_t bytes, bool held);
/* Sets the file's size. */
void world_bytes(struct world *, const char *name, int64_t bytes);
/* Adds plain jobs from "ID/WU ...". */
void world_plain(struct world *, const char *spec);
void world_in_progress(struct world *, const char *spec);
/* Fills request.other_results with the names "jID ...". */
void world_others(struct world *, const char *spec);

/* Returns a decision in one line: "sent 11h 12w | del A | space B | mark C | want D |
 * expire j9 | why"; parts without members are left out. The letter tells how a job is
 * sent: l lost, o old, h held, w working set, s searched, p plain. */
char *world_text(struct world *, const struct decision *);

#endif
