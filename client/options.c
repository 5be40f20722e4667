/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a real host. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/client.h"
#include "config.h"
#include "proto/coproc.h"
#include "lib/banned.h"

enum { EXIT_USAGE = 2, COPROC_NAME_MAX = 63, NICE_MOST = 19 };
static const double COPROC_FLOPS = 1e11, SHARE_MOST = 1e12, RAM_PART = 0.9;

static void
client_usage(FILE *out)
{
	fprintf(out,
	    "usage: locus-client --dir DIR [--url URL --key KEY [--share N]]... [--ncpus N]\n"
	    "           [--coproc TYPE:COUNT[:FLOPS]]... [--backoff MIN:MAX] [--buffer MIN:EXTRA]\n"
	    "           [--ram PART] [--nice N] [--quit-preempted] [--max-errors N]\n"
	    "           [--platform NAME]\n"
	    "           [--policy NAME] [--gui-port PORT] [--proxy URL]\n"
	    "           [--no-proxy HOSTS] [-q]\n"
	    "       locus-client --dir DIR --detach URL\n"
	    "       locus-client COMMAND [ARGUMENT...] [--dir DIR] [-o json]\n"
	    "       locus-client sim --help     simulated hosts\n"
	    "Runs the host in DIR, attached to each project at URL with the account key KEY,\n"
	    "until it receives SIGTERM.  URL and KEY of a project are needed only the first\n"
	    "time.  COMMAND: status, tasks, projects, suspend and others, which\n"
	    "\"locus-client status --help\" explains; they act on the host that runs in DIR.\n");
}

/* Parses "2:30" into two non-negative numbers of seconds. */
static bool
parse_two_numbers(const char *text, double *a, double *b)
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
parse_bounded_number(const char *text, double least, double most, double *x)
{
	char *end;

	*x = strtod(text, &end);
	return end != text && *end == '\0' && *x >= least && *x <= most;
}

