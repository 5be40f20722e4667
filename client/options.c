/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a real host. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client/client.h"
#include "config.h"
#include "lib/args.h"
#include "lib/text.h"
#include "proto/coproc.h"
#include "lib/banned.h"

enum { COPROC_NAME_MAX = 63, NICE_MOST = 19 };
static const double COPROC_FLOPS = 1e11, RAM_PART = 0.9;

/* The project that an option of one refers to: the last one, or a new one if that has
 * the option already. */
static struct attach *attach_for(struct client *c, bool (*has)(const struct attach *))
{
	size_t n = c->options.nattach, cap = n;

	if (n > 0 && !has(&c->options.attach[n - 1]))
		return &c->options.attach[n - 1];
	PUSH(&c->process, c->options.attach, c->options.nattach,
	    cap) = (struct attach){ .share = -1 };
	return &c->options.attach[n];
}

static bool has_url(const struct attach *a)
{
	return a->url != NULL;
}

static bool has_key(const struct attach *a)
{
	return a->key != NULL;
}

static bool has_share(const struct attach *a)
{
	return a->share >= 0;
}

static const char *take_project_url(void *c, char *text)
{
	attach_for(c, has_url)->url = text;
	return NULL;
}

static const char *take_account_key(void *c, char *text)
{
	attach_for(c, has_key)->key = text;
	return NULL;
}

static bool number_within(const char *text, double least, double most, double *x)
{
	return text_f64(text, x) && *x >= least && *x <= most;
}

static const char *take_share(void *c, char *text)
{
	return number_within(text, 0, 1e12, &attach_for(c, has_share)->share) ?
	           NULL :
	           "a number from 0 to 1e+12";
}

/* Parses "2:30" into two non-negative numbers of seconds. */
static const char *take_two_numbers(char *text, double *a, double *b)
{
	char *second = strchr(text, ':');

	if (second != NULL)
		*second++ = '\0';
	if (second != NULL && number_within(text, 0, INFINITY, a) &&
	    number_within(second, 0, INFINITY, b))
		return NULL;
	if (second != NULL)
		second[-1] = ':';
	return "two numbers of seconds, such as 60:3600";
}

static const char *take_backoff(void *row, char *text)
{
	struct backoff *b = &((struct client *)row)->options.backoff;

	return take_two_numbers(text, &b->min_s, &b->max_s);
}

static const char *take_buffer(void *row, char *text)
{
	struct client_options *o = &((struct client *)row)->options;

	o->own_buffer = true;
	return take_two_numbers(text, &o->min_buffer_s, &o->extra_buffer_s);
}

/* "NVIDIA:2" or "NVIDIA:2:1e13". */
static bool parse_coproc(struct client *c, const char *arg)
{
	struct coproc *k = &c->options.coproc[c->options.ncoprocs];
	char *rest = arena_strdup(&c->process, arg), *name = strsep(&rest, ":"),
	     *count = strsep(&rest, ":");

	if (count == NULL || *name == '\0' || strlen(name) > COPROC_NAME_MAX ||
	    strpbrk(name, " <>&") != NULL ||
	    c->options.ncoprocs == N(c->options.coproc))
		return false;
	k->flops = COPROC_FLOPS;
	if ((rest != NULL && !number_within(rest, 1, 1e30, &k->flops)) ||
	    !number_within(count, 1, COPROC_COUNT_MAX, &k->count) ||
	    k->count != floor(k->count))
		return false;
	k->name = arena_strdup(&c->process, coproc_type(name));
	if (strcmp(k->name, resource_names[RESOURCE_CPU]) == 0)
		return false;
	for (size_t i = 0; i < c->options.ncoprocs; i++)
		if (strcmp(c->options.coproc[i].name, k->name) == 0)
			return false;
	c->options.ncoprocs++;
	return true;
}

static const char *take_coproc(void *c, char *text)
{
	return parse_coproc(c, text) ? NULL : "TYPE:COUNT[:FLOPS], each type once";
}

static const char *take_policy(void *row, char *name)
{
	struct client_options *o = &((struct client *)row)->options;

	o->policy = policy_find(name);
	return o->policy != NULL ? NULL : "the name of a policy";
}

