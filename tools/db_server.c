/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and command lines of private database servers. The name of the executable
 * tells MySQL from MariaDB: where mysqld is MariaDB's, it is a link to mariadbd.
 */
#include "tools/db_server.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "db/schema.h"
#include "lib/fs.h"
#include "lib/log_reader.h"
#include "lib/proc.h"
#include "tools/program.h"
#include "lib/banned.h"

enum { DATABASE_GRACE_S = 60 };

static const char *const any_names[] = { "mariadbd", "mysqld", NULL };
static const char *const mysql_names[] = { "mysqld", NULL };
static const char *const install_names[] = { "mariadb-install-db", "mysql_install_db",
	NULL };

static char *data_file(struct arena *a, const struct conf *cf, const char *name)
{
	return arena_printf(a, "%s/mysql/%s", cf->project_dir, name);
}

/* The program that the option names: a path, or a name to look up. */
static char *program_asked(struct arena *a, const char *asked)
{
	const char *const names[] = { asked, NULL };
	char real[PATH_MAX];

	if (strchr(asked, '/') == NULL)
		return program_system(a, names);
	return realpath(asked, real) == NULL ? NULL : arena_strdup(a, real);
}

enum err db_server_find(
    struct arena *a, const struct conf *cf, struct db_server *s, struct fail *f)
{
	bool made = fs_exists(data_file(a, cf, "ibdata1"));
	bool by_mysql = made && fs_exists(data_file(a, cf, "mysql.ibd"));
	const char *asked = cf->private_db_server, *slash;

	s->program = asked[0] != '\0' ?
	                 program_asked(a, asked) :
	                 program_system(a, by_mysql ? mysql_names : any_names);
	if (s->program == NULL)
		return FAIL(f, E_CONFIG,
		    "the database server %s is not installed (Debian: apt-get install mariadb-server, or mysql-server)",
		    asked[0] != '\0' ? asked :
		    by_mysql         ? "mysqld" :
				       "mariadbd");
	slash = strrchr(s->program, '/');
	s->mysql = strstr(slash == NULL ? s->program : slash, "mariadb") == NULL;
	s->name = s->mysql ? "mysqld" : "mariadbd";
	if (made && s->mysql != by_mysql)
		return FAIL(f, E_CONFIG,
		    "%s/mysql was created by %s, but %s is another server; install the former, or name its program in <private_db_server>",
		    cf->project_dir, by_mysql ? "MySQL" : "MariaDB", s->program);
	return OK;
}

/*
 * A request writes some 37 kB of redo. When the log is nearly full, dirty pages must
 * be written to make room: with 32 MB a request takes a fifth more of the server's CPU
 * (doc/performance.md).
 */
#define REDO_MARIADB "--innodb-log-file-size=128M"
#define REDO_MYSQL   "--innodb-redo-log-capacity=128M"

/* --- the data directory --- */

/* Runs a program to its end; its output goes to the server's log. */
static enum err run_installer(struct arena *a, const struct conf *cf,
    const struct db_server *s, const char *const *argv, struct fail *f)
{
	const char *log = arena_printf(a, "%s/%s.log", cf->log_dir, s->name);
	struct proc_told told;

	TRY(proc_collect(a,
	    &(const struct proc_run){
		.argv = argv, .dir = cf->project_dir, PROC_LOG(log) },
	    0, 0, &told, f));
	if (told.status != 0)
		return FAIL(
		    f, E_SYS, "%s failed: %.300s", argv[0], log_find_error(a, log));
	return OK;
}

static enum err install_mariadb(struct arena *a, const struct conf *cf,
    const struct db_server *s, const char *os_user, struct fail *f)
{
	const char *argv[] = { program_system(a, install_names), "--no-defaults",
		arena_printf(a, "--datadir=%s/mysql", cf->project_dir),
		arena_printf(a, "--tmpdir=%s/tmp", cf->project_dir),
		"--auth-root-authentication-method=socket",
		arena_printf(a, "--auth-root-socket-user=%s", os_user),
		"--skip-test-db", "--skip-name-resolve",
		"--force", /* works even if the host name does not resolve */
		/* TMPDIR in the environment may be root's. */
		arena_printf(a, "--tmpdir=%s", cf->run_dir), REDO_MARIADB,
		"--innodb-undo-tablespaces=0", NULL };

	if (argv[0] == NULL)
		return FAIL(f, E_CONFIG,
		    "%s is not installed (Debian: apt-get install mariadb-server)",
		    install_names[0]);
	return run_installer(a, cf, s, argv, f);
}

