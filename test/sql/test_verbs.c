/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands of locus select, delete, ban, cancel, move and count: each row of
 * verbs.def runs one on the rows of verbs.sql. VERBS_SHOW=1 in the environment prints
 * what all of them give, to compare with the table.
 */
#include "test/sql/world.h"

#include <mysql.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/args.h"
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "lib/banned.h"

static MYSQL my;

/* Runs statements; returns what they select: "1|a; 2|b". */
static char *rows_selected(const char *sql)
{
	struct buf b = buf_new(&a);

	ck_assert_msg(mysql_real_query(&my, sql, strlen(sql)) == 0, "%.200s: %s", sql,
	    mysql_error(&my));
	for (int more = 0; more == 0; more = mysql_next_result(&my)) {
		MYSQL_RES *res = mysql_store_result(&my);

		for (MYSQL_ROW r; res != NULL && (r = mysql_fetch_row(res)) != NULL;) {
			buf_printf(&b, "%s", b.n == 0 ? "" : "; ");
			for (unsigned i = 0; i < mysql_num_fields(res); i++)
				buf_printf(&b, "%s%s", i == 0 ? "" : "|",
				    r[i] == NULL ? "NULL" : r[i]);
		}
		if (res != NULL)
			mysql_free_result(res);
	}
	ck_assert_msg(mysql_errno(&my) == 0, "%.200s: %s", sql, mysql_error(&my));
	return b.n == 0 ? arena_strdup(&a, "") : b.p;
}

/* Are the rows those of verbs.sql, because nothing but listings ran since? */
static bool unchanged;

static void verbs_setup(void)
{
	static const char text[] =
	    "<boinc><config><long_name>Verbs</long_name><locality_store>db</locality_store></config></boinc>";
	struct conf *parsed;
	char *sql;

	setup();
	db_close(db);
	db = NULL;
	ck_ok(conf_parse(
	    &a, "config.xml", text, sizeof(text) - 1, &parsed, NULL, NULL, &f));
	parsed->db_socket = cf.db_socket;
	parsed->db_name = cf.db_name;
	parsed->db_user = cf.db_user;
	parsed->db_host = parsed->db_passwd = cf.db_passwd;
	parsed->project_dir = parsed->run_dir = cf.project_dir;
	parsed->log_dir = parsed->upload_dir = parsed->download_dir = cf.project_dir;
	parsed->locality_scheduling = parsed->enable_assignment = true;
	cf = *parsed;
	mysql_init(&my);
	ck_assert_ptr_nonnull(mysql_real_connect(
	    &my, NULL, "root", "", "fresh", 0, cf.db_socket, CLIENT_MULTI_STATEMENTS));
	if (unchanged)
		return;
	ck_ok(fs_read(&a,
	    arena_printf(&a, "%s/test/sql/verbs.sql",
		getenv("srcdir") != NULL ? getenv("srcdir") : "."),
	    1 << 20, &sql, NULL, &f));
	rows_selected("SET autocommit = 0, foreign_key_checks = 0");
	rows_selected(rows_selected(
	    "SELECT CONCAT('DELETE FROM ', table_name) FROM "
	    "information_schema.tables WHERE table_type = 'BASE TABLE' AND "
	    "table_schema = 'fresh' AND table_name NOT IN ('locus_schema', "
	    "'consent_type')"));
	rows_selected(sql);
	rows_selected("COMMIT; SET autocommit = 1");
}

static void verbs_teardown(void)
{
	mysql_close(&my);
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
 * names its columns; of a listing only the first column, as "a c", if keys.
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
