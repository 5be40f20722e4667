/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of handlers (locus-handlers(7)) for C: a loop around getline() and
 * jansson. Only what locus_handler.h declares is visible.
 */
#include "handler/locus_handler.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WHY_MOST = 1000 };

/* Memory of one request; a block that cannot be had ends the process, as a crash. */
struct piece {
	struct piece *next;
};

struct locus_request {
	json_t *reply;
	json_t *list; /* results or workunits of the reply */
	const struct locus_result *results;
	size_t nresults;
	char why[WHY_MOST];
	struct piece *pieces;
};

static void *request_alloc(struct locus_request *q, size_t n, size_t size)
{
	struct piece *p = calloc(1, sizeof(*p) + n * size);

	if (p == NULL) {
		fprintf(stderr, "locus_handler: out of memory\n");
		_exit(1);
	}
	p->next = q->pieces;
	q->pieces = p;
	return p + 1;
}

static void request_free(struct locus_request *q)
{
	while (q->pieces != NULL) {
		struct piece *p = q->pieces;
		q->pieces = p->next;
		free(p);
	}
	json_decref(q->reply);
}

/* --- reading --- */

static const char *text_of(json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s == NULL ? "" : s;
}

static int64_t int_of(json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

static double real_of(json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

static int flag_of(json_t *o, const char *name)
{
	return json_is_true(json_object_get(o, name));
}

static struct locus_file *read_files(struct locus_request *q, json_t *list, size_t *n)
{
	struct locus_file *v;

	*n = json_array_size(list);
	v = request_alloc(q, *n + 1, sizeof(*v));
	for (size_t i = 0; i < *n; i++) {
		json_t *o = json_array_get(list, i);
		v[i] = (struct locus_file){ .name = text_of(o, "name"),
			.open_name = text_of(o, "open_name"),
			.path = text_of(o, "path"),
			.md5 = text_of(o, "md5"),
			.nbytes = real_of(o, "nbytes"),
			.optional = flag_of(o, "optional"),
			.absent = flag_of(o, "absent"),
			.no_validate = flag_of(o, "no_validate") };
	}
	return v;
}

static struct locus_result read_result(
    struct locus_request *q, json_t *o, json_t *files)
{
	struct locus_result r = { .id = int_of(o, "id"),
		.host = int_of(o, "host"),
		.user = int_of(o, "user"),
		.app_version = int_of(o, "app_version"),
		.app_version_num = int_of(o, "app_version_num"),
		.sent_time = int_of(o, "sent_time"),
		.received_time = int_of(o, "received_time"),
		.exit_status = int_of(o, "exit_status"),
		.cpu_time = real_of(o, "cpu_time"),
		.elapsed_time = real_of(o, "elapsed_time"),
		.flops_estimate = real_of(o, "flops_estimate"),
		.name = text_of(o, "name") };

	r.files = read_files(q, files, &r.nfiles);
	return r;
}

static struct locus_workunit read_workunit(json_t *o)
{
	return (struct locus_workunit){ .id = int_of(o, "id"),
		.batch = int_of(o, "batch"),
		.create_time = int_of(o, "create_time"),
		.min_quorum = int_of(o, "min_quorum"),
		.error_mask = int_of(o, "error_mask"),
		.canonical_resultid = int_of(o, "canonical_resultid"),
		.delay_bound = int_of(o, "delay_bound"),
		.rsc_fpops_est = real_of(o, "rsc_fpops_est"),
		.rsc_fpops_bound = real_of(o, "rsc_fpops_bound"),
		.rsc_memory_bound = real_of(o, "rsc_memory_bound"),
		.rsc_disk_bound = real_of(o, "rsc_disk_bound"),
		.name = text_of(o, "name"),
		.command_line = text_of(o, "command_line"),
		.file = text_of(o, "file") };
}

/* --- what callbacks say --- */

void locus_why(struct locus_request *q, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(q->why, sizeof(q->why), fmt, ap);
	va_end(ap);
}

/* The reply's entry of a result; NULL if there is no such result. */
static json_t *entry_of(struct locus_request *q, size_t i)
{
	return i < q->nresults ? json_array_get(q->list, i) : NULL;
}

/* Sets a text that may not be UTF-8. */
static void set_text(json_t *o, const char *name, const char *s)
{
	json_t *text = json_string(s == NULL ? "" : s);

	json_object_set_new(
	    o, name, text == NULL ? json_string("(not valid UTF-8)") : text);
}

void locus_group(struct locus_request *q, size_t i, int64_t group)
{
	json_object_set_new(entry_of(q, i), "group", json_integer(group));
}

void locus_bad(struct locus_request *q, size_t i, const char *why)
{
	set_text(entry_of(q, i), "bad", why);
}

void locus_hopeless(struct locus_request *q, size_t i, const char *why)
{
	set_text(entry_of(q, i), "hopeless", why);
}

void locus_result_later(struct locus_request *q, size_t i, const char *why)
{
	set_text(entry_of(q, i), "later", why);
}

void locus_credit(struct locus_request *q, size_t i, double credit)
{
	if (credit >= 0)
		json_object_set_new(entry_of(q, i), "credit", json_real(credit));
}

void locus_plan(struct locus_request *q, const char *suffix, const char *command_line)
{
	json_t *o = json_object();

	set_text(o, "suffix", suffix);
	if (command_line != NULL)
		set_text(o, "command_line", command_line);
	json_array_append_new(q->list, o);
}

void locus_exhausted(struct locus_request *q)
{
	json_object_set_new(q->reply, "exhausted", json_true());
}

void locus_down(struct locus_request *q, const char *lines)
{
	set_text(q->reply, "down", lines);
}

void locus_choose(struct locus_request *q, const char *file)
{
	json_t *name = json_string(file == NULL ? "" : file);

	if (name != NULL)
		json_array_append_new(q->list, name);
}

/* --- the requests --- */

static enum locus_answer no_callback(struct locus_request *q, const char *type)
{
	locus_why(q, "this handler has no function for %s", type);
	return LOCUS_FAILED;
}

static enum locus_answer do_validate(
    const struct locus_callbacks *c, struct locus_request *q, json_t *r)
{
	struct locus_workunit wu = read_workunit(json_object_get(r, "workunit"));
	json_t *list = json_object_get(r, "results");
	struct locus_result *v;

	if (c->validate == NULL)
		return no_callback(q, "validate");
	q->nresults = json_array_size(list);
	q->results = v = request_alloc(q, q->nresults + 1, sizeof(*v));
	for (size_t i = 0; i < q->nresults; i++) {
		json_t *o = json_array_get(list, i), *said = json_object();
		v[i] = read_result(q, o, json_object_get(o, "outputs"));
		json_object_set_new(said, "id", json_integer(v[i].id));
		json_array_append_new(q->list, said);
	}
	json_object_set(q->reply, "results", q->list);
	return c->validate(c->ctx, q, &wu, v, q->nresults);
}

static enum locus_answer do_assimilate(
    const struct locus_callbacks *c, struct locus_request *q, json_t *r)
{
	struct locus_workunit wu = read_workunit(json_object_get(r, "workunit"));
	json_t *o = json_object_get(r, "canonical");
	struct locus_result canonical;

	if (c->assimilate == NULL)
		return no_callback(q, "assimilate");
	wu.error_mask = int_of(r, "error_mask");
	if (!json_is_object(o))
		return c->assimilate(c->ctx, q, &wu, NULL);
	canonical = read_result(q, o, json_object_get(r, "outputs"));
	return c->assimilate(c->ctx, q, &wu, &canonical);
}

static enum locus_answer do_generate(
    const struct locus_callbacks *c, struct locus_request *q, json_t *r)
{
	if (c->generate == NULL)
		return no_callback(q, "generate");
	json_object_set(q->reply, "workunits", q->list);
	return c->generate(
	    c->ctx, q, text_of(r, "file"), int_of(r, "made"), int_of(r, "wanted"));
}

static enum locus_answer do_trickle(
    const struct locus_callbacks *c, struct locus_request *q, json_t *r)
{
	json_t *o = json_object_get(r, "message");
	struct locus_message m = { .id = int_of(o, "id"),
		.time = int_of(o, "time"),
		.host = int_of(o, "host"),
		.variety = text_of(o, "variety"),
		.result = text_of(o, "result"),
		.xml = text_of(o, "xml") };

	return c->trickle == NULL ? no_callback(q, "trickle") :
	                            c->trickle(c->ctx, q, &m);
}

static enum locus_answer do_choose(
    const struct locus_callbacks *c, struct locus_request *q, json_t *r)
{
	json_t *list = json_object_get(r, "files");
	struct locus_choice choice = { .app = text_of(r, "app"),
		.hosts = int_of(r, "hosts"),
		.wanted = int_of(r, "wanted"),
		.nfiles = json_array_size(list) };
	struct locus_candidate *v;

	if (c->size < sizeof(*c) || c->choose == NULL)
		return no_callback(q, "choose");
	choice.files = v = request_alloc(q, choice.nfiles + 1, sizeof(*v));
	for (size_t i = 0; i < choice.nfiles; i++) {
		json_t *o = json_array_get(list, i);
		v[i] = (struct locus_candidate){ .name = text_of(o, "name"),
			.holders = int_of(o, "holders"),
			.in_set = flag_of(o, "in_set"),
			.has_unsent = flag_of(o, "has_unsent") };
	}
	json_object_set(q->reply, "files", q->list);
	return c->choose(c->ctx, q, &choice);
}

static const struct {
	const char *type;
	enum locus_answer (*run)(
	    const struct locus_callbacks *, struct locus_request *, json_t *);
} types[] = {
	{ "validate", do_validate },
	{ "assimilate", do_assimilate },
	{ "generate", do_generate },
	{ "trickle", do_trickle },
	{ "choose", do_choose },
};

static enum locus_answer dispatch(
    const struct locus_callbacks *c, struct locus_request *q, json_t *r)
{
	const char *type = text_of(r, "type");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].run(c, q, r);
	return no_callback(q, type);
}

/* Writes a reply as one line; 0 if it could be written. */
static int write_reply(FILE *out, json_t *reply)
{
	if (json_dumpf(reply, out, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
	    fputc('\n', out) == EOF || fflush(out) != 0) {
		fprintf(stderr, "locus_handler: a reply cannot be written\n");
		return 1;
	}
	return 0;
}

static int serve_one(const struct locus_callbacks *c, FILE *out, json_t *r)
{
	struct locus_request q = { .reply = json_object(), .list = json_array() };
	enum locus_answer answer = dispatch(c, &q, r);
	int status;

	if (answer != LOCUS_OK) {
		json_object_clear(q.reply);
		set_text(q.reply, answer == LOCUS_LATER ? "later" : "error",
		    q.why[0] == '\0' ? "no reason given" : q.why);
	}
	json_object_set(q.reply, "id", json_object_get(r, "id"));
	status = write_reply(out, q.reply);
	json_decref(q.list);
	request_free(&q);
	return status;
}

static int serve_hello(FILE *out, json_t *r)
{
	json_t *hello;
	int status;

	if (int_of(r, "protocol") != LOCUS_HANDLER_PROTOCOL) {
		fprintf(stderr,
		    "locus_handler: this library speaks protocol %d, Locus speaks %lld\n",
		    (int)LOCUS_HANDLER_PROTOCOL, (long long)int_of(r, "protocol"));
		return 1;
	}
	hello = json_pack(
	    "{sssi}", "type", "hello", "protocol", (int)LOCUS_HANDLER_PROTOCOL);
	status = write_reply(out, hello);
	json_decref(hello);
	return status;
}

static int serve_line(
    const struct locus_callbacks *c, FILE *out, const char *line, size_t n)
{
	json_error_t error;
	json_t *r = json_loadb(line, n, 0, &error);
	int status = 1;

	if (!json_is_object(r))
		fprintf(stderr, "locus_handler: a request is no JSON object: %s\n",
		    error.text);
	else if (strcmp(text_of(r, "type"), "hello") == 0)
		status = serve_hello(out, r);
	else
		status = serve_one(c, out, r);
	json_decref(r);
	return status;
}

int locus_serve(const struct locus_callbacks *given)
{
	struct locus_callbacks c = { 0 };
	int fd = dup(STDOUT_FILENO), status = 0;
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (out == NULL || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
		perror("locus_handler: standard output");
		return 1;
	}
	/* A program with an older header has fewer members. */
	memcpy(&c, given, given->size < sizeof(c) ? given->size : sizeof(c));
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (status == 0 && (n = getline(&line, &cap, stdin)) >= 0)
		status = serve_line(&c, out, line, (size_t)n);
	free(line);
	fclose(out);
	return status;
}
