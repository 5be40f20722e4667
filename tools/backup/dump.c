/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of a backup: a dump by the database's own tool, which knows every type
 * and every version of its server better than we could. It runs as a consistent read
 * in one transaction and blocks nobody.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/schema.h"
#include "lib/buf.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/backup/backup.h"
#include "tools/program.h"
#include "lib/banned.h"

enum { PIECE_BYTES = 4 << 20, TAIL_BYTES = 200, TOOL_WORDS = 251, ARGS_MOST = 32 };

#define GIVEN "--defaults-file=/dev/fd/3" /* struct proc_run */

static const char *const dump_tools[] = { "mariadb-dump", "mysqldump", NULL };
static const char *const load_tools[] = { "mariadb", "mysql", NULL };

/* MySQL's tools have options that MariaDB's do not know; mysqldump may be a link. */
static bool is_mysql(const char *tool)
{
	char real[PATH_MAX];

	if (realpath(tool, real) == NULL)
		return false;
	return strstr(text_base_name(real), "mariadb") == NULL;
}

static enum err find_tool(
    struct arena *a, const char *const *names, char **tool, struct fail *f)
{
	*tool = program_system(a, names);
	if (*tool == NULL)
		return FAIL(f, E_CONFIG,
		    "%s is not installed (Debian: apt-get install mariadb-client, or mysql-client)",
		    names[0]);
	return OK;
}

/* --- options of the connection: never on a command line, which everybody can read */

static void put_given(struct buf *b, const char *name, const char *value)
{
	if (value[0] == '\0')
		return;
	buf_printf(b, "%s=\"", name);
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '\\' || *p == '"')
			buf_puts(b, "\\");
		buf_put(b, p, 1);
	}
	buf_puts(b, "\"\n");
}

/* Connects as db_open() does. */
static char *dump_client_options(struct arena *a, const struct conf *cf)
{
	struct buf b = buf_new(a);
	bool local = cf->db_host[0] == '\0' || strcmp(cf->db_host, "localhost") == 0;
	bool by_port = cf->db_port != 0 && (cf->db_socket[0] == '\0' || !local);

	buf_puts(&b, "[client]\n");
	put_given(&b, "user", cf->db_user);
	put_given(&b, "password", cf->db_passwd);
	put_given(&b, "host",
	    local && by_port ? "127.0.0.1" :
	    local            ? "" :
			       cf->db_host);
	if (cf->db_port != 0)
		buf_printf(&b, "port=%lld\n", (long long)cf->db_port);
	if (local && !by_port)
		put_given(&b, "socket", cf->db_socket);
	if (by_port)
		buf_puts(&b, "protocol=tcp\n");
	return b.p;
}

/* --- rows that pass --- */

enum { AT_LINE, IN_NAME, IN_ROWS, IN_TEXT, IN_ESCAPE, IN_REST };

static struct row_count *count_table(struct dump_count *c)
{
	size_t i = 0;

	while (i < c->n && strcmp(c->tables[i].table, c->name) != 0)
		i++;
	if (i == c->n)
		PUSH(c->a, c->tables, c->n,
		    c->cap) = (struct row_count){ arena_strdup(c->a, c->name), 0 };
	return &c->tables[i];
}

static int count_in_rows(struct dump_count *c, char p)
{
	switch (p) {
	case '(':
		if (c->depth++ == 0)
			count_table(c)->rows++;
		return IN_ROWS;
	case ')':
		c->depth--;
		return IN_ROWS;
	case '\'':
		return IN_TEXT;
	case ';':
		return IN_REST;
	default:
		return IN_ROWS;
	}
}

/* A statement is recognised by the words before its table's name. */
static int count_at_line(struct dump_count *c, char p)
{
	if (p != '`' && p != '\n' && c->words_n + 1 < sizeof(c->words)) {
		c->words[c->words_n++] = p;
		return AT_LINE;
	}
	c->words[c->words_n] = '\0';
	c->words_n = c->name_n = 0;
	c->depth = 0;
	c->creates = text_ends_with(c->words, " TABLE ");
	if (p == '`' && (c->creates || text_ends_with(c->words, " INTO ")))
		return IN_NAME;
	return p == '\n' ? AT_LINE : IN_REST;
}

