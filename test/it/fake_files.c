/* SPDX-License-Identifier: Apache-2.0 */
/* The fake project's faults, downloads and uploads. */
#include "test/it/fake_project.h"

#include <string.h>
#include "lib/buf.h"
#include "proto/upload.h"
#include "lib/banned.h"

static const struct {
	enum door door;
	const char *name;
} faults[] = {
#define FAULT(door, name) { door, #door "_" #name },
#include "test/it/fake_project.def"
#undef FAULT
};
const char *fault_name(enum fault f)
{
	return faults[f].name;
}

void book_wrong(struct project *p, const char *what, const char *name)
{
	if (p->nwrong < WRONG_MAX)
		p->wrong[p->nwrong++] = arena_printf(
		    &p->keep, "WRONG %s: %s", what, name);
}

static size_t faults_of(enum door door)
{
	size_t n = 0;

	for (size_t i = 0; i < N(faults); i++)
		n += faults[i].door == door;
	return n;
}

enum fault door_next_fault(struct project *p, enum door door)
{
	size_t k = p->turn[door]++ % faults_of(door);

	for (size_t i = 0; i < N(faults); i++)
		if (faults[i].door == door && k-- == 0) {
			p->happened[i]++;
			return (enum fault)i;
		}
	return NONE;
}

/* Every second time until each fault has happened, as a host may not come often; then
 * about every third time. */
enum fault door_fault(struct project *p, enum door door)
{
	bool due;

	if (p->calm != NULL)
		return NONE;
	due = p->turn[door] < faults_of(door) ? !p->just_now[door] :
	                                        rng_unit(&p->rng) <= 0.35;

	p->just_now[door] = due;
	return due ? door_next_fault(p, door) : NONE;
}

struct fake_job *fake_job(struct project *p, const char *name)
{
	for (size_t i = 0; i < p->njobs; i++)
		if (strcmp(p->jobs[i].name, name) == 0)
			return &p->jobs[i];
	return NULL;
}

void answer_ok(int fd, const char *text)
{
	http_answer(fd, 200, 0, text, strlen(text), strlen(text));
}

static struct fake_file *fake_file(struct project *p, const char *name)
{
	for (size_t i = 0; i < LARGE; i++)
		if (strcmp(p->large[i].name, name) == 0)
			return &p->large[i];
	return strcmp(p->program.name, name) == 0     ? &p->program :
	       strcmp(p->bad_program.name, name) == 0 ? &p->bad_program :
	                                                NULL;
}

/* A resumed download of a large file must start about where the last one ended. */
static void send_file(
    struct project *p, int fd, const struct http_in *in, struct fake_file *f, bool cut)
{
	size_t from = in->from > 0 ? (size_t)in->from : 0, n, sent;

	if (from >= f->n) {
		http_answer(fd, 416, 0, "", 0, 0);
		return;
	}
	if (f->n == LARGE_BYTES && from + IN_FLIGHT < f->reached)
		book_wrong(p, "downloaded twice",
		    arena_printf(
			&p->a, "%s from %zu, had %zu", f->name, from, f->reached));
	n = f->n - from;
	sent = http_answer(fd, from > 0 ? 206 : 200, (int64_t)from, f->data + from, n,
	    cut ? n / 2 : n);
	if (from + sent > f->reached)
		f->reached = from + sent;
}

void serve_download(struct project *p, int fd, const struct http_in *in)
{
	bool first = strncmp(in->path, "/download1/", 11) == 0;
	const char *name = in->path + 11;
	struct fake_file *f = fake_file(p, name);
	enum fault how;

	if (f == NULL) { /* the extra files, all of which are faulty */
		if (strcmp(name, "BAD_SUM") == 0)
			answer_ok(fd, "evil");
		else if (strcmp(name, "BAD_SIZE") == 0)
			answer_ok(fd, "goo");
		else
			http_answer(fd, 404, 0, "no such file", 12, 12);
		return;
	}
	/* Sends the program in parts until a resume has failed in each way. */
	if (p->calm != NULL)
		how = NONE;
	else if (f == &p->program && p->turn[RESUME] < 2)
		how = in->from > 0 ? door_next_fault(p, RESUME) : DOWNLOAD_CUT;
	else
		how = p->turn[DOWNLOAD] < 3 ? door_next_fault(p, DOWNLOAD) :
		                              door_fault(p, DOWNLOAD);
	if (how == RESUME_WHOLE)
		http_answer(fd, 200, 0, f->data, f->n, f->n);
	else if (how == RESUME_STATUS_416)
		http_answer(fd, 416, 0, "no", 2, 2);
	else if (how == DOWNLOAD_STATUS_503)
		http_answer(fd, 503, 0, "later", 5, 5);
	else if (how == DOWNLOAD_STATUS_404 && first)
		http_answer(fd, 404, 0, "not here", 8, 8);
	else
		send_file(p, fd, in, f, how == DOWNLOAD_CUT);
}

/* --- uploads --- */

static struct fake_job *job_of_output(struct project *p, const char *name)
{
	size_t n = strlen(name);

	return n < 4 ? NULL : fake_job(p, arena_memdup(&p->a, name, n - 4));
}

static void check_output(struct project *p, struct fake_job *j)
{
	struct buf want = buf_new(&p->a);

	buf_put(&want, j->input->data, OUT_BYTES);
	buf_printf(&want, "%s  -\n%s\n", j->input->md5, j->name);
	j->uploaded = j->out_n == want.n && memcmp(j->out, want.p, want.n) == 0;
	if (!j->uploaded)
		book_wrong(p, "not the right output", j->name);
}

static void store_data(struct project *p, struct fake_job *j, const struct upload *u,
    const struct http_in *in)
{
	size_t n = in->body_n - u->header_n;

	if (u->offset < 0 || (size_t)u->offset > j->out_n ||
	    (size_t)u->offset + n > sizeof(j->out)) {
		book_wrong(p, "upload from the wrong place", j->name);
		return;
	}
	memcpy(j->out + u->offset, in->body + u->header_n, n);
	j->out_n = (size_t)u->offset + n;
	if ((int64_t)j->out_n == u->nbytes)
		check_output(p, j);
}

void serve_upload(struct project *p, int fd, const struct http_in *in, enum fault how)
{
	struct buf b = buf_new(&p->a);
	struct upload u;
	struct fail why;
	struct fake_job *j;

	if (how == UPLOAD_STATUS_503) {
		http_answer(fd, 503, 0, "later", 5, 5);
		return;
	}
	if (how == UPLOAD_PAGE) {
		answer_ok(fd, "<html>come back later</html>");
		return;
	}
	if (upload_parse(&p->a, in->body, in->body_n, &u, &why) != OK)
		return;
	j = job_of_output(p, u.name);
	if (j == NULL) {
		book_wrong(p, "upload of", u.name);
		return;
	}
	if (how == UPLOAD_TRANSIENT)
		upload_reply(&b, 1, "busy", -1);
	else if (u.kind == UPLOAD_SIZE_QUERY)
		upload_reply(&b, 0, NULL, (int64_t)j->out_n);
	else if (j->kind == REFUSED)
		upload_reply(&b, -1, "refused", -1);
	else {
		store_data(p, j, &u, in);
		if (in->body_n < in->declared_n)
			return;
		upload_reply(&b, 0, NULL, -1);
	}
	answer_ok(fd, b.p);
}
