/* SPDX-License-Identifier: Apache-2.0 */
/* What tools can have a host do, besides the operations of operations.def. */
#include "client/control/gui.h"

#include <signal.h>
#include <string.h>
#include "client/control/control.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/prefs.h"
#include "lib/banned.h"

static const double MODE_MOST_S = 365 * 86400;
enum { ABORTED_BY_USER = -197 };

static const char *
set_mode(const struct gui_call *g, struct mode *m, const char *what)
{
	static const struct {
		const char *tag;
		enum mode_kind kind;
	} kinds[] = { { "<always/>", MODE_ALWAYS }, { "<auto/>", MODE_AUTO },
		{ "<never/>", MODE_NEVER } };
	const char *duration = gui_argument(g, "duration");
	double s = 0;

	if (duration != NULL &&
	    (!text_f64(duration, &s) || !(s >= 0 && s <= MODE_MOST_S)))
		return "the duration is not a number of seconds, at most a year";
	if (strstr(g->text, "<restore/>") != NULL) {
		m->brief_until = 0;
		g->c->changed = true;
		return NULL;
	}
	for (size_t i = 0; i < N(kinds); i++)
		if (strstr(g->text, kinds[i].tag) != NULL) {
			mode_set(g->c, m, kinds[i].kind, s);
			log_info("by order: %s %.*s", what,
			    (int)strcspn(kinds[i].tag + 1, "/"), kinds[i].tag + 1);
			return NULL;
		}
	return "the mode is always, auto, never or restore";
}

const char *
gui_set_run_mode(const struct gui_call *g)
{
	return set_mode(g, &g->c->state->run_mode, "computing");
}

const char *
gui_set_gpu_mode(const struct gui_call *g)
{
	return set_mode(g, &g->c->state->gpu_mode, "coprocessors");
}

const char *
gui_set_network_mode(const struct gui_call *g)
{
	return set_mode(g, &g->c->state->network_mode, "network");
}

/* The text is stored as it is; an empty one removes the file. */
const char *
gui_set_prefs_override(const struct gui_call *g)
{
	static const char open[] = "<set_global_prefs_override>",
			  close[] = "</set_global_prefs_override>";
	const char *p = strstr(g->text, open), *end;
	struct client *c = g->c;

	if (p == NULL || (end = strstr(p, close)) == NULL)
		return "there are no preferences in the request";
	p += strlen(open);
	p += strspn(p, " \r\n\t");
	if (p >= end)
		return fs_unlink(preferences_override_path(c), &c->fail) == OK ?
		           NULL :
		           c->fail.detail;
	if (prefs_global_text(&c->scratch,
		arena_memdup(&c->scratch, p, (size_t)(end - p)), NULL) == NULL)
		return "this is no <global_preferences>";
	return fs_write(preferences_override_path(c), p, (size_t)(end - p), 0644,
		   &c->fail) == OK ?
	           NULL :
	           c->fail.detail;
}

const char *
gui_read_prefs_override(const struct gui_call *g)
{
	preferences_read(g->c);
	log_info("by order: the preferences were read again");
	return NULL;
}

static const char *
named_file(const struct gui_call *g, struct cproject **p, struct cfile **f)
{
	const char *name = gui_argument(g, "filename");

	if (order_project(g->c, gui_argument(g, "project_url"), p) != OK)
		return g->c->fail.detail;
	*f = name == NULL ? NULL : state_file(*p, name);
	return *f == NULL ? "no such file" : NULL;
}

const char *
gui_retry_transfer(const struct gui_call *g)
{
	struct cproject *p;
	struct cfile *f;
	const char *why = named_file(g, &p, &f);

	if (why != NULL)
		return why;
	f->try_after = 0;
	g->c->changed = true;
	return NULL;
}

const char *
gui_abort_transfer(const struct gui_call *g)
{
	struct cproject *p;
	struct cfile *f;
	const char *why = named_file(g, &p, &f);

	if (why != NULL)
		return why;
	if (!transfer_uploads(f) && (f->output || f->status != FS_ABSENT))
		return "this file is not being transferred";
	if (f->output)
		f->upload_failed = true;
	else
		transfer_give_up(g->c, p, f, ABORTED_BY_USER);
	g->c->changed = true;
	return NULL;
}

const char *
gui_benchmark(const struct gui_call *g)
{
	g->c->state->benchmarked_at = 0;
	hostinfo_benchmark(g->c);
	return NULL;
}

const char *
gui_quit(const struct gui_call *g)
{
	(void)g;
	log_info("by order: the client ends");
	proc_stopping = SIGTERM;
	return NULL;
}
