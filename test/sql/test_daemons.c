/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pass of each daemon selects, moves, makes, deletes and counts: each row of
 * passes.def changes the rows of passes.sql, makes some files and runs one daemon with
 * --one_pass. PASSES_SHOW=1 in the environment prints what all of them give, to compare
 * with the table.
 */
#include "test/sql/world.h"

#include <sys/wait.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/archive.h"
#include "lib/banned.h"

/* main() of each daemon's own file, see test/sql.mk. */
#define DAEMONS(X)                                                                     \
	X(transitioner)                                                                \
	X(validator)                                                                   \
	X(assimilator)                                                                 \
	X(file_deleter)                                                                \
	X(db_purge)                                                                    \
	X(work_generator)                                                              \
	X(working_set_manager)                                                         \
	X(trickle_handler)
#define DECLARE(name) int name##_main(int argc, char **argv);
DAEMONS(DECLARE)
#undef DECLARE

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} daemons[] = {
#define ROW(name) { #name, name##_main },
	DAEMONS(ROW)
#undef ROW
};

static const struct {
	const char *line, *before, *files, *sql, *rows, *left;
} passes[] = {
#define PASS(line, before, files, sql, rows, left)                                     \
	{ line, before, files, sql, rows, left },
#include "test/sql/passes.def"
#undef PASS
};

/* Directories of the project that passes read and write. */
static const char *const dirs[] = { "download", "upload", "results", ARCHIVE_DIR };

static void pass_file(const char *path, const char *text)
{
	char *to = arena_printf(&a, "%s/%s", cf.project_dir, path);

	ck_ok(
	    fs_mkdirs(arena_memdup(&a, to, (size_t)(strrchr(to, '/') - to)), 0755, &f));
	ck_ok(fs_write(to, text, strlen(text), 0644, &f));
	unit_written(to, 1577836800);
}

/* Makes "upload/a=text upload/b=text". */
static void pass_files(const char *list)
{
	char *copy = arena_strdup(&a, list), *save = NULL;

	for (char *p = strtok_r(copy, " ", &save); p != NULL;
	     p = strtok_r(NULL, " ", &save)) {
		char *text = strchr(p, '=');

		ck_assert_ptr_nonnull(text);
		*text = '\0';
		pass_file(p, text + 1);
	}
}

static int archived(const char *text, const char *word)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
		n++;
	return n;
}

/*
 * What is worth comparing of a file: of an archive of today the number of its workunits
 * and results, of a list of errors all but the times, else its text.
 */
static char *file_said(const char *name, char *text)
{
	if (strncmp(name, "purged-", 7) == 0 && text[0] == '<')
		return arena_printf(&a, "today=%d+%d",
		    archived(text, "<workunit_archive>"),
		    archived(text, "<result_archive>"));
	if (strcmp(name, "errors.tsv") == 0)
		for (char *p = text; p != NULL && *p != '\0'; p = strchr(p, '\n') + 1)
			memmove(p, strchr(p, '\t') + 1, strlen(strchr(p, '\t')));
	if (text_ends_with(name, ".gz") && (unsigned char)text[0] == 0x1f)
		return arena_printf(&a, "%s=packed", name);
	return arena_printf(&a, "%s=%s", name, text);
}

/* All files as "dir/name=text", a newline as |. */
static char *files_after(void)
{
	struct buf b = buf_new(&a);

	for (size_t d = 0; d < N(dirs); d++) {
		const char *dir = arena_printf(&a, "%s/%s", cf.project_dir, dirs[d]);
		char **names, *text;
		size_t n;

		ck_ok(fs_list(&a, dir, 1000, &names, &n, &f));
		for (size_t i = 0; i < n; i++) {
			const char *path = arena_printf(&a, "%s/%s", dir, names[i]);

			if (names[i][0] == '.')
				continue;
			if (fs_read(&a, path, 1 << 20, &text, NULL, &f) != OK)
				text = arena_printf(&a, "a directory");
			text = file_said(names[i], text);
			for (char *p = text; *p != '\0'; p++)
				*p = *p == '\n' || *p == '\t' ? '|' : *p;
			buf_printf(&b, "%s%s/%s", b.n == 0 ? "" : " ", dirs[d], text);
		}
	}
	return b.n == 0 ? arena_strdup(&a, "") : b.p;
}

