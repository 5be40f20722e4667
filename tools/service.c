/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the command lines of the services and checks whether each is ready. A daemon
 * whose program is missing is still a service, so that status shows it with the reason.
 */
#include "tools/service.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/create.h"
#include "tools/program.h"
#include "tools/upstream.h"
#include "lib/banned.h"

enum { DAEMON_GRACE_S = 15, WEB_GRACE_S = 10, NGINX_LIMIT_MAX = 65535 };

static const char *const apache_names[] = { "apache2", "httpd", NULL };

static char *log_path(struct arena *a, const struct conf *cf, const char *file)
{
	return file[0] == '/' ? arena_strdup(a, file) :
	                        arena_printf(a, "%s/%s", cf->log_dir, file);
}

char *database_socket_dir(struct arena *a, const struct conf *cf)
{
	const char *slash = strrchr(cf->db_socket, '/');

	if (!cf->private_servers || slash == NULL)
		return cf->run_dir;
	return arena_memdup(a, cf->db_socket, (size_t)(slash - cf->db_socket));
}

/*
 * The web server's configuration names these sockets and is written only once, so
 * db_socket, which an admin may change, does not move them. Those of an installed
 * project are in a directory that gives them to the web server's group, which the
 * account itself may not do.
 */
char *socket_dir(struct arena *a, const struct conf *cf)
{
	if (conf_is_installed(cf))
		return arena_printf(a, "%s/sockets", conf_installation(a, cf).run_dir);
	return strlen(cf->run_dir) <= RUN_DIR_MOST ? cf->run_dir :
	                                             database_socket_dir(a, cf);
}

char *service_socket(struct arena *a, const struct conf *cf, const char *name)
{
	return arena_printf(a, "%s/%s.sock", socket_dir(a, cf), name);
}

char *web_slow_limit(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%lld", (long long)cf->max_slow_connections_per_address);
}

char *web_nginx_limit(struct arena *a, const struct conf *cf)
{
	int64_t limit = cf->max_slow_connections_per_address;

	if (limit == 0 || limit > NGINX_LIMIT_MAX)
		limit = NGINX_LIMIT_MAX;
	return arena_printf(a, "%lld", (long long)limit);
}

char *web_trusted_proxies(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%lld", (long long)cf->trusted_proxies);
}

static enum err service_web(
    struct arena *a, const struct conf *cf, struct service *s, struct fail *f)
{
	char *program = program_system(a, apache_names);
	char *argv[] = { program, arena_strdup(a, "-C"),
		arena_printf(a, "Define " WEB_DIR_VARIABLE " \"%s\"", cf->project_dir),
		arena_strdup(a, "-C"),
		arena_printf(
		    a, "Define " WEB_SOCKETS_VARIABLE " \"%s\"", socket_dir(a, cf)),
		arena_strdup(a, "-C"),
		arena_printf(
		    a, "Define " WEB_SLOW_VARIABLE " %s", web_slow_limit(a, cf)),
		arena_strdup(a, "-C"),
		arena_printf(a, "Define " WEB_PROXIES_VARIABLE " %s",
		    web_trusted_proxies(a, cf)),
		arena_strdup(a, "-f"),
		arena_printf(a, "%s/apache/httpd.conf", cf->project_dir),
		arena_strdup(a, "-D"), arena_strdup(a, "FOREGROUND"), NULL };

	if (program == NULL)
		return FAIL(f, E_CONFIG,
		    "Apache is not installed (Debian: apt-get install apache2)");
	*s = (struct service){ .name = arena_strdup(a, "apache2"),
		.kind = SERVICE_WEB,
		.argv = arena_memdup(a, argv, sizeof(argv)),
		.log = log_path(a, cf, "apache2.log"),
		.pid_file = arena_printf(a, "%s/apache.pid", socket_dir(a, cf)),
		.ready = READY_PORT,
		.port = (int)cf->private_port,
		.stop_signal = SIGTERM,
		.grace_s = WEB_GRACE_S };
	return OK;
}

struct fcgi_service { /* a program with several processes on one socket */
	const char *program, *socket;
	int64_t processes, workers; /* workers 0: it takes none of these options */
};

/* Process number i of the program, counted from 0. */
static void service_fcgi(struct arena *a, const struct conf *cf,
    const struct fcgi_service *of, int64_t i, struct service *s)
{
	char *program = program_find(a, NULL, of->program);
	char *argv[] = { program,
		of->workers == 0 ? NULL : arena_strdup(a, "--workers"),
		arena_printf(a, "%lld", (long long)of->workers),
		arena_strdup(a, "--connections"),
		arena_printf(a, "%lld", (long long)cf->max_connections),
		arena_strdup(a, "--buffer"),
		arena_printf(a, "%lld", (long long)cf->request_buffer_bytes), NULL };

	*s = (struct service){
		.name = i == 0 ?
		            arena_strdup(a, of->program) :
		            arena_printf(a, "%s-%lld", of->program, (long long)i + 1),
		.kind = SERVICE_FCGI,
		.argv = program == NULL ? NULL : arena_memdup(a, argv, sizeof(argv)),
		.why = arena_strdup(a, "its program is not installed"),
		.log = arena_printf(a, "%s/%s.log", cf->log_dir, of->program),
		.ready = READY_TOLD,
		.socket_name = arena_strdup(a, of->socket),
		.ours = true,
		.takes_log = of->workers == 0,
		.listen = service_socket(a, cf, of->socket),
		.stop_signal = SIGTERM,
		.grace_s = DAEMON_GRACE_S,
	};
}

