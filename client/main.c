/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus-client: one real host. Each round applies the rules, does at most one transfer
 * and one RPC, reaps and starts tasks, and saves the state if it changed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/app.h"
#include "client/client.h"
#include "client/control/control.h"
#include "client/control/server.h"
#include "client/sim/sim.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/terminal.h"
#include "lib/banned.h"

enum { ROUND_MS = 200, EXIT_ERRORS = 1 };

/* --- rounds --- */

static void poll_tasks(struct client *c)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++)
			if (p->tasks[k].pid != 0)
				task_poll(c, p, &p->tasks[k]);
	}
}

static bool connected(const struct client *c)
{
	return c->hindered.network == HINDER_NOTHING;
}

static void run_rounds(struct client *c)
{
	while (!proc_stopping &&
	       (c->options.max_errors == 0 || c->errors < c->options.max_errors)) {
		bool busy = false;

		c->now = clock_now();
		state_clock(c->state, c->now);
		orders_read(c);
		preferences_look(c);
		allowed_update(c);
		control_serve(c);
		availability_measure(c);
		expire_files(c);
		app_beat_all(c);
		poll_tasks(c);
		app_prefs_changed(c);
		enact_tasks(c);
		throttle_tasks(c);
		if (connected(c) && client_save(c) && transfer_step(c))
			busy = true;
		if (connected(c) && client_save(c) && enact_contact(c))
			busy = true;
		project_merge_twins(c);
		client_save(c);
		arena_reset(&c->scratch);
		orders_read(c); /* those read before went with the arena */
		if (!busy)
			control_nap(c, ROUND_MS);
	}
	control_close(c);
	task_stop_all(c);
	c->save_after_ms = 0;
	client_save(c);
}

/* --- start --- */

static enum err set_up_client(struct client *c)
{
	static char real[4096];
	bool fresh = !fs_exists(c->options.dir);
	enum err e = fs_mkdirs(c->options.dir, 0755, &c->fail);
	int lock;

	if (e == OK && fresh)
		e = fs_mark_own(c->options.dir, &c->fail);
	if (e != OK)
		return e;
	if (realpath(c->options.dir, real) == NULL)
		return FAIL_ERRNO(&c->fail, "%s", c->options.dir);
	c->dir = real;
	task_mark(c);
	c->messages = messages_open(&c->process, !c->options.quiet);
	c->started_at = c->now;
	log_open("client", arena_printf(&c->process, "%s/client.log", real), LOG_INFO);
	c->state_path = arena_printf(&c->process, "%s/client_state.json", real);
	e = fs_lock(arena_printf(&c->process, "%s/lock", real), &lock, &c->fail);
	if (e == E_RACE)
		return FAIL(&c->fail, E_RETRY, "another client is running in %s", real);
	if (e != OK)
		return e;
	c->events = open(arena_printf(&c->process, "%s/events.log", real),
	    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (c->events < 0)
		return FAIL_ERRNO(&c->fail, "%s/events.log", real);
	c->root = "";
	c->ram_bytes = hostinfo_ram_bytes();
	return slots_make(c);
}

static int detach_and_save(struct client *c)
{
	enum err e = client_detach(c);

	if (e == OK && client_save(c))
		return 0;
	fprintf(stderr, "locus-client: %s\n", c->fail.detail);
	return err_exit(e == OK ? E_SYS : e);
}

/* --- while an exchange runs --- */

static size_t watched_fds(void *ctx, struct pollfd *fds, size_t most)
{
	return most < CONTROL_FDS ? 0 : control_fds(ctx, fds);
}

static bool look_around(void *ctx)
{
	control_look(ctx);
	app_beat_all(ctx);
	throttle_tasks(ctx);
	return control_waiting(ctx);
}

/* Returns the exit status. */
static int run_host(struct client *c, uint64_t seed)
{
	net_set_proxy(c->net, c->options.proxy, c->options.no_proxy);
	net_set_watch(c->net, &(struct net_watch){ watched_fds, look_around, c });
	for (size_t i = 0; i < c->state->nprojects; i++)
		log_info("host %lld of %s, seed %llu",
		    (long long)c->state->projects[i].hostid,
		    c->state->projects[i].master_url, (unsigned long long)seed);
	task_clean_up(c);
	if (c->state->clock != 0)
		transfer_clean_up(c);
	state_clock(c->state, c->now);
	hostinfo_benchmark(c);
	control_open(c);
	run_rounds(c);
	net_close(c->net);
	return c->options.max_errors != 0 && c->errors >= c->options.max_errors ?
	           EXIT_ERRORS :
	           0;
}

static enum err attach_and_connect(struct client *c)
{
	TRY(client_attach(c));
	return net_open("BOINC client (x86_64-pc-linux-gnu 8.0.0) (locus-client)",
	    &c->net, &c->fail);
}

int main(int argc, char **argv)
{
	static struct client c;
	uint64_t seed;
	int code;
	enum err e;

	if (argc > 1 && strcmp(argv[1], "sim") == 0)
		return sim_main(argc - 1, argv + 1);
	terminal_guard();
	if (command_given(argc, argv))
		return command_main(argc, argv);
	c.now = clock_now();
	code = client_options(&c, argc, argv);
	if (code >= 0)
		return code;
	proc_no_core();
	proc_signals();
	random_bytes(&seed, sizeof(seed));
	c.rng = rng_seed(seed);
	e = set_up_client(&c);
	if (e == OK && c.options.detach != NULL)
		return detach_and_save(&c);
	if (e == OK)
		e = attach_and_connect(&c);
	if (e != OK) {
		fprintf(stderr, "locus-client: %s\n", c.fail.detail);
		return err_exit(e);
	}
	return run_host(&c, seed);
}
