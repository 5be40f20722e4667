/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small project for tests of rules: one app with one version for Linux, one host with
 * one CPU of 1 GFLOPS that is always on, and jobs of one hour.  Tests change what they
 * are about.
 */
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

/* options: text inside <config>; secs: CPU seconds asked for, new style, 0 instances.
 */
struct world *world_new(const char *options, double secs);
void world_free(struct world *);
struct decision *world_decide(struct world *);
/* A GPU program's class as plan_class_spec.xml would give it. */
struct plan_class world_class(struct world *, const char *name, const char *gpu_type);
/* An unsent job of one hour without a large file. */
struct job world_job(int64_t id, int64_t workunitid);
/*
 * Files from "NAME FLAGS [ID/WU ...]; ...": h held, w working set, s searched, u unsent
 * results exist, n no_work_available, N that since a moment ago, o an open workunit,
 * a ever a workunit, p paused, d draining, t asked
 * for 5 s ago and its jobs made 1 s ago, ! not looked at, e its files are held
 * elsewhere, m they are in more sets, O<H> its first job is H hours old and each of the
 * others an hour less; l<ID> is the user's last id, r<ID> the one below
 * which they are released. Each file has 1e9 bytes; the held ones are in the request as
 * well.  File set ids count from 1. NAME is a file and the set of that file alone,
 * "NAME:+F-G" a set of the files F and G of which the host has F.
 */
void world_files(struct world *, const char *spec);
/* One more file of a set; the same file as any other one of that name. */
void world_member(
    struct world *, int64_t fileset_id, const char *name, int64_t bytes, bool held);
/* The file has so many bytes. */
void world_bytes(struct world *, const char *name, int64_t bytes);
/* "ID/WU ..." */
void world_plain(struct world *, const char *spec);
void world_in_progress(struct world *, const char *spec);
/* A request.other_results of the names "jID ...". */
void world_others(struct world *, const char *spec);

/*
 * A decision in one line: "sent 11h 12w | del A | space B | mark C | want D | expire j9
 * | why"; parts without members are left out.  The letter is how: l lost, o old, h
 * held, w working set, s searched, p plain.
 */
char *world_text(struct world *, const struct decision *);

#endif