static size_t services_fcgi(struct arena *a, const struct conf *cf, struct service *s)
{
	const struct fcgi_service all[] = {
		{ "file_upload_handler", "upload", 1, 0 },
		{ "scheduler", "scheduler", cf->scheduler_processes,
		    cf->scheduler_workers },
		{ "web", "web", cf->web_processes, cf->web_workers },
	};
	size_t k = 0;

	for (size_t i = 0; i < N(all); i++)
		for (int64_t j = 0; j < all[i].processes; j++)
			service_fcgi(a, cf, &all[i], j, &s[k++]);
	return k;
}

/* Is the program one of those that were installed with this one? */
static bool is_ours(struct arena *a, const char *program)
{
	const char *same = program == NULL ?
	                       NULL :
	                       program_find(a, NULL, text_base_name(program));

	return same != NULL && strcmp(same, program) == 0;
}

static enum err service_daemon(struct arena *a, const struct conf *cf,
    const struct conf_daemon *d, struct service *s, struct fail *f)
{
	struct upstream u;
	char **argv, *program;
	enum err e = proc_split(a, d->cmd, &argv, f);

	if (e != OK)
		return FAIL(
		    f, E_CONFIG, "%s: daemon %s: %.200s", cf->path, d->name, f->detail);
	/* A BOINC program would work on the same rows by other rules. */
	u = upstream_command(a, argv);
	if (u.theirs)
		argv = u.argv;
	if (argv == NULL) {
		*s = (struct service){ 0 };
		return OK;
	}
	program = program_find(a, u.theirs ? NULL : cf, argv[0]);
	*s = (struct service){ .name = d->name,
		.kind = SERVICE_DAEMON,
		.argv = program == NULL ? NULL : argv,
		.why = arena_printf(a,
		    "there is no program %s in the project's bin, among the installed ones or on PATH",
		    argv[0]),
		.log = log_path(a, cf, d->output),
		.ours = is_ours(a, program),
		.takes_log = is_ours(a, program),
		.ready = is_ours(a, program) ? READY_TOLD : READY_ALIVE,
		.stop_signal = SIGTERM,
		.grace_s = DAEMON_GRACE_S };
	argv[0] = program;
	return OK;
}

char **service_command(struct arena *a, const struct service *s)
{
	size_t n = 0;
	char **argv;

	if (s->argv == NULL)
		return NULL;
	while (s->argv[n] != NULL)
		n++;
	argv = NEWN(a, char *, n + 3);
	memcpy(argv, s->argv, n * sizeof(*argv));
	if (s->takes_log) {
		argv[n++] = arena_strdup(a, "--log");
		argv[n] = s->log;
	}
	return argv;
}

static int by_kind(const void *x, const void *y)
{
	const struct service *a = x, *b = y;

	return (a->kind > b->kind) - (a->kind < b->kind);
}

enum err services_of(struct arena *a, const struct conf *cf, struct service **list,
    size_t *n, struct fail *f)
{
	size_t most = cf->ndaemons + 3 +
	              (size_t)(cf->scheduler_processes + cf->web_processes);
	struct service *s = NEWN(a, struct service, most);
	enum err e = OK;
	size_t k = 0;

	if (cf->private_servers) {
		e = service_database(a, cf, &s[k++], f);
		if (e == OK)
			e = service_web(a, cf, &s[k++], f);
	}
	k += services_fcgi(a, cf, s + k);
	for (size_t i = 0; i < cf->ndaemons && e == OK; i++)
		if (!cf->daemons[i].disabled) {
			e = service_daemon(a, cf, &cf->daemons[i], &s[k], f);
			k += e == OK && s[k].name != NULL;
		}
	for (size_t i = 0; i < k && e == OK; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(s[i].name, s[j].name) == 0)
				return FAIL(f, E_CONFIG,
				    "%s: no daemon may be called \"%s\"", cf->path,
				    s[i].name);
	qsort(s, k, sizeof(*s), by_kind);
	*list = s;
	*n = k;
	return e;
}

static bool connects(const struct sockaddr *sa, socklen_t len, bool greets)
{
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool yes;

	if (fd < 0)
		return false;
	yes = connect(fd, sa, len) == 0 && (!greets || poll(&p, 1, 1000) == 1);
	close(fd);
	return yes;
}

static bool socket_greets(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(un.sun_path))
		return false;
	memcpy(un.sun_path, path, strlen(path) + 1);
	return connects((const struct sockaddr *)&un, sizeof(un), true);
}

static bool port_accepts(int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return connects((const struct sockaddr *)&in, sizeof(in), false);
}

bool service_ready(const struct service *s)
{
	switch (s->ready) {
	case READY_GREETS:
		return socket_greets(s->socket);
	case READY_PORT:
		return port_accepts(s->port);
	case READY_TOLD:
		return false;
	case READY_ALIVE:
		break;
	}
	return true;
}
