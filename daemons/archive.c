/* SPDX-License-Identifier: Apache-2.0 */
/* Renders rows as XML for db_purge's archive; pure text work. */
#include "daemons/archive.h"

#include "lib/banned.h"

static void
archive_put_row(struct buf *b, const struct row_shape *shape, const void *row)
{
	for (size_t i = 0; i < shape->ncols; i++) {
		const struct col *c = &shape->cols[i];
		const void *field = (const char *)row + c->off;
		switch (c->type) {
		case COL_i32:
			buf_printf(b, "<%s>%d</%s>\n", c->name,
			    (int)*(const int32_t *)field, c->name);
			break;
		case COL_i64:
			buf_printf(b, "<%s>%lld</%s>\n", c->name,
			    (long long)*(const int64_t *)field, c->name);
			break;
		case COL_f64:
			buf_printf(b, "<%s>%.17g</%s>\n", c->name,
			    *(const double *)field, c->name);
			break;
		case COL_bool:
			break;
		case COL_str:
			buf_tag(b, c->name, *(char *const *)field);
			break;
		}
	}
}

void
archive_workunit(struct buf *b, const struct workunit *wu, const char *xml_doc)
{
	buf_puts(b, "<workunit_archive>\n");
	archive_put_row(b, &shape_workunit, wu);
	buf_tag(b, "xml_doc", xml_doc);
}

void
archive_result(struct buf *b, const struct result *r, const char *xml_doc_in,
    const char *xml_doc_out, const char *stderr_out)
{
	buf_puts(b, "<result_archive>\n");
	archive_put_row(b, &shape_result, r);
	buf_tag(b, "xml_doc_in", xml_doc_in);
	buf_tag(b, "xml_doc_out", xml_doc_out);
	buf_tag(b, "stderr_out", stderr_out);
	buf_puts(b, "</result_archive>\n");
}

void
archive_end(struct buf *b)
{
	buf_puts(b, "</workunit_archive>\n");
}
