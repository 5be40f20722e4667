/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of locus select, delete, ban, cancel, move and count: each row of
 * verbs.def runs one on the rows of verbs.sql. VERBS_SHOW=1 in the environment prints
 * what all of them give, to compare with the table.
 */
#include "test/sql/world.h"

#include <sys/wait.h>
#include <unistd.h>
#include "db/work_tally.h"
#include "lib/args.h"
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "rules/daemon/daemon_rules.h"
#include "tools/cmd.h"
#include "lib/banned.h"

/* Are the rows those of verbs.sql, because nothing but listings ran since? */
static bool unchanged;

/* Counts all workunits as the transitioner does when it visits them. */
static void count_all_work(void)
{
	static const int64_t ids[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct tally_moves *moves = tally_moves_new(&a);
	struct workunit *wu;
	struct result *r;
	struct buf sql = buf_new(&a);
	size_t n, nr;

	ck_ok(db_begin(db, &f));
	ck_ok(workunits_lock(db, &a, ids, N(ids), &wu, &n, &f));
	ck_ok(results_of_workunits(db, &a, ids, N(ids), &r, &nr, &f));
	for (size_t i = 0; i < n; i++) {
		struct workunit to = wu[i];

		tally_clear(&to);
		for (size_t k = 0; k < nr; k++)
			if (r[k].workunitid == to.id)
				tally_result(&to, &r[k]);
		tally_code(&to);
		tally_moved(moves, &wu[i], &to);
		buf_printf(&sql,
		    "UPDATE workunit SET tally = %d, tally_inactive = %d, tally_live = %d, tally_ended = %d, "
		    "tally_never_sent = %d, tally_success = %d, tally_valid = %d, tally_failed = %d WHERE id = %lld; ",
		    to.tally, to.tally_inactive, to.tally_live, to.tally_ended,
		    to.tally_never_sent, to.tally_success, to.tally_valid,
		    to.tally_failed, (long long)to.id);
	}
	ck_ok(tally_moves_save(db, moves, 0, &f));
	ck_ok(db_commit(db, &f));
	sql.p[sql.n - 2] = '\0';
	rows_selected(sql.p);
}

static void verbs_setup(void)
{
	static const char text[] =
	    "<boinc><config><long_name>Verbs</long_name><locality_store>db</locality_store></config></boinc>";
	struct conf *parsed;
	char *path;

	setup();
	path = arena_printf(&a, "%s/config.xml", cf.project_dir);
	ck_ok(fs_write(path, text, sizeof(text) - 1, 0644, &f));
	ck_ok(conf_parse(&a, path, text, sizeof(text) - 1, &parsed, NULL, NULL, &f));
	parsed->db_socket = cf.db_socket;
	parsed->db_name = cf.db_name;
	parsed->db_user = cf.db_user;
	parsed->db_host = parsed->db_passwd = cf.db_passwd;
	parsed->project_dir = parsed->run_dir = cf.project_dir;
	parsed->log_dir = cf.project_dir;
	parsed->upload_dir = arena_printf(&a, "%s/upload", cf.project_dir);
	parsed->download_dir = arena_printf(&a, "%s/download", cf.project_dir);
	ck_ok(fs_mkdirs(parsed->upload_dir, 0755, &f));
	ck_ok(fs_mkdirs(parsed->download_dir, 0755, &f));
	parsed->locality_scheduling = parsed->enable_assignment = true;
	cf = *parsed;
	if (!unchanged) {
		rows_replace("verbs.sql");
		count_all_work();
	}
	db_close(db);
	db = NULL;
}

static void verbs_teardown(void)
{
	rows_close();
	ck_ok(fs_rmtree(cf.project_dir, &f));
	arena_free(&a);
}

/* In a child process: locus LINE -o tsv. */
static int verb_run(void *line)
{
	struct cmd_ctx x = { .a = &a, .f = &f, .cf = &cf, .commands = commands_all() };
	struct args g = { .a = &a, .program = "locus", .once = true };
	char **words;
	int n = 0, used;
	enum err e;

	dup2(1, 2);
	ck_ok(proc_split(&a, line, &words, &f));
	while (words[n] != NULL)
		n++;
	x.cmd = command_typed(words, n, &used);
	if (x.cmd == NULL)
		return 99;
	if (x.cmd->columns != NULL || x.cmd->tree)
		x.format = FORMAT_TSV;
	g.own = x.cmd->opts;
	g.own_row = arena_alloc(&a, x.cmd->opts_size + 1);
	g.words = x.cmd->args;
	g.min = x.cmd->min_args;
	g.max = x.cmd->max_args;
	e = args_read(&g, n - used + 1, words + used - 1, &f) == ARGS_RUN ? OK : f.code;
	if (e == OK)
		e = x.cmd->run(&x, g.own_row, g.rest, g.nrest);
	ctx_close(&x);
	if (e != OK)
		printf("%s\n", f.detail);
	fflush(stdout);
	return x.status != 0 ? x.status : e == OK ? 0 : err_exit(e);
}

/*
 * Returns what the command printed, as "a|b; c|d", without the line of a listing that
 * names its columns; of a listing only the first column, as "a c", if keys. DIR is the
 * project's directory.
 */
static char *verb_said(const char *line, bool keys, int *status)
{
	char *path = arena_printf(&a, "%s/said", cf.project_dir), *text, *to;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct buf b = buf_new(&a);

	ck_ok(proc_call(verb_run, (void *)(uintptr_t)line, fd, status, &f));
	close(fd);
	ck_ok(fs_read(&a, path, 1 << 20, &text, NULL, &f));
	to = strchr(text, '\t') == NULL ? NULL : strchr(text, '\n');
	for (to = to == NULL ? text : to + 1; *to != '\0'; to++) {
		if (strncmp(to, cf.project_dir, strlen(cf.project_dir)) == 0) {
			buf_printf(&b, "DIR");
			to += strlen(cf.project_dir);
		}
		if (*to == '\n')
			buf_printf(&b, "%s", to[1] == '\0' ? "" : keys ? " " : "; ");
		else if (*to != '\t')
			buf_printf(&b, "%c", *to);
		else if (!keys)
			buf_printf(&b, "|");
		else
			to += strcspn(to, "\n") - 1;
	}
	return b.n == 0 ? arena_strdup(&a, "") : b.p;
}

static const struct {
	const char *line;
	int status;
	const char *said, *sql, *rows;
} verbs[] = {
#define VERB(line, status, said, sql, rows) { line, status, said, sql, rows },
#include "test/sql/verbs.def"
#undef VERB
};

START_TEST(verb)
{
	const char *sql = verbs[_i].sql, *want = verbs[_i].said;
	const bool keys = want[0] == '=';
	char *said, *rows;
	int status;

	unchanged = sql[0] == '\0';
	said = verb_said(verbs[_i].line, keys, &status);
	rows = sql[0] == '\0' ? arena_strdup(&a, "") : rows_selected(sql);
	if (getenv("VERBS_SHOW") != NULL) {
		printf("VERB(\"%s\", %d, \"%s%s\", \"%s\", \"%s\")\n", verbs[_i].line,
		    status, keys ? "=" : "", want[0] == '~' ? want : said, sql, rows);
		return;
	}
	ck_assert_msg(status == verbs[_i].status, "%s: status %d: %s", verbs[_i].line,
	    status, said);
	if (want[0] == '~')
		ck_assert_msg(strstr(said, want + 1) != NULL, "%s said: %s",
		    verbs[_i].line, said);
	else
		ck_assert_msg(strcmp(said, want + keys) == 0, "%s said: %s",
		    verbs[_i].line, said);
	ck_assert_msg(strcmp(rows, verbs[_i].rows) == 0, "%s: %s gives %s",
	    verbs[_i].line, sql, rows);
}
END_TEST

UNIT_MAIN("verbs", {
	tcase_add_checked_fixture(tc, verbs_setup, verbs_teardown);
	ADD_LOOP(verb, N(verbs));
})