/* Further elements of config.xml precede the name of the daemon. */
static const char *conf_write(const char *line)
{
	const char *end = line[0] == '<' ? strstr(line, "> ") : NULL;
	const char *p = end == NULL ? line : end + 2;

	pass_file("config.xml",
	    arena_printf(&a,
		"<boinc><config><long_name>Passes</long_name><master_url>http://p.example/</master_url>"
		"<download_url>http://p.example/download</download_url><upload_url>http://p.example/up</upload_url>"
		"<db_socket>%s</db_socket><db_name>fresh</db_name><db_user>root</db_user><db_passwd></db_passwd>"
		"<uldl_dir_fanout>0</uldl_dir_fanout><locality_store>db</locality_store><locality_scheduling/>"
		"<dont_generate_upload_certificates/>%.*s</config></boinc>\n",
		cf.db_socket, (int)(end == NULL ? 0 : end + 1 - line), line));
	return p;
}

/*
 * A handler that gives its first argument as every answer, with the id of the request
 * instead of ID, and quotation marks instead of `. What it is asked is in
 * results/asked.
 */
static const char handler[] =
    "answer=$(printf '%s' \"$1\" | tr '`' '\"')\n"
    "read -r hello && echo '{\"type\":\"hello\",\"protocol\":1}'\n"
    "while read -r line; do\n"
    "	id=${line##*'\"id\":'}; id=${id%%[,\\}]*}\n"
    "	printf '%s\\n' \"$answer\" | sed \"s/ID/$id/\"\n"
    "	printf '%s\\n' \"$line\" | tr '\"' '`' | sed \"s%$PWD/%%g; s/[0-9]\\{10\\}/TIME/g\" >>results/asked\n"
    "done\n";

static void passes_setup(void)
{
	char *dir;
	size_t n;

	setup();
	db_close(db);
	db = NULL;
	for (size_t i = 0; i < N(dirs); i++)
		ck_ok(fs_mkdirs(
		    arena_printf(&a, "%s/%s", cf.project_dir, dirs[i]), 0755, &f));
	pass_file("handler.sh", handler);
	for (size_t i = 0; i < 2; i++) {
		const char *name = i == 0 ? "in.xml" : "out.xml";

		dir = arena_printf(&a, "%s/templates", cf.project_dir);
		ck_ok(fs_mkdirs(dir, 0755, &f));
		ck_ok(fs_read(&a,
		    arena_printf(&a, "%s/samples/pulsar/%s",
			getenv("srcdir") != NULL ? getenv("srcdir") : ".", name),
		    1 << 20, &dir, &n, &f));
		pass_file(arena_printf(&a, "templates/%s", name), dir);
	}
	rows_replace("passes.sql");
}

static void passes_teardown(void)
{
	rows_close();
	ck_ok(fs_rmtree(cf.project_dir, &f));
	arena_free(&a);
}

/* In a child process: the daemon of the line, once. */
static int pass_run(void *line)
{
	char **words, **argv;
	int n = 0;

	dup2(1, 2);
	ck_ok(proc_split(&a, line, &words, &f));
	while (words[n] != NULL)
		n++;
	argv = NEWN(&a, char *, n + 5);
	memcpy(argv, words, (size_t)n * sizeof(*argv));
	argv[n++] = arena_strdup(&a, "--one_pass");
	argv[n++] = arena_strdup(&a, "--project");
	argv[n++] = arena_strdup(&a, cf.project_dir);
	for (size_t i = 0; i < N(daemons); i++)
		if (strcmp(daemons[i].name, argv[0]) == 0)
			return daemons[i].run(n, argv);
	return 99;
}

static char *pass_said(const char *line, int *status)
{
	char *path = arena_printf(&a, "%s/said", cf.project_dir), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	ck_ok(proc_call(pass_run, (void *)(uintptr_t)line, fd, status, &f));
	close(fd);
	ck_ok(fs_read(&a, path, 1 << 20, &text, NULL, &f));
	return text;
}

START_TEST(pass)
{
	const char *line = conf_write(passes[_i].line);
	char *said, *rows, *left;
	int status;

	if (passes[_i].before[0] != '\0')
		rows_selected(passes[_i].before);
	pass_files(passes[_i].files);
	said = pass_said(line, &status);
	rows = rows_selected(passes[_i].sql);
	for (char *p = rows; *p != '\0'; p++)
		*p = *p == '\n' ? ' ' : *p;
	left = files_after();
	if (getenv("PASSES_SHOW") != NULL) {
		printf("%s%s\n\"%s\", \"%s\")\n", said, line, rows, left);
		return;
	}
	ck_assert_msg(status == 0, "%s: status %d: %s", line, status, said);
	ck_assert_msg(strcmp(rows, passes[_i].rows) == 0, "%s: %s: %s gives %s: %s",
	    line, passes[_i].before, passes[_i].sql, rows, said);
	ck_assert_msg(strcmp(left, passes[_i].left) == 0, "%s: %s leaves %s: %s", line,
	    passes[_i].before, left, said);
}
END_TEST

UNIT_MAIN("daemons", {
	tcase_add_checked_fixture(tc, passes_setup, passes_teardown);
	ADD_LOOP(pass, N(passes));
})
