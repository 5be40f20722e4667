/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus-client: one real host.  Each round looks at the rules, does at most one
 * transfer or RPC, reaps and starts tasks, and saves the state if it changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/client.h"
#include "client/sim.h"
#include "config.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { ROUND_MS = 200, SAVE_RETRY_MS = 10000, EXIT_USAGE = 2, EXIT_ERRORS = 1 };

/* --- tasks --- */

static void
reap(struct client *c)
{
	for (size_t i = 0; i < c->st->ntasks; i++)
		if (c->st->tasks[i].pid != 0)
			task_poll(c, &c->st->tasks[i]);
}

/*
 * False as long as it fails: then nothing goes over the network, or a host that is
 * killed would have forgotten what the project was told.
 */
static bool
save(struct client *c)
{
	char **dropped;
	size_t n;

	if (!c->changed)
		return true;
	if (clock_mono_ms() < c->save_after_ms)
		return false;
	c->st->clock = c->now;
	if (state_save(
		&c->keep, c->state_path, &c->st, &c->a, &dropped, &n, &c->fail) != OK) {
		log_fail("state", &c->fail);
		c->save_after_ms = clock_mono_ms() + SAVE_RETRY_MS;
		return false;
	}
	c->changed = false;
	for (size_t i = 0; i < n; i++)
		if (fs_unlink(file_path(c, dropped[i]), &c->fail) != OK)
			log_fail("unlink", &c->fail);
	return true;
}

static void
run(struct client *c)
{
	while (
	    !proc_stopping && (c->o.max_errors == 0 || c->errors < c->o.max_errors)) {
		bool busy = false;

		c->now = clock_now();
		state_clock(c->st, c->now);
		reap(c);
		decide_tasks(c);
		if (save(c) && transfer_step(c))
			busy = true;
		if (save(c) && decide_contact(c))
			busy = true;
		save(c);
		arena_reset(&c->a);
		if (!busy)
			clock_nap_ms(ROUND_MS);
	}
	task_stop_all(c);
	c->save_after_ms = 0;
	save(c);
}

/* --- start --- */

static enum err
attach(struct client *c)
{
	char *url = c->o.url == NULL ? NULL : url_canonical(&c->process, c->o.url);
	enum err e = state_load(&c->keep, c->state_path, &c->st, &c->fail);

	if (e == OK && url != NULL && strcmp(url, c->st->master_url) != 0)
		return FAIL(&c->fail, E_CONFIG,
		    "%s belongs to %s; use another --dir for %s", c->dir,
		    c->st->master_url, url);
	if (e == OK && c->o.key != NULL &&
	    strcmp(c->o.key, c->st->authenticator) != 0) {
		c->st->authenticator = arena_strdup(&c->keep, c->o.key);
		c->changed = true;
	}
	if (e != E_NOTFOUND)
		return e;
	if (url == NULL || c->o.key == NULL)
		return FAIL(&c->fail, E_CONFIG,
		    "%s is a new host: give --url URL (http or https) and --key KEY",
		    c->dir);
	c->st = NEW(&c->keep, struct state);
	c->st->master_url = url;
	c->st->authenticator = arena_strdup(&c->keep, c->o.key);
	c->st->host_cpid = arena_alloc(&c->keep, MD5_HEX);
	random_hex(c->st->host_cpid, 32);
	c->changed = true;
	return OK;
}

static enum err
set_up(struct client *c)
{
	static char real[4096];
	enum err e = fs_mkdirs(c->o.dir, 0755, &c->fail);
	int lock;

	if (e != OK)
		return e;
	if (realpath(c->o.dir, real) == NULL)
		return FAIL_ERRNO(&c->fail, "%s", c->o.dir);
	c->dir = real;
	task_mark(c);
	log_open("client", arena_printf(&c->process, "%s/client.log", real), LOG_INFO);
	c->state_path = arena_printf(&c->process, "%s/client_state.json", real);
	e = fs_lock(arena_printf(&c->process, "%s/lock", real), &lock, &c->fail);
	if (e == E_RACE)
		return FAIL(&c->fail, E_RACE, "another client runs in %s", real);
	if (e == OK)
		e = attach(c);
	if (e != OK)
		return e;
	c->files_dir = arena_printf(&c->process, "%s/projects/%s", real,
	    url_to_dir(&c->process, c->st->master_url));
	c->events = open(arena_printf(&c->process, "%s/events.log", real),
	    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (c->events < 0)
		return FAIL_ERRNO(&c->fail, "%s/events.log", real);
	e = fs_mkdirs(c->files_dir, 0755, &c->fail);
	if (e == OK)
		e = net_open("BOINC client (x86_64-pc-linux-gnu 8.0.0) (locus-client)",
		    &c->net, &c->fail);
	return e;
}

static void
usage(FILE *out)
{
	fprintf(out,
	    "usage: locus-client --url URL --key KEY --dir DIR [--ncpus N]\n"
	    "           [--backoff MIN:MAX] [--buffer MIN:EXTRA] [--max-errors N] "
	    "[--platform NAME] [--policy NAME]\n"
	    "Attaches DIR, a host, to the project at URL with the account key KEY, and "
	    "works\n"
	    "until it is told to stop (SIGTERM).  URL and KEY are needed the first "
	    "time only.\n");
}

/* "2:30" into two numbers of seconds, the first not over the second unless any order
 * will do. */
static bool
two_numbers(const char *text, double *a, double *b)
{
	char *end;

	*a = strtod(text, &end);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	*b = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*a) && isfinite(*b) && *a >= 0 &&
	       *b >= 0;
}

