/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of locus-client that watch and operate a running host. */
#include "client/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "lib/args.h"
#include "lib/json_text.h"
#include "lib/text.h"
#include "lib/banned.h"

enum {
	EXIT_NO_CLIENT = 69,
	WORDS_MOST = 2,
	KEY_MOST = 1024,
	ANSWER_MOST = 256 << 20,
	CHUNK = 64 << 10
};

static const struct {
	const char *word, *arguments, *help;
} commands[] = {
	{ "status", "", "Show what the host is doing and what it may do." },
	{ "tasks", "", "List the tasks." },
	{ "projects", "", "List the projects." },
#define OPERATION(word, on, function, arguments, help) { #word, arguments, help },
#include "client/control/operations.def"
#undef OPERATION
};

struct command {
	struct arena a;
	struct fail fail;
	const char *word, *dir, *url;
	const double *share;
	bool json;
	char **args;
	size_t nargs;
};

/* --- the command line --- */

static bool is_command(const char *word)
{
	for (size_t i = 0; i < N(commands); i++)
		if (strcmp(commands[i].word, word) == 0)
			return true;
	return false;
}

bool command_given(int argc, char **argv)
{
	int i = 1;

	if (i + 1 < argc && strcmp(argv[i], "--dir") == 0)
		i += 2;
	else if (i < argc && strncmp(argv[i], "--dir=", strlen("--dir=")) == 0)
		i++;
	/* Any other word is a command, too, if only a mistyped one. */
	return i < argc && argv[i][0] != '-' && argv[i][0] != '\0';
}

static int command_usage(FILE *out, const char *word)
{
	fprintf(
	    out, "usage: locus-client COMMAND [ARGUMENT...] [--dir DIR] [-o json]\n");
	for (size_t i = 0; i < N(commands); i++)
		if (word == NULL || strcmp(word, commands[i].word) == 0)
			fprintf(out, "  %-13s %-14s %s\n", commands[i].word,
			    commands[i].arguments, commands[i].help);
	return out == stdout ? 0 : EXIT_USAGE;
}

/* Returns -1 to go on, otherwise the exit status. */
static int take_words(struct command *k, char **words, size_t n)
{
	if (n == 0)
		return command_usage(stderr, NULL);
	k->word = words[0];
	if (!is_command(k->word)) {
		const char *nearest = NULL;
		size_t least = (size_t)-1;

		for (size_t i = 0; i < N(commands); i++)
			if (near_offer(k->word, commands[i].word, &least))
				nearest = commands[i].word;
		fprintf(stderr, "locus-client: unknown command \"%s\"", k->word);
		if (nearest != NULL)
			fprintf(stderr, "; did you mean \"%s\"?", nearest);
		fprintf(stderr, "\n");
		return command_usage(stderr, NULL);
	}
	k->args = words + 1;
	k->nargs = n - 1;
	return k->nargs > WORDS_MOST ? command_usage(stderr, k->word) : -1;
}

static const char *take_form(void *row, char *form)
{
	struct command *k = row;

	k->json = strcmp(form, "json") == 0;
	return k->json || strcmp(form, "text") == 0 ? NULL : "text or json";
}

#define OF(member) FIELD_OF(struct command, member)
static const struct field command_fields[] = {
	{ "dir", OF(dir), "DIR", .def = "." },
	{ "output", .value = "text|json", .letter = 'o', .take = take_form },
	{ "url", OF(url), "URL" },
	{ "share", OF(share), "N" },
	{ 0 },
};

static int take_options(struct command *k, int argc, char **argv)
{
	struct args g = { .a = &k->a,
		.program = "locus-client",
		.own = command_fields,
		.own_row = k,
		.max = -1 };
	enum args_end end = args_read(&g, argc, argv, &k->fail);

	if (end == ARGS_HELP)
		return command_usage(stdout, NULL);
	return end == ARGS_RUN ? take_words(k, g.rest, g.nrest) :
	                         args_answer(&g, end, &k->fail);
}

/* --- the request --- */

static enum err read_account_key(struct command *k, const char **key)
{
	char *text = arena_alloc(&k->a, KEY_MOST + 1);

	if (fgets(text, KEY_MOST, stdin) == NULL)
		return FAIL(&k->fail, E_BADREQ, "no account key in standard input");
	*key = text_trim(text);
	return OK;
}

static void put_word(json_t *o, const char *key, const char *word)
{
	if (word != NULL)
		json_object_set_new(o, key, json_text(word));
}

