/* SPDX-License-Identifier: Apache-2.0 */
/* The header, with messages in forms that clients of all ages understand. */
#include "proto/reply_head.h"

#include <inttypes.h>
#include <string.h>
#include "proto/reply_text.h"
#include "lib/banned.h"

enum {
	/* our protocol version; below 507, clients ignore prefs */
	SCHEDULER_VERSION = 803,
	/* clients show them one by one; a host may have thousands of tasks */
	MESSAGES_MAX = 100,
	ONE_MESSAGE_VERSION = 41900, /* up to it: one message, no line ends */
	HIGH_VERSION = 61100,        /* up to it: "high" instead of "notice" */
	TRANSLATES_VERSION = 61200,  /* from it on: _("text") is translated */
	VERIFIES_VERSION = 72200,    /* up to it: verify_files_on_app_start */
	BOUND_VERSION = 80100,       /* from it on: strict_memory_bound */
};

/* --- messages --- */

static void
head_put_message(struct buf *b, const char *priority, const char *text)
{
	buf_printf(b, "<message priority=\"%s\">", priority);
	reply_text(b, text, MESSAGE_MAX);
	buf_puts(b, "</message>\n");
}

/* Removes translation marks: _("text") becomes text. */
static char *
without_translation_marks(struct arena *a, const char *s)
{
	struct buf b = buf_new(a);
	const char *p, *end;

	while ((p = strstr(s, "_(\"")) != NULL && (end = strstr(p, "\")")) != NULL) {
		buf_put(&b, s, (size_t)(p - s));
		buf_put(&b, p + 3, (size_t)(end - p - 3));
		s = end + 2;
	}
	buf_puts(&b, s);
	return b.p;
}

/* Joins all messages, for clients that show only the first one. */
static void
head_put_joined(struct buf *b, const struct reply_head *h)
{
	struct buf all = buf_new(b->a);
	bool notice = false;

	for (size_t i = 0; i < h->nmessages; i++) {
		if (i > 0)
			buf_puts(&all, " ");
		buf_puts(&all, without_translation_marks(b->a, h->messages[i].text));
		notice = notice || h->messages[i].notice;
	}
	for (char *p = all.p; *p != '\0'; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	head_put_message(b, notice ? "high" : "low", all.p);
}

static void
head_put_messages(struct buf *b, const struct reply_head *h)
{
	int32_t v = h->client_version;

	if (h->nmessages > 0 && v > 0 && v <= ONE_MESSAGE_VERSION) {
		head_put_joined(b, h);
		return;
	}
	for (size_t i = 0; i < h->nmessages && i < MESSAGES_MAX; i++) {
		const struct dec_message *m = &h->messages[i];
		const char *text = v > 0 && v < TRANSLATES_VERSION ?
		                       without_translation_marks(b->a, m->text) :
		                       m->text;
		const char *notice = v > 0 && v <= HIGH_VERSION ? "high" : "notice";
		head_put_message(b, m->notice ? notice : "low", text);
	}
	if (h->nmessages > MESSAGES_MAX)
		head_put_message(b, "low",
		    arena_printf(b->a, "%zu more messages are left out",
			h->nmessages - MESSAGES_MAX));
}

/* --- header --- */

/*
 * Writes the flags that clients forget unless they are in every reply, refusals
 * included.
 */
static void
head_put_flags(struct buf *b, const struct reply_head *h)
{
	const struct conf *cf = h->conf;
	int32_t v = h->client_version;

	if (cf->workload_sim)
		buf_puts(b, "<send_full_workload/>\n");
	if (h->no_work_deadlines)
		buf_puts(b, "<no_work_deadlines/>\n");
	if (cf->next_rpc_delay > 0)
		buf_printf(b, "<next_rpc_delay>%f</next_rpc_delay>\n",
		    (double)cf->next_rpc_delay);
	if (cf->non_cpu_intensive)
		buf_puts(b, "<non_cpu_intensive/>\n");
	if (cf->strict_memory_bound && (v == 0 || v >= BOUND_VERSION))
		buf_puts(b, "<strict_memory_bound/>\n");
	if (cf->verify_files_on_app_start && v > 0 && v <= VERIFIES_VERSION)
		buf_puts(b, "<verify_files_on_app_start/>\n");
}

void
reply_head(struct buf *b, const struct reply_head *h)
{
	const struct conf *cf = h->conf;

	buf_printf(b, "<scheduler_reply>\n<scheduler_version>%d</scheduler_version>\n",
	    SCHEDULER_VERSION);
	if (h->client_version == 0 || h->client_version >= DCF_UNUSED_VERSION)
		buf_puts(b, "<dont_use_dcf/>\n");
	if (cf->master_url[0] != '\0')
		buf_tag(b, "master_url", cf->master_url);
	if (cf->ended)
		buf_puts(b, "<ended>1</ended>\n");
	if (h->request_delay > 0)
		buf_printf(b, "<request_delay>%f</request_delay>\n", h->request_delay);
	head_put_messages(b, h);
	reply_tag(b, "project_name", cf->long_name, NAME_MAX_SENT);
	if (h->send_time_stats_log > 0)
		buf_printf(b,
		    "<send_time_stats_log>%" PRId64 "</send_time_stats_log>\n",
		    h->send_time_stats_log);
	if (h->project_is_down)
		buf_puts(b, "<project_is_down/>\n");
	else
		head_put_flags(b, h);
}

/* Parameters: the members of a reply that has little else. */
void
reply_render_refusal(struct buf *b, const struct conf *cf, int32_t client_version,
    const char *text, bool notice, double delay_s, bool project_is_down)
{
	struct dec_message m = { .notice = notice, .text = arena_strdup(b->a, text) };

	reply_head(b, &(struct reply_head){ .conf = cf,
			  .client_version = client_version,
			  .request_delay = delay_s,
			  .messages = &m,
			  .nmessages = text != NULL && text[0] != '\0',
			  .project_is_down = project_is_down });
	buf_puts(b, "</scheduler_reply>\n");
}