static bool
one_number(const char *text, double least, double *x)
{
	char *end;

	*x = strtod(text, &end);
	return end != text && *end == '\0' && *x >= least && *x <= 4096;
}

static bool
take_option(struct client *c, int opt, const char *arg)
{
	double x;

	switch (opt) {
	case 'u':
		c->o.url = arg;
		return true;
	case 'k':
		c->o.key = arg;
		return true;
	case 'd':
		c->o.dir = arg;
		return true;
	case 'p':
		c->platform = arena_strdup(&c->process, arg);
		return true;
	case 'n':
		return one_number(arg, 0.01, &c->o.ncpus);
	case 'b':
		if (!two_numbers(arg, &c->o.rpc_backoff.min_s, &c->o.rpc_backoff.max_s))
			return false;
		c->o.transfer_backoff = c->o.rpc_backoff;
		return true;
	case 'P':
		c->o.policy = policy_find(arg);
		return c->o.policy != NULL;
	case 'f':
		return two_numbers(arg, &c->o.min_buffer_s, &c->o.extra_buffer_s);
	case 'e':
		if (!one_number(arg, 0, &x))
			return false;
		c->o.max_errors = (int32_t)x;
		return true;
	default:
		return false;
	}
}

/* -1: go on; else the exit code. */
static int
options(struct client *c, int argc, char **argv)
{
	static const struct option longs[] = { { "url", 1, NULL, 'u' },
		{ "key", 1, NULL, 'k' }, { "dir", 1, NULL, 'd' },
		{ "ncpus", 1, NULL, 'n' }, { "backoff", 1, NULL, 'b' },
		{ "buffer", 1, NULL, 'f' }, { "max-errors", 1, NULL, 'e' },
		{ "platform", 1, NULL, 'p' }, { "policy", 1, NULL, 'P' },
		{ "help", 0, NULL, 'h' }, { "version", 0, NULL, 'V' },
		{ NULL, 0, NULL, 0 } };
	int opt;

	while ((opt = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			return 0;
		}
		if (opt == 'V') {
			printf("locus-client %s\n", PACKAGE_VERSION);
			return 0;
		}
		if (!take_option(c, opt, optarg)) {
			if (opt != '?')
				fprintf(stderr,
				    "locus-client: \"%s\" is not a usable value\n",
				    optarg);
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (c->o.dir == NULL || optind != argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	return -1;
}

int
main(int argc, char **argv)
{
	static struct client c;
	uint64_t seed;
	int code;
	enum err e;

	if (argc > 1 && strcmp(argv[1], "sim") == 0)
		return sim_main(argc - 1, argv + 1);
	c.o = (struct client_options){ .ncpus = (double)sysconf(_SC_NPROCESSORS_ONLN),
		.min_buffer_s = 8640,
		.extra_buffer_s = 43200,
		.rpc_backoff = backoff_rpc,
		.transfer_backoff = backoff_transfer,
		.policy = policies[0] };
	c.platform = arena_strdup(&c.process, "x86_64-pc-linux-gnu");
	c.now = clock_now();
	code = options(&c, argc, argv);
	if (code >= 0)
		return code;
	proc_signals();
	random_bytes(&seed, sizeof(seed));
	c.rng = rng_seed(seed);
	e = set_up(&c);
	if (e != OK) {
		fprintf(stderr, "locus-client: %s\n", c.fail.detail);
		return err_exit(e);
	}
	log_info("host %lld of %s, seed %llu", (long long)c.st->hostid,
	    c.st->master_url, (unsigned long long)seed);
	task_clean_up(&c);
	if (c.st->clock != 0)
		transfer_clean_up(&c);
	state_clock(c.st, c.now);
	benchmark(&c);
	run(&c);
	net_close(c.net);
	return c.o.max_errors != 0 && c.errors >= c.o.max_errors ? EXIT_ERRORS : 0;
}
