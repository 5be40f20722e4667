/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of running tasks to their project and back (protocol.md 1.10, 2.8). Those
 * that wait to be sent are files of DIR/trickles/PROJECT, numbered in order.
 */
#include "client/app.h"

#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
#include "lib/banned.h"

#define WRITTEN "trickle_up.xml" /* by the program, in its slot */

enum {
	TEXT_MOST = 64 << 10,
	WAITING_MOST = 1000, /* of one project */
	SENT_MOST = 100      /* in one request */
};

static const char *trickle_dir(struct client *c, const struct cproject *p)
{
	return arena_printf(&c->scratch, "%s/trickles/%s", c->dir,
	    url_to_dir(&c->scratch, p->master_url));
}

/* Lists the messages that wait, in order. */
static size_t list_waiting(struct client *c, const struct cproject *p, char ***names)
{
	size_t n = 0;
	struct fail f;

	if (p->ntrickles <= 0 || fs_list(&c->scratch, trickle_dir(c, p),
				     WAITING_MOST + 1, names, &n, &f) != OK)
		return 0;
	return n;
}

static enum err store_message(
    struct client *c, struct cproject *p, const struct ctask *t, const char *text)
{
	struct buf b = buf_new(&c->scratch);
	char **names = NULL;
	size_t n = list_waiting(c, p, &names);
	long long number = n == 0 ? 0 : strtoll(names[n - 1], NULL, 10) + 1;

	if (n >= WAITING_MOST)
		return FAIL(&c->fail, E_BADREQ, "%zu messages wait already", n);
	buf_puts(&b, "      ");
	buf_tag(&b, "result_name", t->r.name);
	buf_printf(&b, "      <time>%lld</time>\n%s", (long long)c->now, text);
	TRY(fs_make_own(
	    arena_printf(&c->scratch, "%s/trickles", c->dir), 0755, &c->fail));
	TRY(fs_mkdirs(trickle_dir(c, p), 0700, &c->fail));
	return fs_write(
	    arena_printf(&c->scratch, "%s/%012lld", trickle_dir(c, p), number), b.p,
	    b.n, 0600, &c->fail);
}

void trickle_collect(struct client *c, struct cproject *p, const struct ctask *t)
{
	const char *path = arena_printf(&c->scratch, "%s/" WRITTEN, slot_dir(c, t));
	char *text;
	enum err e = fs_read(&c->scratch, path, TEXT_MOST, &text, NULL, &c->fail);

	if (e == OK)
		e = store_message(c, p, t, text);
	if (e != OK) {
		log_warn("a message of task %s is lost: %s", t->r.name, c->fail.detail);
		return;
	}
	p->ntrickles++;
	c->changed = true;
	fs_unlink(path, &c->fail);
	event_log(c, "said result=%s bytes=%zu", t->r.name, strlen(text));
}

void trickle_fill(struct client *c, const struct cproject *p, struct request *rq,
    char ***sent, size_t *nsent)
{
	char **names = NULL, *text;
	size_t n = list_waiting(c, p, &names);

	*nsent = rq->ntrickles = 0;
	*sent = NEWN(&c->scratch, char *, n + 1);
	rq->trickles = NEWN(&c->scratch, struct rq_trickle, n + 1);
	for (size_t i = 0; i < n && *nsent < SENT_MOST; i++) {
		char *path = arena_printf(
		    &c->scratch, "%s/%s", trickle_dir(c, p), names[i]);

		/* A message that cannot be read will not wait for ever. */
		(*sent)[(*nsent)++] = path;
		if (fs_read(&c->scratch, path, 2 * TEXT_MOST, &text, NULL, &c->fail) ==
		    OK)
			rq->trickles[rq->ntrickles++] = (struct rq_trickle){
				.xml = text
			};
	}
}

void trickle_sent(struct client *c, struct cproject *p, char **sent, size_t nsent)
{
	char **names = NULL;

	for (size_t i = 0; i < nsent; i++)
		fs_unlink(sent[i], &c->fail);
	p->ntrickles = (int64_t)list_waiting(c, p, &names);
	c->changed = true;
}

/* The lines of the element but those that only say whose message it is. */
static const char *trickle_lines(struct client *c, const char *raw)
{
	struct buf b = buf_new(&c->scratch);

	while (*raw != '\0') {
		size_t n = strcspn(raw, "\n");
		const char *line = arena_memdup(&c->scratch, raw, n);

		if (strstr(line, "<result_name>") == NULL &&
		    strstr(line, "<time>") == NULL &&
		    text_trim(arena_strdup(&c->scratch, line))[0] != '\0')
			buf_printf(&b, "%s\n", line);
		raw += n + (raw[n] != '\0');
	}
	return b.n == 0 ? "" : b.p;
}

static void take_one_down(struct client *c, struct cproject *p, const char *raw)
{
	char *name = xml_between(&c->scratch, raw, "result_name");
	char *time = xml_between(&c->scratch, raw, "time");
	const char *text = trickle_lines(c, raw);
	struct ctask *t;
	int64_t at;

	if (name == NULL || time == NULL ||
	    !text_i64(text_trim(time), 0, INT64_MAX, &at)) {
		log_warn("ignored a message without the name of a task or a time");
		return;
	}
	name = text_trim(text_decode(&c->scratch, name, strlen(name)));
	t = state_task(p, name);
	if (t == NULL || t->pid == 0) {
		log_info("dropped a message: task %s does not run", name);
		return;
	}
	if (fs_write(arena_printf(&c->scratch, "%s/trickle_down_%lld", slot_dir(c, t),
			 (long long)at),
		text, strlen(text), 0644, &c->fail) != OK) {
		log_fail("message for a task", &c->fail);
		return;
	}
	t->ask |= ASK_MESSAGE;
	event_log(c, "told result=%s bytes=%zu", t->r.name, strlen(text));
}

void trickle_take_down(struct client *c, struct cproject *p, const struct reply *rp)
{
	for (size_t i = 0; i < rp->ntrickles_down; i++)
		take_one_down(c, p, rp->trickles_down[i]);
}

void trickle_recount(struct client *c, struct cproject *p)
{
	char **names = NULL;

	p->ntrickles = WAITING_MOST; /* look there in any case */
	p->ntrickles = (int64_t)list_waiting(c, p, &names);
}

void trickle_forget(struct client *c, const struct cproject *p)
{
	if (p->ntrickles > 0 && fs_rmtree(trickle_dir(c, p), &c->fail) != OK)
		log_fail("messages of tasks", &c->fail);
}