/* A word with "://" is a URL; any other is the name of a task, or the key of attach. */
static enum err make_request(struct command *k, json_t *o)
{
	const char *url = k->url, *other = NULL;
	bool attach = strcmp(k->word, "attach") == 0;

	for (size_t i = 0; i < k->nargs; i++) {
		bool is_url = attach ? i == 0 : strstr(k->args[i], "://") != NULL;

		if ((is_url ? url : other) != NULL)
			return FAIL(&k->fail, E_BADREQ, "\"%s\" is one word too many",
			    k->args[i]);
		*(is_url ? &url : &other) = k->args[i];
	}
	if (attach && other != NULL && strcmp(other, "-") == 0)
		TRY(read_account_key(k, &other));
	put_word(o, "command", k->word);
	put_word(o, "url", url);
	put_word(o, attach ? "key" : "task", other);
	if (k->share != NULL)
		json_object_set_new(o, "share", json_real(*k->share));
	return OK;
}

static enum err connect_to_host(struct command *k, int *fd)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const char *path = arena_printf(&k->a, "%s/%s", k->dir, CONTROL_SOCKET);

	if (strlen(path) >= sizeof(sa.sun_path))
		return FAIL(&k->fail, E_CONFIG,
		    "%s is too long for a socket: go to the directory, and leave out --dir",
		    path);
	memcpy(sa.sun_path, path, strlen(path));
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return FAIL_ERRNO(&k->fail, "socket");
	if (connect(*fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0)
		return OK;
	if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
		FAIL(&k->fail, E_NOTFOUND,
		    "no client is running in %s: start it with locus-client --dir %s, or name another directory by --dir",
		    k->dir, k->dir);
	else
		FAIL_ERRNO(&k->fail, "%s", path);
	close(*fd);
	return k->fail.code;
}

static enum err send_all(struct command *k, int fd, const char *text, size_t n)
{
	size_t sent = 0;

	while (sent < n) {
		ssize_t m = send(fd, text + sent, n - sent, MSG_NOSIGNAL);

		if (m < 0 && errno != EINTR)
			return FAIL_ERRNO(&k->fail, "sending the command");
		sent += m > 0 ? (size_t)m : 0;
	}
	return OK;
}

static enum err receive_all(struct command *k, int fd, struct buf *in)
{
	char *bytes = arena_alloc(&k->a, CHUNK);
	ssize_t n;

	while ((n = recv(fd, bytes, CHUNK, 0)) != 0) {
		if (n < 0 && errno != EINTR)
			return FAIL_ERRNO(&k->fail, "waiting for the answer");
		if (n > 0)
			buf_put(in, bytes, (size_t)n);
		if (in->n > ANSWER_MOST)
			break;
	}
	return in->n > 0 ?
	           OK :
	           FAIL(&k->fail, E_SYS,
		       "the client in %s gave no answer; see its client.log", k->dir);
}

static enum err ask_host(struct command *k, const json_t *request, json_t **answer)
{
	struct buf in = buf_new(&k->a), out = buf_new(&k->a);
	int fd = -1;
	enum err e = connect_to_host(k, &fd);

	*answer = NULL;
	local_put(&out, request);
	if (e != OK)
		return e;
	e = send_all(k, fd, out.p, out.n);
	if (e == OK)
		e = receive_all(k, fd, &in);
	close(fd);
	if (e == OK)
		*answer = json_loadb(in.p, in.n, 0, NULL);
	return e == OK && !json_is_object(*answer) ?
	           FAIL(&k->fail, E_SYS, "the answer is not JSON") :
	           e;
}

int command_main(int argc, char **argv)
{
	struct command k = { 0 };
	json_t *request = json_object(), *answer = NULL;
	int status = take_options(&k, argc, argv);
	enum err e = OK;

	if (status < 0) {
		e = make_request(&k, request);
		if (e == OK)
			e = ask_host(&k, request, &answer);
		status = e == E_NOTFOUND ? EXIT_NO_CLIENT :
		         e == E_BADREQ   ? EXIT_USAGE :
		         e != OK         ? err_exit(e) :
		                           print_answer(k.word, k.json, answer);
		if (e != OK)
			fprintf(stderr, "locus-client: %s\n", k.fail.detail);
	}
	json_decref(request);
	json_decref(answer);
	arena_free(&k.a);
	return status;
}