/* HOST:PORT, or a URL of a kind of proxy; "" means none. */
static const char *take_proxy(void *row, char *text)
{
	static const char *const kinds[] = { "http://", "https://", "socks4://",
		"socks4a://", "socks5://", "socks5h://" };
	bool valid = strstr(text, "://") == NULL && strpbrk(text, " \t\n") == NULL;

	((struct client *)row)->options.proxy = text;
	for (size_t i = 0; i < N(kinds) && !valid; i++)
		valid = strncmp(text, kinds[i], strlen(kinds[i])) == 0 &&
		        text[strlen(kinds[i])] != '\0';
	return valid ? NULL : "HOST:PORT, or the URL of a proxy";
}

#define OF(member) FIELD_OF(struct client, options.member)
static const struct field client_fields[] = {
	{ "dir", OF(dir), "DIR", "directory of the host", .required = true },
	{ "url", .value = "URL", "a project to attach to; may be repeated",
	    .take = take_project_url },
	{ "key", .value = "KEY", "the account key for it", .take = take_account_key },
	{ "share", .value = "N", "its resource share", .take = take_share },
	{ "detach", OF(detach), "URL", "detach from this project and exit" },
	{ "ncpus", OF(ncpus), "N", "number of CPUs to use; default: all", .min = 0.01,
	    .max = 4096 },
	{ "coproc", .value = "TYPE:COUNT[:FLOPS]", "coprocessors of a type",
	    .take = take_coproc },
	{ "backoff", .value = "MIN:MAX", "bounds of back-offs, in seconds",
	    .take = take_backoff },
	{ "buffer", .value = "MIN:EXTRA", "seconds of work to hold",
	    .take = take_buffer },
	{ "ram", OF(ram_part), "PART", "fraction of the memory that tasks may use",
	    .min = 0.01, .max = 1 },
	{ "nice", OF(nice), "N", "how far tasks give way to other programs",
	    .max = NICE_MOST, .def = "19" },
	{ "quit-preempted", OF(quit_when_stopped), NULL,
	    "preempted tasks exit, and resume from checkpoints" },
	{ "max-errors", OF(max_errors), "N", "exit after N failed tasks", .max = 4096 },
	{ "platform", OF(platform), "NAME", "platform to request programs for",
	    .def = "x86_64-pc-linux-gnu" },
	{ "policy", .value = "NAME",
	    "how the host decides, see locus-client-policies(7)", .take = take_policy },
	{ "gui-port", OF(gui_port), "PORT", "also serve BOINC's tools on this port",
	    .max = 65535 },
	{ "proxy", .value = "URL", "proxy of all contacts and transfers",
	    .take = take_proxy },
	{ "no-proxy", OF(no_proxy), "HOSTS", "hosts that are contacted directly" },
	{ "quiet", OF(quiet), .letter = 'q',
	    .help = "write nothing on standard output" },
	{ 0 },
};

int client_options(struct client *c, int argc, char **argv)
{
	struct client_options *o = &c->options;
	struct args g = { .a = &c->process,
		.program = "locus-client",
		.own = client_fields,
		.own_row = c,
		.usage =
		    "usage: locus-client --dir DIR [--url URL --key KEY [--share N]]... [options]\n"
		    "       locus-client --dir DIR --detach URL\n"
		    "       locus-client COMMAND [ARGUMENT...] [--dir DIR] [-o json]\n"
		    "       locus-client sim --help     simulated hosts\n"
		    "Runs the host in DIR, attached to each project at URL with the account key KEY,\n"
		    "until it receives SIGTERM.  URL and KEY of a project are needed only the first\n"
		    "time.  COMMAND: status, tasks, projects, suspend and others, which\n"
		    "\"locus-client status --help\" explains; they act on the host that runs in DIR.\n",
		.version = "locus-client " PACKAGE_VERSION };
	enum args_end end;

	*o = (struct client_options){
		.min_buffer_s = 8640, .extra_buffer_s = 43200, .policy = policies[0]
	};
	end = args_read(&g, argc, argv, &c->fail);
	o->own_ncpus = o->ncpus > 0;
	if (!o->own_ncpus)
		o->ncpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	o->own_ram = o->ram_part > 0;
	if (!o->own_ram)
		o->ram_part = RAM_PART;
	if (end == ARGS_RUN && o->detach != NULL && o->nattach > 0) {
		FAIL(&c->fail, E_BADREQ, "--detach goes without --url and --key");
		end = ARGS_WRONG;
	}
	return args_answer(&g, end, &c->fail);
}