/* MySQL's root has no password at first; --init-file replaces the accounts before
 * anybody can connect. */
static enum err install_mysql(struct arena *a, const struct conf *cf,
    const struct db_server *s, const char *os_user, struct fail *f)
{
	const char *first = arena_printf(a, "%s/first.sql", cf->run_dir);
	const char *argv[] = { s->program, "--no-defaults", "--initialize-insecure",
		arena_printf(a, "--init-file=%s", first),
		arena_printf(a, "--datadir=%s/mysql", cf->project_dir),
		arena_printf(a, "--tmpdir=%s/tmp", cf->project_dir),
		"--secure-file-priv=NULL", REDO_MYSQL, NULL };
	const char *sql = schema_mysql_accounts(a, os_user);
	enum err e = fs_write(first, sql, strlen(sql), 0600, f);

	if (e == OK)
		e = run_installer(a, cf, s, argv, f);
	fs_unlink(first, NULL);
	return e;
}

enum err db_server_install(struct arena *a, const struct conf *cf,
    const struct db_server *s, const char *os_user, struct fail *f)
{
	return s->mysql ? install_mysql(a, cf, s, os_user, f) :
	                  install_mariadb(a, cf, s, os_user, f);
}

/* --- the service --- */

enum { OPTIONS_MAX = 24 };

/* Each list ends with NULL. */
static const char *const common_options[] = { "--skip-networking",
	"--skip-name-resolve", "--performance-schema=OFF",
	"--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=1",
	"--character-set-server=utf8mb4", "--max-connections=400", NULL };
static const char *const mariadb_options[] = { REDO_MARIADB,
	"--innodb-undo-tablespaces=0",
	/* Many connections on few cores: saves a fifth of the CPU (doc/performance.md).
	 * After this many ms behind a long statement the pool adds a thread. */
	"--thread-handling=pool-of-threads", "--thread-pool-stall-limit=60", NULL };
static const char *const mysql_options[] = { REDO_MYSQL,
	/* The project uses neither the binary log nor the X protocol. */
	"--skip-log-bin", "--mysqlx=OFF",
	/* Debian's default is a directory that only the account mysql may read. */
	"--secure-file-priv=NULL", NULL };

static size_t options_add(
    struct arena *a, char **argv, size_t n, const char *const *options)
{
	for (; *options != NULL; options++)
		argv[n++] = arena_strdup(a, *options);
	return n;
}

enum err service_database(
    struct arena *a, const struct conf *cf, struct service *s, struct fail *f)
{
	struct db_server server;
	enum err e = db_server_find(a, cf, &server, f);
	char **argv = NEWN(a, char *, OPTIONS_MAX);
	size_t n = 0;

	if (e != OK)
		return e;
	argv[n++] = server.program;
	argv[n++] = arena_strdup(a, "--no-defaults");
	argv[n++] = arena_printf(a, "--datadir=%s/mysql", cf->project_dir);
	/* A private directory: at start a server removes all temporary tables there,
	 * whoever owns them. */
	argv[n++] = arena_printf(a, "--tmpdir=%s/tmp", cf->project_dir);
	argv[n++] = arena_printf(a, "--socket=%s", cf->db_socket);
	argv[n++] = arena_printf(a, "--pid-file=%s/%s.pid", cf->run_dir, server.name);
	n = options_add(a, argv, n, common_options);
	options_add(a, argv, n, server.mysql ? mysql_options : mariadb_options);
	*s = (struct service){ .name = arena_strdup(a, server.name),
		.kind = SERVICE_DATABASE,
		.argv = argv,
		.log = arena_printf(a, "%s/%s.log", cf->log_dir, server.name),
		.ready = READY_GREETS,
		.socket = cf->db_socket,
		.stop_signal = SIGTERM,
		.grace_s = DATABASE_GRACE_S };
	return OK;
}
