/* SPDX-License-Identifier: Apache-2.0 */
/* GUI RPC: who may ask, and which function answers. */
#include "client/control/gui.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "client/control/control.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
#include "proto/prefs.h"
#include "lib/banned.h"

/* What tools can have a host do, besides the operations of operations.def. */

static const double MODE_MOST_S = 365 * 86400;
enum { ABORTED_BY_USER = -197 };

static const char *set_mode(const struct gui_call *g, struct mode *m, const char *what)
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

const char *gui_set_run_mode(const struct gui_call *g)
{
	return set_mode(g, &g->c->state->run_mode, "computing");
}

const char *gui_set_gpu_mode(const struct gui_call *g)
{
	return set_mode(g, &g->c->state->gpu_mode, "coprocessors");
}

const char *gui_set_network_mode(const struct gui_call *g)
{
	return set_mode(g, &g->c->state->network_mode, "network");
}

/* The text is stored as it is; an empty one removes the file. */
const char *gui_set_prefs_override(const struct gui_call *g)
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

const char *gui_read_prefs_override(const struct gui_call *g)
{
	preferences_read(g->c);
	log_info("by order: the preferences were read again");
	return NULL;
}

static const char *named_file(
    const struct gui_call *g, struct cproject **p, struct cfile **f)
{
	const char *name = gui_argument(g, "filename");

	if (order_project(g->c, gui_argument(g, "project_url"), p) != OK)
		return g->c->fail.detail;
	*f = name == NULL ? NULL : state_file(*p, name);
	return *f == NULL ? "no such file" : NULL;
}

const char *gui_retry_transfer(const struct gui_call *g)
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

const char *gui_abort_transfer(const struct gui_call *g)
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

const char *gui_benchmark(const struct gui_call *g)
{
	g->c->state->benchmarked_at = 0;
	hostinfo_benchmark(g->c);
	return NULL;
}

const char *gui_quit(const struct gui_call *g)
{
	(void)g;
	log_info("by order: the client ends");
	proc_stopping = SIGTERM;
	return NULL;
}

enum { PASSWORD_MOST = 255, NAME_MOST = 64 };

enum err gui_password(struct client *c, char **password)
{
	const char *path = arena_printf(&c->process, "%s/" GUI_PASSWORD, c->dir);
	char fresh[MD5_HEX], *text;
	struct stat st;
	enum err e = fs_read(&c->process, path, PASSWORD_MOST, &text, NULL, &c->fail);

	if (e == E_NOTFOUND) {
		random_hex(fresh, MD5_HEX - 1);
		*password = arena_strdup(&c->process, fresh);
		return fs_write(path, fresh, strlen(fresh), 0600, &c->fail);
	}
	if (e != OK)
		return e;
	*password = text_trim(text);
	if ((*password)[0] == '\0')
		return FAIL(&c->fail, E_CONFIG,
		    "%s is empty: write a password into it, or remove it and one is made up",
		    path);
	if (stat(path, &st) == 0 && (st.st_mode & 077) != 0)
		return FAIL(&c->fail, E_CONFIG,
		    "other accounts can read %s; run: chmod 600 %s", path, path);
	return OK;
}

/* --- authorization --- */

/* A nonce serves for one try. */
static void check_hash(const struct gui_call *g, struct dialog *d)
{
	const char *said = gui_argument(g, "nonce_hash");
	const char *password = g->c->gui_password;
	char hash[MD5_HEX];
	unsigned differ = 0;

	if (said != NULL && password != NULL && d->nonce[0] != '\0' &&
	    strlen(said) == MD5_HEX - 1) {
		md5_text(
		    arena_printf(&g->c->scratch, "%s%s", d->nonce, password), hash);
		for (size_t i = 0; i < MD5_HEX - 1; i++)
			differ |= (unsigned char)said[i] ^ (unsigned char)hash[i];
		d->authorized |= differ == 0;
	}
	d->nonce[0] = '\0';
	if (!d->authorized)
		log_warn("GUI RPC: a wrong password was given");
	buf_puts(g->out, d->authorized ? "<authorized/>\n" : "<unauthorized/>\n");
}

/* --- the table --- */