static int count_in_name(struct dump_count *c, char p)
{
	if (p != '`') {
		if (c->name_n + 1 < sizeof(c->name))
			c->name[c->name_n++] = p;
		return IN_NAME;
	}
	c->name[c->name_n] = '\0';
	if (!c->creates)
		return IN_ROWS;
	count_table(c);
	return IN_REST;
}

void dump_count(struct dump_count *c, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (c->state) {
		case AT_LINE:
			c->state = count_at_line(c, p[i]);
			break;
		case IN_NAME:
			c->state = count_in_name(c, p[i]);
			break;
		case IN_ROWS:
			c->state = count_in_rows(c, p[i]);
			break;
		case IN_TEXT:
			if (p[i] == '\\')
				c->state = IN_ESCAPE;
			else if (p[i] == '\'')
				c->state = IN_ROWS;
			break;
		case IN_ESCAPE:
			c->state = IN_TEXT;
			break;
		default:
			if (p[i] == '\n')
				c->state = AT_LINE;
		}
}

json_t *dump_counts(const struct dump_count *c)
{
	json_t *all = json_object();

	for (size_t i = 0; i < c->n; i++)
		json_object_set_new(
		    all, c->tables[i].table, json_integer(c->tables[i].rows));
	return all;
}

/* --- the tools --- */

/* Waits for its end, if it runs; kill_it: ends it at once, which is no failure. */
static enum err tool_end(
    struct proc_child *c, const char *name, bool kill_it, struct fail *f)
{
	char words[TOOL_WORDS] = "";
	int said = c->err, status;
	off_t end;

	if (c->pid <= 0)
		return OK;
	c->err = -1;
	status = proc_end(c, kill_it ? 0 : -1);
	end = lseek(said, 0, SEEK_END);
	if (pread(said, words, sizeof(words) - 1,
		end < TOOL_WORDS ? 0 : end - TOOL_WORDS + 1) < 0)
		words[0] = '\0';
	close(said);
	for (char *p = words; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
	if (kill_it || status == 0)
		return OK;
	return FAIL(
	    f, E_SYS, "%s ended with status %d: %s", name, status, text_trim(words));
}

/* --- the dump --- */

static size_t dump_options_add(const char **argv, size_t n, const char *const *options)
{
	for (; *options != NULL; options++)
		argv[n++] = *options;
	return n;
}

static const char **dump_command(
    struct arena *a, const struct conf *cf, const char *tool)
{
	static const char *const common[] = { "--single-transaction", "--quick",
		"--hex-blob", "--no-tablespaces", "--skip-add-locks",
		"--skip-dump-date", "--default-character-set=utf8mb4", NULL };
	static const char *const mysql[] = { "--set-gtid-purged=OFF",
		"--column-statistics=0", NULL };
	const char **argv = NEWN(a, const char *, ARGS_MOST);
	char **views = schema_views(a);
	size_t n = 0;

	argv[n++] = tool;
	argv[n++] = GIVEN;
	n = dump_options_add(argv, n, common);
	if (is_mysql(tool))
		n = dump_options_add(argv, n, mysql);
	/* They are made anew: a view belongs to the account that made it. */
	for (; *views != NULL; views++)
		argv[n++] = arena_printf(
		    a, "--ignore-table=%s.%s", cf->db_name, *views);
	argv[n] = cf->db_name;
	return argv;
}

struct dump { /* on its way into the archive */
	struct proc_child from;
	char *piece;
	size_t n; /* bytes in it */
	int64_t npieces;
	char tail[TAIL_BYTES + 1]; /* the last bytes of all */
	bool ended;
};

static enum err put_pieces(
    struct backup_out *b, struct dump *d, struct dump_count *c, struct fail *f)
{
	char name[48];