/* Parses "NVIDIA:2" or "NVIDIA:2:1e13". */
static bool
parse_coproc(struct client *c, const char *arg)
{
	struct coproc *k = &c->options.coproc[c->options.ncoprocs];
	char *name = arena_strdup(&c->process, arg), *count, *flops;

	count = strchr(name, ':');
	if (count == NULL || count == name || count - name > COPROC_NAME_MAX ||
	    c->options.ncoprocs == N(c->options.coproc))
		return false;
	*count++ = '\0';
	flops = strchr(count, ':');
	k->flops = COPROC_FLOPS;
	if (flops != NULL) {
		*flops++ = '\0';
		if (!parse_bounded_number(flops, 1, 1e30, &k->flops))
			return false;
	}
	if (!parse_bounded_number(count, 1, COPROC_COUNT_MAX, &k->count) ||
	    k->count != floor(k->count) || strpbrk(name, " <>&") != NULL)
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

/* Returns the project that an option refers to: the current one, or a new one if it has
 * that option already. */
static struct attach *
attach_for(struct client *c, bool (*has)(const struct attach *))
{
	struct attach *all = c->options.attach;

	if (c->options.nattach > 0 && !has(&all[c->options.nattach - 1]))
		return &all[c->options.nattach - 1];
	all = NEWN(&c->process, struct attach, c->options.nattach + 1);
	if (c->options.nattach > 0)
		memcpy(all, c->options.attach, c->options.nattach * sizeof(*all));
	all[c->options.nattach] = (struct attach){ .share = -1 };
	c->options.attach = all;
	return &all[c->options.nattach++];
}

static bool
has_url(const struct attach *a)
{
	return a->url != NULL;
}

static bool
has_key(const struct attach *a)
{
	return a->key != NULL;
}

static bool
has_share(const struct attach *a)
{
	return a->share >= 0;
}

/* Is this HOST:PORT, or a URL of a kind of proxy?  "" means none. */
static bool
proxy_valid(const char *text)
{
	static const char *const kinds[] = { "http://", "https://", "socks4://",
		"socks4a://", "socks5://", "socks5h://" };

	for (size_t i = 0; i < N(kinds); i++)
		if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
			return text[strlen(kinds[i])] != '\0';
	return strstr(text, "://") == NULL && strpbrk(text, " \t\n") == NULL;
}

static bool
parse_whole_number(const char *text, double least, double most, int32_t *n)
{
	double x;

	if (!parse_bounded_number(text, least, most, &x))
		return false;
	*n = (int32_t)x;
	return true;
}

/* What the host shows, and how it goes to its projects. */
static bool
take_outside_option(struct client *c, int opt, const char *arg)
{
	switch (opt) {
	case 'x':
		c->options.proxy = arg;
		return proxy_valid(arg);
	case 'X':
		c->options.no_proxy = arg;
		return true;
	case 'g':
		return parse_whole_number(arg, 0, 65535, &c->options.gui_port);
	case 'q':
		c->options.quiet = true;
		return true;
	default:
		return false;
	}
}

static bool
take_client_option(struct client *c, int opt, const char *arg)
{
	switch (opt) {
	case 'u':
		attach_for(c, has_url)->url = arg;
		return true;
	case 'k':
		attach_for(c, has_key)->key = arg;
		return true;
	case 's':
		return parse_bounded_number(
		    arg, 0, SHARE_MOST, &attach_for(c, has_share)->share);
	case 'D':
		c->options.detach = arg;
		return true;
	case 'd':
		c->options.dir = arg;
		return true;
	case 'p':
		c->options.platform = arena_strdup(&c->process, arg);
		return true;
	case 'n':
		c->options.own_ncpus = true;
		return parse_bounded_number(arg, 0.01, 4096, &c->options.ncpus);
	case 'c':
		return parse_coproc(c, arg);
	case 'b':
		return parse_two_numbers(
		    arg, &c->options.backoff.min_s, &c->options.backoff.max_s);
	case 'P':
		c->options.policy = policy_find(arg);
		return c->options.policy != NULL;
	case 'f':
		c->options.own_buffer = true;
		return parse_two_numbers(
		    arg, &c->options.min_buffer_s, &c->options.extra_buffer_s);
	case 'r':
		c->options.own_ram = true;
		return parse_bounded_number(arg, 0.01, 1, &c->options.ram_part);
	case 'K':
		c->options.quit_when_stopped = true;
		return true;
	case 'N':
		return parse_whole_number(arg, 0, NICE_MOST, &c->options.nice);
	case 'e':
		return parse_whole_number(arg, 0, 4096, &c->options.max_errors);
	default:
		return take_outside_option(c, opt, arg);
	}
}

static void
set_option_defaults(struct client *c)
{
	c->options = (struct client_options){ .ncpus = (double)sysconf(
						  _SC_NPROCESSORS_ONLN),
		.min_buffer_s = 8640,
		.extra_buffer_s = 43200,
		.policy = policies[0],
		.ram_part = RAM_PART,
		.nice = NICE_MOST,
		.gui_port = -1,
		.platform = arena_strdup(&c->process, "x86_64-pc-linux-gnu") };
}

int
client_options(struct client *c, int argc, char **argv)
{
	static const struct option longs[] = { { "url", 1, NULL, 'u' },
		{ "key", 1, NULL, 'k' }, { "share", 1, NULL, 's' },
		{ "detach", 1, NULL, 'D' }, { "dir", 1, NULL, 'd' },
		{ "ncpus", 1, NULL, 'n' }, { "coproc", 1, NULL, 'c' },
		{ "backoff", 1, NULL, 'b' }, { "buffer", 1, NULL, 'f' },
		{ "ram", 1, NULL, 'r' }, { "quit-preempted", 0, NULL, 'K' },
		{ "nice", 1, NULL, 'N' }, { "max-errors", 1, NULL, 'e' },
		{ "platform", 1, NULL, 'p' }, { "policy", 1, NULL, 'P' },
		{ "gui-port", 1, NULL, 'g' }, { "proxy", 1, NULL, 'x' },
		{ "no-proxy", 1, NULL, 'X' }, { "quiet", 0, NULL, 'q' },
		{ "help", 0, NULL, 'h' }, { "version", 0, NULL, 'V' },
		{ NULL, 0, NULL, 0 } };
	int opt, at = 0;

	set_option_defaults(c);
	while ((opt = getopt_long(argc, argv, "hq", longs, &at)) != -1) {
		if (opt == 'h') {
			client_usage(stdout);
			return 0;
		}
		if (opt == 'V') {
			printf("locus-client %s\n", PACKAGE_VERSION);
			return 0;
		}
		if (!take_client_option(c, opt, optarg)) {
			if (opt != '?')
				fprintf(stderr,
				    "locus-client: --%s: \"%s\" is not a valid value%s\n",
				    longs[at].name, optarg,
				    strchr(optarg, ',') == NULL ?
					"" :
					": write decimals with a point, not a comma");
			client_usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (c->options.dir == NULL || optind != argc ||
	    (c->options.detach != NULL && c->options.nattach > 0)) {
		client_usage(stderr);
		return EXIT_USAGE;
	}
	return -1;
}
