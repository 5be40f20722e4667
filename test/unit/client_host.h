/* SPDX-License-Identifier: Apache-2.0 */
/* A newly attached host in a directory of its own, for tests of the client. */
#ifndef TEST_UNIT_CLIENT_HOST_H
#define TEST_UNIT_CLIENT_HOST_H

#include "test/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>
#include "client/client.h"
#include "lib/fs.h"
#include "proto/reply.h"

enum { NOW = 1000000 };

static inline struct client *unit_host(void)
{
	static struct client c;
	static char dir[PATH_MAX];

	c = (struct client){ .dir = unit_dir(dir), .now = NOW, .rng = rng_seed(42) };
	c.options.backoff = (struct backoff){ 10, 1000 };
	c.options.ncpus = 2;
	c.options.policy = policies[0];
	c.root = dir;
	c.state_path = arena_printf(&c.process, "%s/client_state.json", dir);
	c.options.platform = arena_strdup(&c.process, "x86_64-pc-linux-gnu");
	c.events = open("/dev/null", O_WRONLY | O_CLOEXEC);
	c.state = NEW(&c.keep, struct state);
	c.state->host_cpid = arena_strdup(&c.keep, "0123");
	state_add(&c.keep, c.state, "http://h.example/p/")->authenticator =
	    arena_strdup(&c.keep, "k");
	ck_assert_int_eq(
	    fs_mkdirs(transfer_project_dir(&c, c.state->projects), 0755, &c.fail), OK);
	orders_read(&c);
	return &c;
}

static inline void unit_host_end(struct client *c)
{
	close(c->events);
	ck_assert_int_eq(fs_rmtree(c->dir, &c->fail), OK);
	arena_free(&c->scratch);
	arena_free(&c->keep);
	arena_free(&c->process);
}

/* --- replies --- */

struct hope { /* what the request asked for */
	bool work;
	size_t reports;
};
static inline void host_answered(struct client *c, struct reply *rp, struct hope hope)
{
	struct contact contact = { .why = CONTACT_WORK, .project = 0 };

	contact.ask.secs[CW_CPU] = hope.work;
	enact_replied(
	    c, &contact, &(struct answer){ .rp = rp, .nreports = hope.reports });
}

static inline void host_take(struct client *c, const char *inside, struct hope hope)
{
	const char *text = arena_printf(
	    &c->scratch, "<scheduler_reply>\n%s\n</scheduler_reply>\n", inside);
	struct reply *rp;

	ck_assert_msg(reply_parse(&c->scratch, text, strlen(text), &rp, &c->fail) == OK,
	    "%s", c->fail.detail);
	host_answered(c, rp, hope);
}

static inline void save(struct client *c)
{
	struct dropped *dropped;
	size_t n;

	ck_assert_msg(state_save(&c->keep, c->state_path, &c->state, &c->scratch,
			  &dropped, &n, &c->fail) == OK,
	    "%s", c->fail.detail);
	arena_reset(&c->scratch);
	orders_read(c);
}

#endif