	while (!d->ended) {
		/* Fills the piece from the pipe. */
		d->n = 0;
		while (d->n < PIECE_BYTES && !d->ended) {
			ssize_t n = read(
			    d->from.out, d->piece + d->n, PIECE_BYTES - d->n);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return FAIL_ERRNO(
				    f, "reading the dump of the database");
			d->ended = n == 0;
			d->n += (size_t)n;
		}

		if (d->n == 0)
			break;
		dump_count(c, d->piece, d->n);
		/* The dump ends with a line that says so: the last bytes are kept for
		 * it. */
		size_t have = strlen(d->tail),
		       n = d->n < TAIL_BYTES ? d->n : TAIL_BYTES;
		size_t keep = have + n > TAIL_BYTES ? TAIL_BYTES - n : have;

		memmove(d->tail, d->tail + have - keep, keep);
		memcpy(d->tail + keep, d->piece + d->n - n, n);
		d->tail[keep + n] = '\0';
		snprintf(name, sizeof(name), BACKUP_DATABASE "%08lld.sql",
		    (long long)++d->npieces);
		TRY(backup_put_bytes(b, name, d->piece, d->n, NULL, f));
	}
	return OK;
}

enum err dump_put(struct backup_out *b, struct dump_count *c, struct fail *f)
{
	struct arena *a = b->x->a;
	struct dump d = { 0 };
	struct fail f2 = { 0 };
	char *tool;
	enum err e, e2;

	TRY(find_tool(a, dump_tools, &tool, f));
	d.piece = arena_alloc(a, PIECE_BYTES);
	TRY(proc_start(
	    &(const struct proc_run){ .argv = dump_command(a, b->x->cf, tool),
		.given = dump_client_options(a, b->x->cf),
		.out = { PROC_STREAM },
		.err = { PROC_MEMORY } },
	    &d.from, f));
	e = put_pieces(b, &d, c, f);
	e2 = tool_end(&d.from, text_base_name(tool), e != OK, &f2);
	if (e != OK)
		return e;
	if (e2 != OK)
		return FAIL(f, E_DB, "the database was not dumped: %s", f2.detail);
	if (strstr(d.tail, "-- Dump completed") == NULL)
		return FAIL(f, E_DB,
		    "the database was not dumped completely: %s ended without its last line",
		    tool);
	return OK;
}

/* --- loading --- */

enum err dump_load_begin(
    struct arena *a, const struct conf *cf, struct dump_load *l, struct fail *f)
{
	const char **argv = NEWN(a, const char *, ARGS_MOST);
	char *tool;
	size_t n = 0;

	TRY(find_tool(a, load_tools, &tool, f));
	argv[n++] = tool;
	argv[n++] = GIVEN;
	argv[n++] = "--batch";
	argv[n++] = "--default-character-set=utf8mb4";
	argv[n++] = "--max-allowed-packet=1G";
	argv[n] = cf->db_name;
	l->tool = text_base_name(tool);
	return proc_start(&(const struct proc_run){ .argv = argv,
			      .given = dump_client_options(a, cf),
			      .in = { PROC_STREAM },
			      .err = { PROC_MEMORY } },
	    &l->to, f);
}

enum err dump_load(struct dump_load *l, const char *p, size_t n, struct fail *f)
{
	while (n > 0) {
		ssize_t put = write(l->to.in, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) { /* it has ended: its last words say why */
			TRY(dump_load_end(l, false, f));
			return FAIL(f, E_DB, "%s ended before the dump did", l->tool);
		}
		p += put;
		n -= (size_t)put;
	}
	return OK;
}

enum err dump_load_end(struct dump_load *l, bool failed, struct fail *f)
{
	struct fail f2 = { 0 };

	if (tool_end(&l->to, l->tool, failed, &f2) != OK)
		return FAIL(f, E_DB, "the dump was not loaded: %s", f2.detail);
	return OK;
}
