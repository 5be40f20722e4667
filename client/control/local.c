/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on the socket in the host's directory. */
#include "client/control/control.h"

#include <string.h>
#include "lib/json_text.h"
#include "lib/banned.h"

static int
put_piece(const char *text, size_t n, void *out)
{
	buf_put(out, text, n);
	return 0;
}

void
local_put(struct buf *b, const json_t *o)
{
	json_dump_callback(o, put_piece, b, JSON_COMPACT | JSON_ENSURE_ASCII);
	buf_puts(b, "\n");
}

static void
send_json(struct buf *out, json_t *o)
{
	local_put(out, o);
	json_decref(o);
}

static void
send_error(struct buf *out, const char *why)
{
	json_t *o = json_object();

	json_object_set_new(o, "error", json_text(why));
	json_object_set_new(o, "exit", json_integer(1));
	send_json(out, o);
}

static const char *
order_text(struct client *c, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text == NULL ? NULL : arena_strdup(&c->scratch, text);
}

static void
carry_out(struct client *c, enum operation op, const json_t *o, struct buf *out)
{
	const json_t *share = json_object_get(o, "share");
	struct order order = { .op = op,
		.url = order_text(c, o, "url"),
		.task = order_text(c, o, "task"),
		.key = order_text(c, o, "key"),
		.share = json_is_number(share) ? json_number_value(share) : -1 };
	const char *done;
	json_t *answer;
	enum err e = operate(c, &order, &done);

	if (e != OK) {
		send_error(out, c->fail.detail);
		return;
	}
	answer = json_object();
	json_object_set_new(answer, "done", json_text(done));
	send_json(out, answer);
}

/* Returns false if the request must wait. */
static bool
answer_object(struct client *c, const json_t *o, bool may_change, struct buf *out)
{
	const char *word = json_string_value(json_object_get(o, "command"));
	enum operation op;
	json_t *shown;

	if (word == NULL) {
		send_error(out, "the request names no command");
		return true;
	}
	shown = show_host(c, word);
	if (shown != NULL) {
		send_json(out, shown);
		return true;
	}
	op = operation_find(word);
	if (op == OP_NONE) {
		send_error(
		    out, arena_printf(&c->scratch, "unknown command \"%.40s\"", word));
		return true;
	}
	if (may_change)
		carry_out(c, op, o, out);
	return may_change;
}

bool
local_answer(struct client *c, char *line, size_t n, bool may_change, struct buf *out)
{
	json_t *o = json_loadb(line, n, 0, NULL);
	bool answered = true;

	if (!json_is_object(o))
		send_error(out, "the request is not a JSON object");
	else
		answered = answer_object(c, o, may_change, out);
	json_decref(o);
	return answered;
}
