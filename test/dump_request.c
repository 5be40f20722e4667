/* SPDX-License-Identifier: Apache-2.0 */
/* dump_request.def makes one function per structure, one call per field. */
#include "test/dump_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

static void put_name(struct buf *b, const char *indent, const char *name)
{
	buf_printf(b, "%s%s: ", indent, name);
}

static void put_STR(struct buf *b, const char *indent, const char *name, const char *s)
{
	put_name(b, indent, name);
	if (s == NULL) {
		buf_puts(b, "(none)\n");
		return;
	}
	buf_puts(b, "\"");
	for (; *s != '\0'; s++) {
		if (*s == '\n')
			buf_puts(b, "\\n");
		else if (*s < ' ' || *s > '~')
			buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*s);
		else
			buf_put(b, s, 1);
	}
	buf_puts(b, "\"\n");
}

/* Puts each line behind a bar, so that blanks at either end can be seen. */
static void put_TEXT(struct buf *b, const char *indent, const char *name, const char *s)
{
	size_t n;

	put_name(b, indent, name);
	if (s == NULL) {
		buf_puts(b, "(none)\n");
		return;
	}
	buf_printf(b, "%zu bytes\n", strlen(s));
	while (*s != '\0') {
		n = strcspn(s, "\n");
		buf_printf(b, "%s  |%.*s|\n", indent, (int)n, s);
		s += n + (s[n] == '\n');
	}
}

static void put_I64(struct buf *b, const char *indent, const char *name, int64_t v)
{
	put_name(b, indent, name);
	buf_printf(b, "%" PRId64 "\n", v);
}

static void put_I32(struct buf *b, const char *indent, const char *name, int64_t v)
{
	put_I64(b, indent, name, v);
}

static void put_F64(struct buf *b, const char *indent, const char *name, double v)
{
	char text[40];

	/* Writes the fewest digits that read back as the same number. */
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	put_name(b, indent, name);
	buf_printf(b, "%s\n", text);
}

static void put_BOOL(struct buf *b, const char *indent, const char *name, bool v)
{
	put_name(b, indent, name);
	buf_puts(b, v ? "true\n" : "false\n");
}

#define STRUCT(type, name)                                                             \
	static void dump_##name(                                                       \
	    struct buf *b, const char *indent, const struct type *p)                   \
	{
#define F(kind, member) put_##kind(b, indent, #member, p->member);
#define END_STRUCT      }
#include "test/dump_request.def"
#undef STRUCT
#undef F
#undef END_STRUCT

static void item(struct buf *b, const char *indent, const char *list, size_t i)
{
	buf_printf(b, "%s%s[%zu]\n", indent, list, i);
}

#define LIST(type, list)                                                               \
	for (size_t i = 0; i < q->n##list; i++) {                                      \
		item(b, "", #list, i);                                                 \
		dump_##type(b, "  ", &q->list[i]);                                     \
	}

void dump_request(struct buf *b, const struct request *q)
{
	dump_request_fields(b, "", q);
	for (size_t i = 0; i < q->nplatforms; i++)
		put_STR(b, "", "platforms", q->platforms[i]);
	LIST(rq_resource, resources)
	for (size_t i = 0; i < q->host.ndistros; i++) {
		item(b, "", "distros", i);
		dump_rq_distro(b, "  ", &q->host.distros[i]);
	}
	for (size_t i = 0; i < q->nreports; i++) {
		item(b, "", "reports", i);
		dump_rq_report(b, "  ", &q->reports[i]);
		for (size_t k = 0; k < q->reports[i].nfiles; k++) {
			item(b, "  ", "files", k);
			dump_rq_file(b, "    ", &q->reports[i].files[k]);
		}
	}
	LIST(rq_trickle, trickles)
	LIST(rq_file, files)
	LIST(rq_app_version, app_versions)
	LIST(rq_other, other_results)
	LIST(rq_in_progress, in_progress)
}
