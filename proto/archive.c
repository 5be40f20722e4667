/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders rows as XML for the archive; pure text work. Short, because no other text has
 * this form.
 */
#include "proto/archive.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { ARCHIVE_SETTLED_S = 3600 };

static void archive_put_row(
    struct buf *b, const struct row_shape *shape, const void *row)
{
	for (size_t i = 0; i < shape->ncols; i++) {
		const struct field *c = &shape->cols[i];

		if (c->type == FIELD_TEXT)
			buf_tag(b, c->name, field_text(c, row));
		else if (c->type == FIELD_F64)
			buf_printf(b, "<%s>%.17g</%s>\n", c->name, field_number(c, row),
			    c->name);
		else
			buf_printf(b, "<%s>%lld</%s>\n", c->name,
			    (long long)field_whole(c, row), c->name);
	}
}

static void archive_put_result(struct buf *b, const struct purged_result *r)
{
	if (r->xml_doc_in == NULL)
		return; /* it is gone by now */
	buf_puts(b, "<result_archive>\n");
	archive_put_row(b, &shape_result, r->row);
	buf_tag(b, "xml_doc_in", r->xml_doc_in);
	buf_tag(b, "xml_doc_out", r->xml_doc_out);
	buf_tag(b, "stderr_out", r->stderr_out);
	buf_puts(b, "</result_archive>\n");
}

void archive_put(struct buf *b, const struct purged *p)
{
	buf_puts(b, "<workunit_archive>\n");
	archive_put_row(b, &shape_workunit, p->wu);
	buf_tag(b, "xml_doc", p->xml_doc == NULL ? "" : p->xml_doc);
	for (size_t i = 0; i < p->nresults; i++)
		archive_put_result(b, &p->results[i]);
	buf_puts(b, "</workunit_archive>\n");
}

char *archive_path(struct arena *a, const char *dir, int64_t now)
{
	char when[21];

	return arena_printf(a, "%s/purged-%.10s.xml", dir, clock_text(now, when));
}

bool archive_named(const char *name, bool *packed)
{
	*packed = text_ends_with(name, ".xml.gz");
	return strncmp(name, "purged-", 7) == 0 &&
	       (*packed || text_ends_with(name, ".xml"));
}

bool archive_is_over(const char *name, int64_t mtime, int64_t now)
{
	bool packed;
	char when[21];

	return archive_named(name, &packed) && !packed &&
	       strncmp(name + 7, clock_text(now, when), 10) < 0 &&
	       mtime <= now - ARCHIVE_SETTLED_S;
}

char *archive_packed_path(struct arena *a, const char *path, int i)
{
	size_t stem = strlen(path) - strlen(".xml");

	return i == 0 ? arena_printf(a, "%s.gz", path) :
	                arena_printf(a, "%.*s.%d.xml.gz", (int)stem, path, i);
}