static const struct call {
	const char *name;
	void (*show)(const struct gui_call *);
	const char *(*act)(const struct gui_call *);
	const char *empty; /* element of an empty answer */
	enum operation op;
	bool accept;
} calls[] = {
#define SHOW(element, function)   { .name = #element, .show = function, .op = OP_NONE },
#define DO(element, function)     { .name = #element, .act = function, .op = OP_NONE },
#define EMPTY(inside, element)    { .name = #element, .empty = #inside, .op = OP_NONE },
#define ACCEPT(element)           { .name = #element, .accept = true, .op = OP_NONE },
#define ORDER(element, operation) { .name = #element, .op = OP_##operation },
#include "client/control/gui_calls.def"
#undef SHOW
#undef DO
#undef EMPTY
#undef ACCEPT
#undef ORDER
};

static const char *carry_order(const struct gui_call *g, enum operation op)
{
	const char *done;
	struct order o = { .op = op,
		.url = gui_argument(g, "project_url"),
		.task = gui_argument(g, "name"),
		.key = gui_argument(g, "authenticator"),
		.share = -1 };

	if (op == OP_attach && o.key == NULL)
		o.key = gui_argument(g, "auth");
	return operate(g->c, &o, &done) == OK ? NULL : g->c->fail.detail;
}

static void put_outcome(struct buf *out, const char *why)
{
	if (why == NULL)
		buf_puts(out, "<success/>\n");
	else
		buf_tag(out, "error", why);
}

/* Returns false if the call must wait until the host may be changed. */
static bool make_call(const struct gui_call *g, const struct call *k, bool may_change)
{
	if (k->show != NULL)
		k->show(g);
	else if (k->empty != NULL)
		buf_printf(g->out, "<%s>\n</%s>\n", k->empty, k->empty);
	else if (k->accept)
		put_outcome(g->out, NULL);
	else if (!may_change)
		return false;
	else
		put_outcome(g->out, k->act != NULL ? k->act(g) : carry_order(g, k->op));
	return true;
}

/* Finds the name of the first element within the request; "" if there is none. */
static void call_name(const char *text, char name[NAME_MOST])
{
	static const char open[] = "<boinc_gui_rpc_request>";
	const char *p = strstr(text, open);
	size_t n;

	name[0] = '\0';
	if (p == NULL)
		return;
	p += strlen(open);
	p += strspn(p, " \t\r\n");
	if (*p++ != '<')
		return;
	n = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
	if (n < NAME_MOST) {
		memcpy(name, p, n);
		name[n] = '\0';
	}
}

static bool answer_call(
    const struct gui_call *g, struct dialog *d, const char *name, bool may_change)
{
	if (strcmp(name, "auth1") == 0) {
		random_hex(d->nonce, MD5_HEX - 1);
		buf_tag(g->out, "nonce", d->nonce);
	} else if (strcmp(name, "auth2") == 0)
		check_hash(g, d);
	else if (strcmp(name, "exchange_versions") == 0) {
		buf_puts(g->out, "<server_version>\n");
		buf_tag_i64(g->out, "major", CLIENT_MAJOR);
		buf_tag_i64(g->out, "minor", CLIENT_MINOR);
		buf_tag_i64(g->out, "release", 0);
		buf_puts(g->out, "</server_version>\n");
	} else if (!d->authorized)
		buf_puts(g->out, "<unauthorized/>\n");
	else {
		for (size_t i = 0; i < N(calls); i++)
			if (strcmp(calls[i].name, name) == 0)
				return make_call(g, &calls[i], may_change);
		buf_tag(g->out, "error",
		    arena_printf(&g->c->scratch, "unrecognized op: %s", name));
	}
	return true;
}

bool gui_answer(struct client *c, struct dialog *d, char *text, size_t n,
    bool may_change, struct buf *out)
{
	struct gui_call g = { c, text, out };
	char name[NAME_MOST];

	(void)n;
	call_name(text, name);
	buf_puts(out, "<boinc_gui_rpc_reply>\n");
	if (name[0] == '\0') {
		buf_tag(out, "error", "the request has no call");
		d->close = true;
	} else if (!answer_call(&g, d, name, may_change)) {
		out->n = 0;
		return false;
	}
	buf_puts(out, "</boinc_gui_rpc_reply>\n\003");
	return true;
}
